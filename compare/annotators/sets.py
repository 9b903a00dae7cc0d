"""Crowds with known truth and out-of-sample probabilities: one of real people (CIFAR-10N), one drawn from real people's answers
(CIFAR-10H), and simulated ones on real tables and texts. `crowds(part, data, cache)` gives them; part is development or held-out."""
import csv, gzip, io, os, sys
import numpy as np
from features import TRAIN, cifar, features

def stream(*words):
    """A separate generator for every set."""
    return np.random.default_rng(np.frombuffer("/".join(map(str, words)).encode(), np.uint8).astype(np.uint32))

def crowd(name, row, annotator, label, truth, probs):
    return dict(name=name, row=np.asarray(row), annotator=np.asarray(annotator), label=np.asarray(label), truth=np.asarray(truth), probs=probs)

def majority(rows, classes, row, label):
    votes = np.zeros((rows, classes)); np.add.at(votes, (row, label), 1)
    return (votes + 1e-6 * votes.sum(0) / votes.sum()).argmax(1)

# ---- probabilities of rows a model was not trained on; the models learn the majority's labels ----

def softmax_regression(x, given, classes, folds=5, epochs=12):
    """Out-of-fold probabilities of a linear softmax on standardised features, by Adam on small batches."""
    import torch
    torch.manual_seed(0)
    x = torch.from_numpy(np.array(x, np.float32)); y = torch.from_numpy(given.astype(np.int64))
    x = (x - x.mean(0)) / (x.std(0) + 1e-6)
    fold = torch.from_numpy(stream("folds").permutation(len(given)) % folds); probs = np.zeros((len(given), classes))
    for k in range(folds):
        train = torch.nonzero(fold != k)[:, 0]; layer = torch.nn.Linear(x.shape[1], classes)
        step = torch.optim.Adam(layer.parameters(), lr=1e-3, weight_decay=1e-3)
        for epoch in range(epochs):
            for batch in train[torch.randperm(len(train))].split(256):
                step.zero_grad(); torch.nn.functional.cross_entropy(layer(x[batch]), y[batch]).backward(); step.step()
        test = torch.nonzero(fold == k)[:, 0]
        with torch.no_grad(): probs[test.numpy()] = layer(x[test]).softmax(1).double().numpy()
    return probs / probs.sum(1, keepdims=True)

def out_of_fold(model, x, given, classes):
    from sklearn.model_selection import StratifiedKFold
    probs = np.zeros((len(given), classes))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(given)), given):
        fitted = model().fit(x[train], given[train]); probs[np.ix_(test, fitted.classes_)] = fitted.predict_proba(x[test])
    return probs / probs.sum(1, keepdims=True)

# ---- people ----

def activity(draw, people, rows, each):
    """Who answers which row: some people answer many rows, most only a few."""
    weights = draw.pareto(1.5, people) + 0.2; weights /= weights.sum()
    return np.stack([draw.choice(people, each, replace=False, p=weights) for _ in range(rows)])

def by_matrix(draw, truth, classes, people, each):
    """People with a confusion matrix each: a common tendency, an individual skill, and some who answer at random."""
    shared = draw.dirichlet(np.full(classes, 0.3), classes); np.fill_diagonal(shared, 0); shared /= shared.sum(1, keepdims=True)
    skill = draw.beta(6, 2, people); skill[draw.random(people) < 0.1] = 1 / classes
    who = activity(draw, people, len(truth), each); answers = np.zeros_like(who)
    for at, z in enumerate(truth):
        for j, a in enumerate(who[at]):
            answers[at, j] = z if draw.random() < skill[a] else (draw.choice(classes, p=shared[z]) if draw.random() < 0.7 else draw.integers(classes))
    return flat(who, answers)

