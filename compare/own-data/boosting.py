"""One fit of boosted trees, ours beside scikit-learn, LightGBM and (if installed) the crate hessboost: seconds, and log-loss and accuracy on new rows.

    JUDGE=target/release/examples/judge_json python3 boosting.py DATA OUT.csv

All with 100 rounds, rate 0.1, 31 leaves, 255 bins, no early stopping, on the clean labels of the development tables and of two synthetic ones. Turns
alternate; the best of TURNS (3) counts. Times are of the fit alone, with the data already in each library's own form: `seconds` of wall time, which only a
quiet machine makes comparable, and `cpu_seconds` of the processor. On a busy machine set THREADS=1: threads that wait for each other burn time.
"""
import csv, json, os, subprocess, sys, time
sys.argv = [sys.argv[0], *sys.argv[1:3]]
THREADS = os.environ.get("THREADS", "2")
os.environ.update(OMP_NUM_THREADS=THREADS, RAYON_NUM_THREADS=THREADS)
import numpy as np, pandas as pd, lightgbm
try: import hessboost
except ImportError: hessboost = None
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from tables import columns_json, table

NAMES = os.environ.get("TABLES", "phoneme kr-vs-kp mfeat-factors phishing ozone made-10000x15 made-100000x20").split()
data, out = sys.argv[1:3]

def load(name):
    if name.startswith("made-"):
        rows, width = map(int, name[5:].split("x"))
        x, y = make_classification(rows, width, n_informative=width // 2, n_classes=3, class_sep=0.7, random_state=1)
        return pd.DataFrame(x.astype("float32"), columns=[f"x{i}" for i in range(width)]), y
    frame, labels, _ = table(data, name)
    return frame, labels

def ours(x, y, new, classes):
    question = {"columns": list(columns_json(x)), "labels": y.tolist(), "classes": classes, "new": {"columns": list(columns_json(new))}, "fit_rounds": 100}
    found = json.loads(subprocess.run([os.environ["JUDGE"]], input=json.dumps(question), capture_output=True, text=True, check=True).stdout)
    return (found["fit_seconds"], found["fit_cpu_seconds"]), np.array(found["new"]).reshape(-1, classes)

def timed(fit, ask):
    start, used = time.perf_counter(), time.process_time()
    model = fit()
    return (time.perf_counter() - start, time.process_time() - used), ask(model)

def sklearn(x, y, new, classes):
    model = HistGradientBoostingClassifier(max_iter=100, early_stopping=False, categorical_features="from_dtype", random_state=0)
    return timed(lambda: model.fit(x, y), lambda m: m.predict_proba(new))

def lightgbm_(x, y, new, classes):
    model = lightgbm.LGBMClassifier(n_estimators=100, verbose=-1, n_jobs=int(THREADS))
    return timed(lambda: model.fit(x, y), lambda m: m.predict_proba(new))

def hessboost_(x, y, new, classes):
    plain = lambda frame: np.column_stack([frame[c].cat.codes.replace(-1, np.nan) if isinstance(frame[c].dtype, pd.CategoricalDtype) else frame[c] for c in frame]).astype("float32")
    rows, test = hessboost.DMatrix(plain(x), label=y.astype("float32")), hessboost.DMatrix(plain(new))
    parameters = {"objective": "multi:softprob", "num_class": classes, "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 31, "max_depth": 0, "max_bin": 256, "eta": 0.1}
    return timed(lambda: hessboost.train(parameters, rows, 100), lambda m: np.asarray(m.predict(test)).reshape(-1, classes))

WHO = [("ours", ours), ("scikit-learn", sklearn), ("lightgbm", lightgbm_)] + ([("hessboost", hessboost_)] if hessboost else [])
writer = csv.writer(open(out, "w")); header = ["table", "rows", "columns", "classes", "who", "threads", "seconds", "cpu_seconds", "log_loss", "accuracy"]
writer.writerow(header); print(*header, sep=",")
for name in NAMES:
    frame, labels = load(name)
    x, new, y, truth = train_test_split(frame, labels, test_size=0.3, random_state=1, stratify=labels)
    classes = int(labels.max()) + 1
    best = {}
    for _ in range(int(os.environ.get("TURNS", 3))):
        for who, run in WHO:
            try: took, probs = run(x, y, new, classes)
            except Exception as error:
                print(name, who, repr(error)[:200], file=sys.stderr); continue
            best[who] = (tuple(map(min, took, best[who][0])) if who in best else took, probs)
    for who, (took, probs) in best.items():
        own = np.maximum(probs[np.arange(len(truth)), truth], 1e-15)
        row = [name, len(y), x.shape[1], classes, who, THREADS, *(round(t, 3) for t in took), round(float(-np.log(own).mean()), 4), round(float((probs.argmax(1) == truth).mean()), 4)]
        writer.writerow(row); print(*row, sep=",", flush=True)
