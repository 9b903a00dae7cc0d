"""Makes out-of-sample probabilities with known truth, for finding and judging noise estimators.

    python make_sets.py NAME OUT_DIR [--data DIR] [--rows N]

NAME: digits, mnist, fashion-mnist, cifar-raw, or features:FILE.npy (row i = features of CIFAR-10 training image i,
from any pretrained network). Every set is OUT_DIR/NAME--NOISE--CLASSIFIER.npz with `given`, `truth`, `probs`.

Noise: clean; symmetric, pair, asymmetric (random class-dependent matrix), twin (classes people confuse: cat and dog, 7 and
1, shirt and T-shirt; whatever the row), instance (random projections), semantic (labels drawn from a weak classifier
trained on other rows), each at 5, 10, 20, 40 %; for CIFAR-10 also the human labels of CIFAR-10N (aggregate, random1 to
random3, worst). Classifiers: linear, a short, a long (overfitted, too confident) and a smoothed (too modest) perceptron,
nearest neighbours, a convolution network (on images); four folds.
"""
import argparse, gzip, os, sys, time
import numpy as np, torch
torch.set_num_threads(1)
ap = argparse.ArgumentParser()
ap.add_argument("name"); ap.add_argument("out"); ap.add_argument("--data", default=os.environ.get("TARES_DATA", "data"))
ap.add_argument("--rows", type=int, default=8000); ap.add_argument("--seed", type=int, default=1)
ap.add_argument("--pca", type=int, default=100)
ap.add_argument("--boost", type=float, default=0., help="pull each row up to this far to its true class mean: a stronger network")
ap.add_argument("--tag", default=None)
ap.add_argument("--only", default=None, help="comma-separated classifiers")
ap.add_argument("--noises", default=None, help="comma-separated beginnings of noise names")
ap.add_argument("--first", type=int, default=0, help="rows before this one are left out")
A = ap.parse_args()
rng = np.random.default_rng(A.seed); torch.manual_seed(A.seed)

def idx(path):
    raw = gzip.open(path).read()
    dims = raw[3]
    shape = [int.from_bytes(raw[4 + 4 * i:8 + 4 * i], "big") for i in range(dims)]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * dims).reshape(shape)

def cifar():
    raw = b"".join(gzip.open(f"{A.data}/cifar-10/data_batch_{b}.bin.gz").read() for b in range(1, 6))
    return np.frombuffer(raw, np.uint8).reshape(-1, 3073)

human = {}
def load():
    if A.name == "digits":
        rows = [np.loadtxt(gzip.open(f"{A.data}/optdigits/optdigits.{p}.gz", "rt"), delimiter=",") for p in ("tra", "tes")]
        a = np.concatenate(rows); return a[:, :64] / 16, a[:, 64].astype(int)
    if A.name in ("mnist", "fashion-mnist"):
        d = f"{A.data}/mnist" if A.name == "mnist" else "/usr/share/datasets/fashion-mnist"
        return idx(f"{d}/train-images-idx3-ubyte.gz").reshape(-1, 784) / 255., idx(f"{d}/train-labels-idx1-ubyte.gz").astype(int)
    a = cifar(); y = a[:, 0].astype(int)
    h = np.loadtxt(gzip.open(f"{A.data}/cifar-n/cifar-10n.csv.gz", "rt"), delimiter=",", skiprows=1).astype(int)
    for name, col in (("aggregate", 2), ("worst", 3), ("random", 4), ("random2", 5), ("random3", 6)): human[name] = h[:, col]
    if A.name == "cifar-raw": return a[:, 1:] / 255., y
    x = np.load(A.name.split(":", 1)[1]); y = y[:len(x)]
    for k in human: human[k] = human[k][:len(x)]
    return x, y

