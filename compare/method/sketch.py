"""The sketch on which the method `tares` was developed: python sketch.py DATA SET EPOCHS [NAME...]. Needs NumPy, pandas and PyTorch.

DATA is a folder with mnist/, optdigits/ and tables/; SET is digits, mnist5000 (the first 5,000 rows at 14 x 14 pixels), phoneme or mfeat-factors; or
fashion5000, with DATA the folder of Fashion-MNIST (held out: only used after everything was chosen). Several noises are trained side by side in one batched mlp 128-128: Adam 1e-3, batches of 128, constant for 40 % of the epochs, then linear to 0 with beta1 0.1. One
line per variant: accuracy over the last quarter of the epochs, F1 of the labels it rejected, estimated rate. Results: results/method/README.md.
"""
import gzip, sys
import numpy as np, pandas as pd, torch
import torch.nn.functional as F

torch.set_num_threads(1)
DATA = sys.argv[1]

def idx(path):
    bytes_ = gzip.open(path).read()
    dims = [int.from_bytes(bytes_[4 + 4 * i : 8 + 4 * i], "big") for i in range(bytes_[3])]
    return np.frombuffer(bytes_, np.uint8, offset=4 + 4 * len(dims)).reshape(dims)

def load(name):
    """Training rows and labels, test rows and labels."""
    if name.startswith(("mnist", "fashion")):
        folder = f"{DATA}/mnist" if name.startswith("mnist") else DATA
        rows = int(name.removeprefix("mnist").removeprefix("fashion"))
        part = lambda kind: (idx(f"{folder}/{kind}-images-idx3-ubyte.gz"), idx(f"{folder}/{kind}-labels-idx1-ubyte.gz"))
        small = lambda x: x.reshape(-1, 14, 2, 14, 2).mean((2, 4)).reshape(len(x), -1) / 255
        (x, y), (xt, yt) = part("train"), part("t10k")
        x, y, xt, yt = small(x[:rows]), y[:rows], small(xt[:4000]), yt[:4000]
    elif name == "digits":
        read = lambda path: np.loadtxt(gzip.open(path, "rt"), delimiter=",")
        a, b = read(f"{DATA}/optdigits/optdigits.tra.gz"), read(f"{DATA}/optdigits/optdigits.tes.gz")
        x, y, xt, yt = a[:, :-1] / 16, a[:, -1], b[:, :-1] / 16, b[:, -1]
    else:
        frame = pd.read_csv(f"{DATA}/tables/{name}.csv.gz")
        y, x = pd.factorize(frame.iloc[:, -1], sort=True)[0], frame.iloc[:, :-1].to_numpy(float)
        order = np.random.default_rng(5).permutation(len(x))
        x, y, k = x[order], y[order], len(x) // 5
        xt, yt, x, y = x[:k], y[:k], x[k:], y[k:]
        mean, std = x.mean(0), x.std(0) + 1e-9
        x, xt = (x - mean) / std, (xt - mean) / std
    real = lambda a: torch.tensor(np.asarray(a), dtype=torch.float32)
    return real(x), torch.tensor(y.astype(np.int64)), real(xt), torch.tensor(yt.astype(np.int64))

def noisy(y, noise, seed):
    kind, _, rate = noise.partition(":")
    y, draw = y.numpy(), np.random.default_rng(1000 + seed)
    z, classes = y.copy(), int(y.max()) + 1
    if kind != "none":
        hit = draw.random(len(y)) < float(rate)
        if kind == "asym":  # five kinds of clothes are mistaken for the one that looks most similar
            z[hit] = np.array([6, 1, 4, 0, 4, 7, 6, 7, 8, 7])[y[hit]]
        else:
            z[hit] = (y[hit] + (draw.integers(1, classes, hit.sum()) if kind == "sym" else 1)) % classes
    return torch.tensor(z)

def answer(weights, x):
    for j in range(0, len(weights), 2):
        x = torch.baddbmm(weights[j + 1], x, weights[j])
        x = x.relu() if j < len(weights) - 2 else x
    return x

