"""Measures our panel and its peers on tables and texts with wrong labels put in. See `run`."""
import csv, json, os, subprocess, sys, time, warnings
import numpy as np, pandas as pd
warnings.filterwarnings("ignore")
from cleanlab.filter import find_label_issues
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tables import columns_json, table

HALVES = {"development": "phoneme kr-vs-kp mfeat-factors phishing ozone contraceptive anneal ag-news",
          "aside": "credit-german credit-default magic-telescope wilt qsar-biodeg diamonds libras"}
data, out = sys.argv[1:3]
names = os.environ.get("TABLES", HALVES[os.environ.get("HALF", "development")]).split()
noises, seeds = os.environ.get("NOISES", "symmetric").split(), [int(s) for s in os.environ.get("SEEDS", "1").split()]
peers = os.environ.get("PEERS", "linear boosting mean").split()
more = json.loads(os.environ.get("MORE", "{}"))  # further keys for judge_json: {"judges": ["trees"]}

def corrupt(labels, classes, kind, seed, rate=0.2):
    random = np.random.default_rng(seed)
    wrong = random.random(len(labels)) < rate
    shift = random.integers(1, classes, len(labels)) if kind == "symmetric" else 1
    return np.where(wrong, (labels + shift) % classes, labels)

def half(inputs):
    return {"texts": inputs} if isinstance(inputs, list) else {"columns": list(columns_json(inputs))}

def ours(train, given, classes, test):
    question = {**half(train), "labels": given.tolist(), "classes": classes, "new": half(test), **more}
    answer = subprocess.run([os.environ["JUDGE"]], input=json.dumps(question), capture_output=True, text=True, check=True)
    found = json.loads(answer.stdout)
    shape = lambda values: np.array(values).reshape(-1, classes)
    print("   ", [(s["judge"], round(s["log_loss"], 4), round(s["weight"], 2), round(s["temperature"], 2), s["setting"], round(s["seconds"], 2)) for s in found["scores"]],
          "rate", round(found["rate"], 3), file=sys.stderr)
    return shape(found["probs"]), shape(found["new"]), np.array(found["suspects"], int), found["judge_seconds"] + found["audit_seconds"]

def linear_peer(train):
    if isinstance(train, np.ndarray):
        return make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2), LogisticRegression(C=1, max_iter=1000))
    categories = [c for c in train if isinstance(train[c].dtype, pd.CategoricalDtype)]
    numbers = [c for c in train if c not in categories]
    encode = ColumnTransformer([("n", make_pipeline(SimpleImputer(add_indicator=True, keep_empty_features=True), StandardScaler()), numbers),
                                ("c", OneHotEncoder(handle_unknown="ignore"), categories)])
    return make_pipeline(encode, LogisticRegression(max_iter=1000))

def boosting_peer(_):
    return HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)

def peer(make, train, given, test, classes):
    start = time.perf_counter()
    if isinstance(train, list): train = np.array(train, dtype=object)
    else:
        # scikit-learn fails on a column without a single value, also when that happens in one fold.
        empty = [c for c in train if train[c].isna().mean() > 0.99]
        train, test = train.drop(columns=empty), test.drop(columns=empty)
    model = make(train)
    # Out-of-fold probabilities even of classes with fewer rows than folds.
    oof = np.full((len(given), classes), 1e-6)
    for fit, held in StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(given)), given):
        rows = (lambda r: train[r]) if isinstance(train, np.ndarray) else (lambda r: train.iloc[r])
        fitted = model.fit(rows(fit), given[fit])
        oof[np.ix_(held, fitted.classes_)] = fitted.predict_proba(rows(held)) + 1e-9
    oof /= oof.sum(1, keepdims=True)
    seconds = time.perf_counter() - start
    fitted = model.fit(train, given)
    new = np.zeros((len(test), classes)); new[:, fitted.classes_] = fitted.predict_proba(test)
    return oof, new, seconds

def f1(found, wrong):
    hits = wrong[found].sum()
    return 2 * hits / max(1, len(found) + wrong.sum())

writer = csv.writer(open(out, "w")); header = "table noise seed judge f1 argmax_f1 log_loss accuracy seconds".split()
writer.writerow(header); print(*header, sep=",")
totals = {}
for name in names:
    inputs, labels, names_of_classes = table(data, name)
    classes = len(names_of_classes)
    for seed in seeds:
        rows = np.arange(len(labels)); counts = np.bincount(labels)
        stratify = labels if counts.min() > 1 else None
        train_rows, test_rows = train_test_split(rows, test_size=0.3, random_state=seed, stratify=stratify)
        pick = (lambda r: [inputs[i] for i in r]) if isinstance(inputs, list) else (lambda r: inputs.iloc[r].reset_index(drop=True))
        train, test, truth, test_truth = pick(train_rows), pick(test_rows), labels[train_rows], labels[test_rows]
        for noise in noises:
            given = truth if noise == "none" else corrupt(truth, classes, noise, seed)
            wrong = given != truth
            def line(judge, suspects, oof, new, seconds):
                p = oof[np.arange(len(given)), given]
                figures = [f1(suspects, wrong), f1(np.flatnonzero(oof.argmax(1) != given), wrong), -np.log(np.maximum(p, 1e-15)).mean(),
                           (new.argmax(1) == test_truth).mean(), seconds]
                totals.setdefault((noise, judge), []).append(figures)
                row = [name, noise, seed, judge, *(round(float(v), 4) for v in figures)]
                writer.writerow(row); print(*row, sep=",", flush=True)
            oof, new, suspects, seconds = ours(train, given, classes, test)
            line("ours", suspects, oof, new, seconds)
            said = {}
            for peer_name in peers:
                if peer_name == "mean":
                    if len(said) < 2: continue
                    oof, new = ((said["linear"][i] + said["boosting"][i]) / 2 for i in (0, 1)); seconds = sum(s[2] for s in said.values())
                elif peer_name == "boosting" and isinstance(train, list): continue
                else:
                    oof, new, seconds = said[peer_name] = peer({"linear": linear_peer, "boosting": boosting_peer}[peer_name], train, given, test, classes)
                start = time.perf_counter(); issues = np.flatnonzero(find_label_issues(given, oof)); seconds += time.perf_counter() - start
                line(f"cleanlab+{peer_name}", issues, oof, new, seconds)
for (noise, judge), figures in totals.items():
    mean = np.mean(figures, 0)
    row = ["mean", noise, "", judge, *(round(float(v), 4) for v in mean)]
    writer.writerow(row); print(*row, sep=",")
