"""Measures the program and its peers on tables and texts with wrong labels put in. See `run`."""
import csv, json, os, resource, subprocess, sys, tempfile, time, warnings
import numpy as np
warnings.filterwarnings("ignore")
from cleanlab.filter import find_label_issues
from sklearn.model_selection import StratifiedKFold, train_test_split
from peers import LEARNERS, JUDGES
from tables import raw, table

HALVES = {"development": "phoneme kr-vs-kp mfeat-factors phishing ozone contraceptive anneal ag-news",
          "aside": "credit-german credit-default magic-telescope wilt qsar-biodeg diamonds libras"}
HEADER = "table noise seed what who f1 found rate low high true_rate accuracy seconds cpu_seconds".split()
env = lambda name, default: os.environ.get(name, default).split()

class Clock:
    """Wall and processor time of this process and its children since it was made."""
    def __init__(self): self.start = self.now()
    def now(self):
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return time.perf_counter(), sum(one.ru_utime + one.ru_stime for one in used)
    def read(self): return dict(zip(("seconds", "cpu_seconds"), (after - before for before, after in zip(self.start, self.now()))))

def both(a, b): return {key: a[key] + b[key] for key in a}

def corrupt(labels, classes, kind, seed, rate=0.2):
    random = np.random.default_rng(seed)
    wrong = random.random(len(labels)) < rate
    shift = random.integers(1, classes, len(labels)) if kind == "symmetric" else 1
    return np.where(wrong, (labels + shift) % classes, labels)

def f1(found, wrong):
    return 2 * wrong[found].sum() / max(1, len(found) + wrong.sum())

def tares(*arguments):
    clock = Clock()
    done = subprocess.run([os.environ["TARES"], *arguments, "--quiet"], capture_output=True, text=True)
    if done.returncode not in (0, 1): raise SystemExit(f"tares {' '.join(arguments)}\n{done.stderr}")
    return clock.read()

def out_of_fold(make, train, given, classes):
    """Probabilities of every row by a model that was not trained on it, also for classes with fewer rows than folds."""
    clock = Clock()
    oof = np.full((len(given), classes), 1e-6)
    for fit, held in StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(given)), given):
        fitted = make(train).fit(train.iloc[fit], given[fit])
        oof[np.ix_(held, fitted.classes_)] = fitted.predict_proba(train.iloc[held]) + 1e-9
    return oof / oof.sum(1, keepdims=True), clock.read()

def our_audit(folder, wrong):
    took = tares("audit", f"{folder}/train.csv", "--label", "given label", "--exit-zero", "--out", f"{folder}/audit")
    with open(f"{folder}/audit/suspects.csv") as file: found = [int(row["index"]) for row in csv.DictReader(file)]
    summary = json.load(open(f"{folder}/audit/summary.json"))
    low, high = summary["noise_rate_interval"]
    return dict(f1=f1(np.array(found, int), wrong), found=len(found) / len(wrong), rate=summary["noise_rate"], low=low, high=high, **took)

def audits(train, given, classes, wrong):
    """(name, figures) of every other auditor."""
    said = {}
    for name, make in JUDGES.items():
        if make(train) is not None: said[name] = out_of_fold(make, train, given, classes)
    if len(said) == 2:
        (a, s), (b, t) = said.values()
        said["mean of both"] = ((a + b) / 2, both(s, t))
    for name, (oof, took) in said.items():
        clock = Clock()
        issues = np.flatnonzero(find_label_issues(given, oof, n_jobs=1))
        part = len(issues) / len(given)
        yield f"cleanlab + {name}", dict(f1=f1(issues, wrong), found=part, rate=part, **both(took, clock.read()))
        issues = np.flatnonzero(oof.argmax(1) != given)
        yield f"argmax of {name}", dict(f1=f1(issues, wrong), found=len(issues) / len(given), **took)

def our_learning(folder):
    options = os.environ.get("TRAIN", "").split()
    took = tares("train", f"{folder}/train.csv", "--label", "given label", "--test", f"{folder}/test.csv", "--out", f"{folder}/run", "--overwrite", *options)
    took = both(took, tares("predict", f"{folder}/run", f"{folder}/test.csv", "--out", f"{folder}/answers.csv"))
    with open(f"{folder}/answers.csv") as file: answers = [row["predicted"] for row in csv.DictReader(file)]
    names = [line["given label"] for line in csv.DictReader(open(f"{folder}/test.csv"))]
    return dict(accuracy=np.mean([a == b for a, b in zip(answers, names)]), **took)

def learners(train, given, test, truth):
    for name, fit in LEARNERS.items():
        clock = Clock()
        answers = fit(train, given, test)
        if answers is not None: yield name, dict(accuracy=(answers == truth).mean(), **clock.read())

def main(data, out):
    names, whats, who = env("TABLES", HALVES[os.environ.get("HALF", "development")]), env("WHAT", "audit learn"), env("WHO", "tares others")
    # Existing lines are kept, so that a stopped measurement continues.
    done = {(*row[:4], row[4] == "tares") for row in csv.reader(open(out))} if os.path.exists(out) else set()
    file = open(out, "a"); writer = csv.writer(file)
    if not done: writer.writerow(HEADER)
    print(*HEADER, sep=",")
    for name in names:
        inputs, labels, class_names = table(data, name)
        cells = raw(data, name)
        classes = len(class_names)
        if most := int(os.environ.get("MOST_ROWS", 0)):
            rows = np.sort(np.random.default_rng(0).permutation(len(labels))[:most])
            inputs, labels, cells = inputs.iloc[rows], labels[rows], cells.iloc[rows]
        for seed in map(int, env("SEEDS", "1")):
            rows = np.arange(len(labels)); counts = np.bincount(labels)
            train_rows, test_rows = train_test_split(rows, test_size=0.3, random_state=seed, stratify=labels if counts.min() > 1 else None)
            pick = lambda frame, rows: frame.iloc[rows].reset_index(drop=True)
            train, test, truth, test_truth = pick(inputs, train_rows), pick(inputs, test_rows), labels[train_rows], labels[test_rows]
            for noise in env("NOISES", "symmetric pair none"):
                given = truth if noise == "none" else corrupt(truth, classes, noise, seed)
                wrong = given != truth
                todo = {(what, ours) for what in whats for ours in (True, False) if ("tares" if ours else "others") in who and (name, noise, str(seed), what, ours) not in done}
                if not todo: continue
                with tempfile.TemporaryDirectory() as folder:
                    text = np.array([str(name) for name in class_names], dtype=object)
                    pick(cells, train_rows).assign(**{"given label": text[given]}).to_csv(f"{folder}/train.csv", index=False)
                    pick(cells, test_rows).assign(**{"given label": text[test_truth]}).to_csv(f"{folder}/test.csv", index=False)
                    found = []
                    if ("audit", True) in todo: found.append(("audit", "tares", our_audit(folder, wrong)))
                    if ("audit", False) in todo: found += [("audit", *one) for one in audits(train, given, classes, wrong)]
                    if ("learn", True) in todo: found.append(("learn", "tares", our_learning(folder)))
                    if ("learn", False) in todo: found += [("learn", *one) for one in learners(train, given, test, test_truth)]
                for what, whose, figures in found:
                    figures.setdefault("true_rate", wrong.mean())
                    row = [name, noise, seed, what, whose, *(round(float(figures[key]), 4) if key in figures else "" for key in HEADER[5:])]
                    writer.writerow(row); file.flush(); print(*row, sep=",", flush=True)

if __name__ == "__main__": main(*sys.argv[1:3])