x, y = load()
x, y = x[A.first:], y[A.first:]
human = {k: v[A.first:] for k, v in human.items()}
pick = rng.permutation(len(x))[:A.rows]
rest = np.setdiff1d(rng.permutation(len(x))[:A.rows], pick)[:1500]
if len(rest) < 500: rest = pick[:700]
xr, yr = x[rest], y[rest]
x, y = np.asarray(x[pick], "f8"), y[pick]
images = x.astype("f4")
human = {k: v[pick] for k, v in human.items()}
mean = x.mean(0); _, vec = np.linalg.eigh(np.cov((x - mean).T)); vec = vec[:, ::-1][:, :A.pca]
scale = ((x - mean) @ vec).std(0).mean()  # average standard deviation 1, so that Adam's steps suit every source
x = ((x - mean) @ vec / scale).astype("f4"); xr = ((xr - mean) @ vec / scale).astype("f4")
N, K = len(y), y.max() + 1
if A.boost:
    centre = np.stack([x[y == k].mean(0) for k in range(K)])
    x = (x + rng.uniform(0, A.boost, (N, 1)) * (centre[y] - x)).astype("f4")
X = torch.from_numpy(x)

def fit(xs, labels, test, hidden, epochs, smooth=0., lr=3e-3, decay=0.):
    """Trains len(labels) networks at once, one per labelling of the same rows; returns probabilities [M, test, K]."""
    M, d = len(labels), xs.shape[1]
    sizes = [d, K] if hidden == 0 else [d, hidden, K]
    P = []
    for a, b in zip(sizes, sizes[1:]):
        P += [(torch.randn(M, a, b) / a ** .5).requires_grad_(), torch.zeros(M, 1, b, requires_grad=True)]
    opt = torch.optim.Adam(P, lr=lr, weight_decay=decay)
    def run(v):
        h = torch.matmul(v, P[0]) + P[1]
        return torch.matmul(torch.relu(h), P[2]) + P[3] if hidden else h
    T = torch.from_numpy(np.stack(labels)); n = len(xs); steps = epochs * (n // 128); s = 0
    for _ in range(epochs):
        order = torch.randperm(n)
        for i in range(0, n - 127, 128):
            b = order[i:i + 128]; s += 1
            opt.param_groups[0]["lr"] = lr * (1 - s / (steps + 1))
            z = run(xs[b])
            loss = torch.nn.functional.cross_entropy(z.reshape(-1, K), T[:, b].reshape(-1), label_smoothing=smooth) * M
            opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad(): return torch.softmax(run(test), -1).numpy()

# The class that each is most often mistaken for. CIFAR-10: airplane automobile bird cat deer dog frog horse ship truck.
TWINS = np.array({"digits": [6, 7, 7, 8, 9, 6, 5, 1, 3, 4], "mnist": [6, 7, 7, 8, 9, 6, 5, 1, 3, 4],
                  "fashion-mnist": [6, 3, 4, 0, 2, 7, 0, 9, 5, 7]}.get(A.name, [8, 9, 0, 5, 7, 3, 3, 4, 0, 1]))

def noises():
    out = {"clean-0": y.copy()}
    weak = fit(torch.from_numpy(xr), [yr], X, 0, 15)[0].astype("f8")
    for rate in (.05, .1, .2, .4):
        flip = rng.random(N) < rate; tag = f"{int(rate*100)}"
        out["symmetric-" + tag] = np.where(flip, (y + rng.integers(1, K, N)) % K, y)
        out["pair-" + tag] = np.where(flip, (y + 1) % K, y)
        per = rng.random(K); per *= rate / per.mean(); per = np.minimum(per, .7)
        tgt = rng.dirichlet(np.full(K, .3), K); np.fill_diagonal(tgt, 1e-12); tgt /= tgt.sum(1, keepdims=True)
        g = y.copy()
        for k in range(K):
            m = np.flatnonzero((y == k) & (rng.random(N) < per[k])); g[m] = rng.choice(K, len(m), p=tgt[k])
        out["asymmetric-" + tag] = g
        out["twin-" + tag] = np.where(rng.random(N) < rate, TWINS[y], y)
        q = np.clip(rng.normal(rate, .1, N), 0, 1); W = rng.normal(size=(K, x.shape[1], K))
        z = np.einsum("nd,ndk->nk", x, W[y]); z[np.arange(N), y] = -np.inf
        z = np.exp(z - z.max(1, keepdims=True)); z /= z.sum(1, keepdims=True)
        other = (z.cumsum(1) > rng.random((N, 1))).argmax(1)
        out["instance-" + tag] = np.where(rng.random(N) < q, other, y)
        # Semantic: choose a weak classifier's temperature such that its draws are wrong at the wanted rate.
        lo, hi = .02, 20.
        for _ in range(40):
            t = (lo * hi) ** .5; p = weak ** (1 / t); p[np.arange(N), y] *= 1.; p /= p.sum(1, keepdims=True)
            wrong = 1 - p[np.arange(N), y].mean()
            lo, hi = (t, hi) if wrong < rate else (lo, t)
        if wrong > rate * 1.02:  # the weak classifier's best guesses are wrong more often than wanted
            p = (1 - rate / wrong) * np.eye(K)[y] + rate / wrong * p
        out["semantic-" + tag] = (p.cumsum(1) > rng.random((N, 1))).argmax(1)
    for k, v in human.items(): out["human-" + k] = v
    if A.noises: out = {k: v for k, v in out.items() if k.startswith(tuple(A.noises.split(",")))}
    return out

def convolution(train, labels, test, epochs=4):
    """A small network on the images themselves, one labelling after the other."""
    side = int(images.shape[1] ** .5)
    net = lambda: torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Conv2d(16, 32, 3, padding=1),
        torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(32 * (side // 4) ** 2, 128),
        torch.nn.ReLU(), torch.nn.Linear(128, K))
    a, t = (torch.from_numpy(images[i]).reshape(-1, 1, side, side) for i in (train, test))
    out = []
    for label in labels:
        model, label = net(), torch.from_numpy(label)
        opt = torch.optim.Adam(model.parameters(), 2e-3); steps = epochs * (len(a) // 64); s = 0
        for _ in range(epochs):
            for b in torch.randperm(len(a))[:len(a) // 64 * 64].reshape(-1, 64):
                opt.param_groups[0]["lr"] = 2e-3 * (1 - s / steps); s += 1
                loss = torch.nn.functional.cross_entropy(model(a[b]), label[b]); opt.zero_grad(); loss.backward(); opt.step()
        with torch.no_grad(): out.append(torch.softmax(model(t), -1).numpy())
    return np.stack(out)

def neighbours(train, labels, test, k=15):
    d = torch.cdist(test, train); near = d.topk(k, largest=False).indices.numpy()
    return np.stack([np.stack([(l[near] == c).mean(1) for c in range(K)], 1) for l in labels])

kinds = {
    "linear": lambda a, l, t: fit(a, l, t, 0, 20),
    "short": lambda a, l, t: fit(a, l, t, 128, 5),
    "long": lambda a, l, t: fit(a, l, t, 128, 40),
    "smooth": lambda a, l, t: fit(a, l, t, 128, 10, smooth=.2, decay=1e-4),
    "near": neighbours,
    "convolution": convolution,
}
if A.name not in ("digits", "mnist", "fashion-mnist"): del kinds["convolution"]
if A.only: kinds = {k: v for k, v in kinds.items() if k in A.only.split(",")}
sets = noises(); assert sets, "no such noise"; names = list(sets); labels = [sets[n] for n in names]
fold = rng.permutation(N) % 4
os.makedirs(A.out, exist_ok=True)
tag = A.tag or A.name.replace(":", "-").replace("/", "_")
for kind, run in kinds.items():
    t0 = time.time(); probs = np.zeros((len(labels), N, K), "f4")
    for f in range(4):
        a, b = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        probs[:, b] = run(a, [l[a] for l in labels], b) if kind == "convolution" else run(X[a], [l[a] for l in labels], X[b])
    for n, l, p in zip(names, labels, probs):
        np.savez(f"{A.out}/{tag}--{n}--{kind}.npz", given=l.astype("u4"), truth=y.astype("u4"), probs=p)
    print(tag, kind, f"{time.time()-t0:.0f} s, accuracy with {names[0]} {np.mean(probs[0].argmax(1)==y):.3f}", flush=True)
