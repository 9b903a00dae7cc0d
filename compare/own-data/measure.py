"""Measures the program and its peers on tables and texts with wrong labels put in. See `run`."""
import csv, json, os, subprocess, sys, tempfile, time, warnings
import numpy as np
warnings.filterwarnings("ignore")
from cleanlab.filter import find_label_issues
from sklearn.model_selection import StratifiedKFold, train_test_split
from peers import LEARNERS, JUDGES
from tables import raw, table

HALVES = {"development": "phoneme kr-vs-kp mfeat-factors phishing ozone contraceptive anneal ag-news",
          "aside": "credit-german credit-default magic-telescope wilt qsar-biodeg diamonds libras"}
HEADER = "table noise seed what who f1 rate low high true_rate accuracy seconds".split()
env = lambda name, default: os.environ.get(name, default).split()

def corrupt(labels, classes, kind, seed, rate=0.2):
    random = np.random.default_rng(seed)
    wrong = random.random(len(labels)) < rate
    shift = random.integers(1, classes, len(labels)) if kind == "symmetric" else 1
    return np.where(wrong, (labels + shift) % classes, labels)

def f1(found, wrong):
    return 2 * wrong[found].sum() / max(1, len(found) + wrong.sum())

def tares(*arguments):
    start = time.perf_counter()
    done = subprocess.run([os.environ["TARES"], *arguments, "--quiet"], capture_output=True, text=True)
    if done.returncode not in (0, 1): raise SystemExit(f"tares {' '.join(arguments)}\n{done.stderr}")
    return time.perf_counter() - start

def out_of_fold(make, train, given, classes):
    """Probabilities of every row by a model that has not seen it, also of classes with fewer rows than folds."""
    start = time.perf_counter()
    oof = np.full((len(given), classes), 1e-6)
    for fit, held in StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(given)), given):
        fitted = make(train).fit(train.iloc[fit], given[fit])
        oof[np.ix_(held, fitted.classes_)] = fitted.predict_proba(train.iloc[held]) + 1e-9
    return oof / oof.sum(1, keepdims=True), time.perf_counter() - start

def audits(train, given, classes, wrong, folder):
    """(who, what was found) of every auditor."""
    seconds = tares("audit", f"{folder}/train.csv", "--label", "given label", "--exit-zero", "--out", f"{folder}/audit")
    with open(f"{folder}/audit/suspects.csv") as file: found = [int(row["index"]) for row in csv.DictReader(file)]
    summary = json.load(open(f"{folder}/audit/summary.json"))
    low, high = summary.get("noise_rate_interval") or summary["noise_rate_band"]
    yield "tares", dict(f1=f1(np.array(found, int), wrong), rate=summary["noise_rate"], low=low, high=high, seconds=seconds)
    said = {}
    for name, make in JUDGES.items():
        if (judge := make(train)) is None: continue
        said[name] = out_of_fold(make, train, given, classes)
    if len(said) == 2:
        (a, s), (b, t) = said.values()
        said["mean of both"] = ((a + b) / 2, s + t)
    for name, (oof, seconds) in said.items():
        start = time.perf_counter()
        issues = np.flatnonzero(find_label_issues(given, oof))
        yield f"cleanlab + {name}", dict(f1=f1(issues, wrong), rate=len(issues) / len(given), seconds=seconds + time.perf_counter() - start)
        yield f"argmax of {name}", dict(f1=f1(np.flatnonzero(oof.argmax(1) != given), wrong), seconds=seconds)

def learners(train, given, test, truth, classes, folder):
    options = os.environ.get("TRAIN", "").split()
    seconds = tares("train", f"{folder}/train.csv", "--label", "given label", "--test", f"{folder}/test.csv", "--out", f"{folder}/run", "--overwrite", *options)
    start = time.perf_counter()
    tares("predict", f"{folder}/run", f"{folder}/test.csv", "--out", f"{folder}/answers.csv")
    with open(f"{folder}/answers.csv") as file: answers = [row["predicted"] for row in csv.DictReader(file)]
    names = [line["given label"] for line in csv.DictReader(open(f"{folder}/test.csv"))]
    yield "tares", dict(accuracy=np.mean([a == b for a, b in zip(answers, names)]), seconds=seconds + time.perf_counter() - start)
    for name, fit in LEARNERS.items():
        start = time.perf_counter()
        answers = fit(train, given, test)
        if answers is not None: yield name, dict(accuracy=(answers == truth).mean(), seconds=time.perf_counter() - start)

def main(data, out):
    names, whats = env("TABLES", HALVES[os.environ.get("HALF", "development")]), env("WHAT", "audit learn")
    writer = csv.writer(open(out, "w")); writer.writerow(HEADER); print(*HEADER, sep=",")
    totals = {}
    for name in names:
        inputs, labels, class_names = table(data, name)
        cells = raw(data, name)
        classes = len(class_names)
        for seed in map(int, env("SEEDS", "1")):
            rows = np.arange(len(labels)); counts = np.bincount(labels)
            train_rows, test_rows = train_test_split(rows, test_size=0.3, random_state=seed, stratify=labels if counts.min() > 1 else None)
            pick = lambda frame, rows: frame.iloc[rows].reset_index(drop=True)
            train, test, truth, test_truth = pick(inputs, train_rows), pick(inputs, test_rows), labels[train_rows], labels[test_rows]
            for noise in env("NOISES", "symmetric pair none"):
                given = truth if noise == "none" else corrupt(truth, classes, noise, seed)
                wrong = given != truth
                with tempfile.TemporaryDirectory() as folder:
                    text = np.array([str(name) for name in class_names], dtype=object)
                    pick(cells, train_rows).assign(**{"given label": text[given]}).to_csv(f"{folder}/train.csv", index=False)
                    pick(cells, test_rows).assign(**{"given label": text[test_truth]}).to_csv(f"{folder}/test.csv", index=False)
                    found = []
                    if "audit" in whats: found += [("audit", *one) for one in audits(train, given, classes, wrong, folder)]
                    if "learn" in whats: found += [("learn", *one) for one in learners(train, given, test, test_truth, classes, folder)]
                for what, who, figures in found:
                    figures.setdefault("true_rate", wrong.mean())
                    totals.setdefault((noise, what, who), []).append(figures)
                    row = [name, noise, seed, what, who, *(round(float(figures[key]), 4) if key in figures else "" for key in HEADER[5:])]
                    writer.writerow(row); print(*row, sep=",", flush=True)
    for (noise, what, who), all_figures in totals.items():
        mean = lambda key: round(float(np.mean([figures[key] for figures in all_figures])), 4) if key in all_figures[0] else ""
        row = ["mean", noise, len(all_figures), what, who, *map(mean, HEADER[5:])]
        writer.writerow(row); print(*row, sep=",")

if __name__ == "__main__": main(*sys.argv[1:3])