def by_models(draw, x, truth, classes, people, each, size):
    """People whose mistakes depend on the row: each is a small tree that was trained on a few rows and some columns."""
    from sklearn.tree import DecisionTreeClassifier
    who = activity(draw, people, len(truth), each); said = np.zeros((people, len(truth)), int)
    for a in range(people):
        rows = draw.choice(len(truth), int(size * draw.uniform(0.5, 3)), replace=False)
        columns = draw.choice(x.shape[1], max(2, int(x.shape[1] * draw.uniform(0.3, 0.9))), replace=False)
        tree = DecisionTreeClassifier(min_samples_leaf=3, random_state=int(draw.integers(1 << 30))).fit(x[rows][:, columns], truth[rows])
        said[a] = tree.predict(x[:, columns])
    return flat(who, said[who, np.arange(len(truth))[:, None]])

def by_counts(draw, counts, people, each):
    """Answers that real people gave to the same picture, resampled; everybody also has an individual rate of careless answers."""
    classes = counts.shape[1]; careless = draw.beta(1.2, 6, people); careless[draw.random(people) < 0.05] = 0.9
    who = activity(draw, people, len(counts), each); answers = np.zeros_like(who)
    for at, row in enumerate(counts / counts.sum(1, keepdims=True)):
        for j, a in enumerate(who[at]):
            answers[at, j] = draw.integers(classes) if draw.random() < careless[a] else draw.choice(classes, p=row)
    return flat(who, answers)

def flat(who, answers):
    return np.repeat(np.arange(len(who)), who.shape[1]), who.ravel(), answers.ravel()

# ---- the sets ----

def cifar_10n(part, data, cache):
    table = np.loadtxt(gzip.open(f"{data}/cifar-n/cifar-10n.csv.gz", "rt"), delimiter=",", skiprows=1, dtype=int)
    head = gzip.open(f"{data}/cifar-n/cifar-10n.csv.gz", "rt").readline().strip().split(",")
    answers = table[:, [head.index(f"random_label{k}") for k in (1, 2, 3)]]; truth = table[:, head.index("clean_label")]
    rows = {"development": slice(0, 10_000), "held-out": slice(10_000, 50_000), "all": slice(0, 50_000)}[part]
    if os.environ.get("FEATURES") == "patches": rows = slice(rows.start, rows.start + 10_000)
    answers, truth = answers[rows], truth[rows]
    row, annotator, label = flat(np.tile(np.arange(3), (len(answers), 1)), answers)
    given = majority(len(truth), 10, row, label)
    if os.environ.get("FEATURES") == "patches":
        from patches import patch_features
        return crowd("cifar-10n", row, annotator, label, truth, out_of_fold(lambda: regression(0.003, 60), patch_features(data, cache, rows), given, 10))
    return crowd("cifar-10n", row, annotator, label, truth, softmax_regression(features(data, cache)[rows], given, 10))

def cifar_10h(part, data, cache):
    half = slice(0, 5000) if part.startswith("development") else slice(5000, 10_000)
    counts = np.load(gzip.open(f"{data}/cifar-10h/cifar10h-counts.npy.gz"))[half]; probs = np.load(gzip.open(f"{data}/label-errors/cifar10_test_set_pyx.npy.gz"))[half]
    truth = cifar(data, ["test_batch"])[1][half]; draw = stream("cifar-10h", part)
    return crowd("cifar-10h", *by_counts(draw, counts, 200, 3), truth, probs)

def table(name, data):
    import pandas
    frame = pandas.read_csv(f"{data}/tables/{name}.csv.gz"); label = frame.columns[-1]
    y = frame[label].astype("category").cat.codes.to_numpy().astype(int)
    x = pandas.get_dummies(frame.drop(columns=label)).fillna(0).to_numpy(np.float32)
    return x, y

def trees():
    from sklearn.ensemble import HistGradientBoostingClassifier
    return HistGradientBoostingClassifier(max_iter=60, random_state=0)

def regression(strength=1.0, steps=300):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    return make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=steps))

def too_sure(part, data, cache):
    """A made-up classifier that gives the true class next to nothing wherever it errs."""
    draw = stream("too sure", part); rows, people, classes, each = 5000, 50, 10, 3
    truth = draw.integers(classes, size=rows); skill = draw.uniform(0.4, 0.95, people); who = np.argsort(draw.random((rows, people)), axis=1)[:, :each]
    said = np.where(draw.random((rows, each)) < skill[who], truth[:, None], draw.integers(classes, size=(rows, each)))
    probs = draw.dirichlet(np.full(classes, 0.3), rows) * 0.6; probs[np.arange(rows), np.where(draw.random(rows) < 0.85, truth, draw.integers(classes, size=rows))] += 0.4
    return crowd("too sure", *flat(who, said), truth, probs / probs.sum(1, keepdims=True))