def run(method, name, noises, seed, epochs):
    x, truth, xt, yt = load(name)
    given = torch.stack([noisy(truth, noise, seed) for noise in noises])
    runs, rows, classes = len(noises), len(x), int(truth.max()) + 1
    draw, weights = torch.Generator().manual_seed(seed), []
    for a, b in [(x.shape[1], 128), (128, 128), (128, classes)]:
        weights += [((torch.rand(runs, d, b, generator=draw) * 2 - 1) / a**0.5).requires_grad_() for d in (a, 1)]
    model = method(runs, rows, classes, given, epochs)
    adam = torch.optim.Adam(weights, 1e-3, weight_decay=model.weight_decay)
    order, start, accuracies = torch.Generator().manual_seed(seed), round(0.4 * epochs), []
    for epoch in range(epochs):
        for group in adam.param_groups:
            group["lr"] = 1e-3 * (1 if epoch < start else (epochs - epoch) / (epochs - start))
            group["betas"] = (0.9 if epoch < start else 0.1, 0.999)
        model.begin(epoch)
        for i in torch.randperm(rows, generator=order).split(128):
            loss = model.loss(answer(weights, x[i].expand(runs, -1, -1)), i, epoch)
            adam.zero_grad()
            loss.sum().backward()
            adam.step()
        if epoch >= epochs - (10 if epochs >= 40 else max(1, epochs // 4)):
            with torch.no_grad():
                accuracies.append((answer(weights, xt.expand(runs, -1, -1)).argmax(2) == yt).float().mean(1).numpy() * 100)
    listed, wrong = model.wrong(), given != truth
    f1 = (2 * (listed & wrong).sum(1) / (listed.sum(1) + wrong.sum(1)).clamp(min=1)).numpy()
    return np.mean(accuracies, 0), f1, model.rate().numpy()

class Plain:
    """Cross-entropy; `t` is the last prediction."""
    weight_decay = 0.0
    def __init__(self, runs, rows, classes, given, epochs):
        self.given, self.epochs, self.classes = given, epochs, classes
        self.t = torch.zeros(runs, rows, classes)
    def begin(self, epoch): pass
    def cross_entropy(self, z, i): return -z.log_softmax(2).gather(2, self.given[:, i, None]).squeeze(2).mean(1)
    def loss(self, z, i, epoch):
        self.t[:, i] = z.detach().softmax(2)
        return self.cross_entropy(z, i)
    def wrong(self): return self.t.argmax(2) != self.given
    def rate(self): return self.wrong().float().mean(1)

def decayed(decay):
    """Cross-entropy with weight decay: the tuned standard training."""
    return type("Decayed", (Plain,), {"weight_decay": decay})

class Gce(Plain):
    def loss(self, z, i, epoch):
        self.t[:, i] = z.detach().softmax(2)
        return ((1 - (0.7 * z.log_softmax(2).gather(2, self.given[:, i, None])).exp()) / 0.7).mean((1, 2))

class Elr(Plain):
    def loss(self, z, i, epoch):
        p = z.softmax(2).clamp(1e-4, 1 - 1e-4)
        self.t[:, i] = t = 0.7 * self.t[:, i] + 0.3 * (p / p.sum(2, keepdim=True)).detach()
        return self.cross_entropy(z, i) + 3 * (1 - (t * p).sum(2)).clamp(min=1e-4).log().mean(1)

def memory(burn_in=0.2, sharp_from=0.6, first=1.0, last=2.0, beta=0.7, surest=0.5, start="ce", em=False):
    """The method and its variants: belief ~ t^gamma T[c][y], gamma from `first` to `last`; `em` counts T by beliefs on all rows instead of on the surest."""
    class Memory(Plain):
        def __init__(self, runs, rows, classes, given, epochs):
            super().__init__(runs, rows, classes, given, epochs)
            self.labels = F.one_hot(given, classes).float()
            self.q, self.start = self.labels.clone(), max(1, round(burn_in * epochs))
        def answers(self, t): return t / t.sum(2, keepdim=True).clamp(min=1e-9)
        def believe(self, t, labels):
            q = t.clamp(min=1e-4) ** self.gamma * (labels @ self.T.transpose(1, 2))
            return q / q.sum(2, keepdim=True)
        def count(self, q):
            T = q.transpose(1, 2) @ self.labels + 0.9 * torch.eye(self.classes) + 0.1 / self.classes
            return T / T.sum(2, keepdim=True)
        def begin(self, epoch):
            if epoch < self.start: return
            rise = (epoch - self.start) / max(1, sharp_from * self.epochs - self.start)
            self.gamma = first + (last - first) * min(1, rise)
            t = self.answers(self.t)
            sure, best = t.max(2)
            counted = torch.zeros_like(sure)
            for run, k in np.ndindex(len(sure), self.classes):
                rows = (best[run] == k).nonzero()[:, 0]
                part = 1.0 if em else surest
                counted[run, rows[sure[run, rows].argsort(descending=True)[: int(np.ceil(part * len(rows)))]]] = 1
            self.T = self.count(F.one_hot(best, self.classes).float() * counted[:, :, None])
            for _ in range(5 if em else 0):
                self.T = self.count(self.believe(t, self.labels))
        def loss(self, z, i, epoch):
            p = z.softmax(2)
            d = p.detach().clamp(1e-4, 1)
            self.t[:, i] = t = beta * self.t[:, i] + (1 - beta) * d / d.sum(2, keepdim=True)
            if epoch < self.start:
                if start == "gce": return ((1 - (0.7 * z.log_softmax(2).gather(2, self.given[:, i, None])).exp()) / 0.7).mean((1, 2))
                pull = 3 * (1 - (t * p.clamp(1e-4, 1 - 1e-4)).sum(2)).clamp(min=1e-4).log().mean(1) if start == "elr" else 0
                return self.cross_entropy(z, i) + pull
            self.q[:, i] = q = self.believe(self.answers(t), self.labels[:, i])
            return -(q * z.log_softmax(2)).sum(2).mean(1)
        def right(self): return self.q.gather(2, self.given[:, :, None]).squeeze(2)
        def wrong(self): return self.right() < 0.5
        def rate(self): return 1 - self.right().mean(1)
    return Memory

fixed = lambda burn_in, last=2.0, **more: memory(burn_in, 0.0, last, last, **more)
VARIANTS = {
    "standard": Plain, "gce": Gce, "elr": Elr,
    **{f"standard, decay {decay:g}": decayed(decay) for decay in (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)},
    "fixed 2, burn-in 10 %": fixed(0.1), "fixed 2, burn-in 10 %, gce": fixed(0.1, start="gce"),
    "fixed 2, burn-in 30 %": fixed(0.3), "fixed 2, burn-in 40 %": fixed(0.4), "fixed 2, burn-in 40 % by elr": fixed(0.4, start="elr"), "fixed 1, burn-in 30 %": fixed(0.3, 1.0),
    "T by EM, fixed 2, burn-in 10 %": fixed(0.1, em=True),
    "rise 10-60 %": memory(0.1, 0.6), "rise 20-60 %": memory(0.2, 0.6), "rise 20-40 %": memory(0.2, 0.4), "rise 30-80 %": memory(0.3, 0.8), "rise 20-60 % to 3": memory(0.2, 0.6, last=3.0),
}
NOISES = {
    "fashion5000": ["none", "sym:.2", "sym:.5", "sym:.8", "pair:.35", "pair:.45", "asym:.4"],
    "phoneme": ["none", "sym:.2", "sym:.4", "pair:.3"], "mfeat-factors": ["none", "sym:.5", "pair:.35"]}

if __name__ == "__main__":
    name, epochs = sys.argv[2], int(sys.argv[3])
    noises = NOISES.get(name, ["none", "sym:.5", "sym:.8", "pair:.35", "pair:.45"])
    print(name, epochs, "epochs:", *noises, flush=True)
    for variant in sys.argv[4:] or VARIANTS:
        rows = zip(*run(VARIANTS[variant], name, noises, 1, epochs))
        print(f"{variant:32}", " | ".join(f"{a:.1f} f1 {f:.3f} rate {r:.2f}" for a, f, r in rows), flush=True)