def on_table(name, kind, people, each, size, model):
    def make(part, data, cache):
        x, truth = table(name, data); classes = int(truth.max()) + 1; draw = stream(name, kind, part)
        keep = draw.permutation(len(truth))[:6000]; x, truth = x[keep], truth[keep]
        row, annotator, label = by_matrix(draw, truth, classes, people, each) if kind == "matrix" else by_models(draw, x, truth, classes, people, each, size)
        probs = out_of_fold(model, x, majority(len(truth), classes, row, label), classes)
        return crowd(f"{name}, {kind}", row, annotator, label, truth, probs)
    return make

def texts(part, data, cache):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    lines = list(csv.reader(io.TextIOWrapper(gzip.open(f"{data}/text/ag-news.csv.gz"), "utf-8")))
    head, lines = lines[0], lines[1:]; at = head.index("label") if "label" in head else 0
    names = sorted({line[at] for line in lines}); truth = np.array([names.index(line[at]) for line in lines])
    x = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform([" ".join(cell for place, cell in enumerate(line) if place != at) for line in lines])
    half = np.arange(len(truth)) % 2 == (not part.startswith("development")); x, truth = x[half], truth[half]; draw = stream("ag-news", part)
    row, annotator, label = by_matrix(draw, truth, len(names), 60, 3)
    probs = out_of_fold(lambda: LogisticRegression(max_iter=300, C=5), x, majority(len(truth), len(names), row, label), len(names))
    return crowd("ag-news, matrix", row, annotator, label, truth, probs)

SETS = {
    "development": [cifar_10n, cifar_10h, texts, on_table("phoneme", "models", 60, 3, 60, trees), on_table("qsar-biodeg", "matrix", 30, 5, 0, trees), on_table("libras", "models", 25, 5, 120, regression),
                    too_sure, on_table("kr-vs-kp", "models", 60, 5, 40, trees), on_table("contraceptive", "models", 40, 3, 60, regression), on_table("anneal", "matrix", 30, 3, 0, trees), on_table("credit-default", "matrix", 60, 3, 0, trees), on_table("wilt", "models", 50, 5, 40, trees)],
    "held-out": [cifar_10n, cifar_10h, texts, on_table("magic-telescope", "models", 80, 3, 60, trees), on_table("magic-telescope", "matrix", 80, 5, 0, trees), on_table("mfeat-factors", "models", 40, 3, 120, regression), on_table("mfeat-factors", "matrix", 40, 3, 0, regression), on_table("phishing", "models", 60, 5, 40, trees)],
    "all": [cifar_10n],
}
# The same tables, other people: every part draws from streams of its own.
SETS["held-out-2"] = SETS["held-out"][1:]
SETS["development-2"] = SETS["development"][1:]

def crowds(part, data, cache, only=""):
    """Every set of a part; made once, then kept in the cache."""
    for number, make in enumerate(SETS[part]):
        place = f"{cache}/crowd-{part}-{number}.npz"
        if not os.path.exists(place):
            made = make(part, data, cache); os.makedirs(cache, exist_ok=True)
            np.savez(place + ".tmp.npz", **made); os.replace(place + ".tmp.npz", place)
        found = dict(np.load(place)); found["name"] = str(found["name"])
        if only in found["name"]: yield found

if __name__ == "__main__":
    for part in sys.argv[3:]:
        for found in crowds(part, *sys.argv[1:3]):
            truth, row, label = found["truth"], found["row"], found["label"]
            votes = majority(len(truth), found["probs"].shape[1], row, label)
            print(part, found["name"], len(truth), "rows", len(np.unique(found["annotator"])), "people", f"answers {np.mean(label == truth[row]):.3f} majority {np.mean(votes == truth):.4f} model {np.mean(found['probs'].argmax(1) == truth):.4f}", flush=True)
