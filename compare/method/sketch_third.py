"""The third form of `tares` before it was written in Rust: python sketch_third.py DATA SET[,SET...] VARIANT[,VARIANT...] [SEED...].

Sets: those of sketch_hidden.py (an mlp in numpy), libras, digits300 (240 rows), and 5,000 pictures of CIFAR-10 (the third batch, so neither the first 5,000 nor the
rows that prepare.py cuts; tested on the last 2,000 test pictures) at 16 x 16 with a small CNN in PyTorch."""
import gzip, sys, time
import numpy as np
import sketch_hidden as base
from sketch_hidden import DATA, Hidden, Plain, Decay, Elr, V, onehot, softmax

NOISES = {"libras": (40, ["none", "sym:.2", "sym:.4"]), "digits300": (40, ["none", "sym:.2", "sym:.4", "pair:.35"]), "cifar": (20, ["none", "sym:.5", "pair:.35", "worst"])}
base.SETS.update(NOISES)
hidden_load, hidden_noisy = base.load, base.noisy

def small(name):
    if name == "libras":
        import pandas as pd
        f = pd.read_csv(f"{DATA}/tables/libras.csv.gz"); x = f.iloc[:, :-1].to_numpy(float); y = pd.factorize(f.iloc[:, -1], sort=True)[0]
    else:
        from sklearn.datasets import load_digits
        x, y = load_digits(return_X_y=True)
    o = np.random.default_rng(5).permutation(len(x)); x, y = x[o], y[o]
    train, test = (slice(len(x) // 5, None), slice(0, len(x) // 5)) if name == "libras" else (slice(0, 300), slice(300, None))
    m, s = x[train].mean(0), x[train].std(0) + 1e-9; x = ((x - m) / s).astype(np.float32)
    return x[train], y[train].astype(int), x[test], y[test].astype(int)

def load(name):
    if name in ("libras", "digits300") and name not in base._cache: base._cache[name] = small(name)
    return hidden_load(name)
base.load = load

def noisy(y, noise, seed):
    """asym: every other class is mistaken for the next one."""
    if not noise.startswith("asym"): return hidden_noisy(y, noise, seed)
    hit = (np.random.default_rng(1000 + seed).random(len(y)) < float(noise[5:])) & (y % 2 == 0); return np.where(hit, (y + 1) % (int(y.max()) + 1), y)
base.noisy = noisy
for name in ("digits", "mnist5000", "mfeat-factors"): base.SETS[name] = (base.SETS[name][0], base.TEN + ["asym:.4"])

def pictures():
    def read(path, rows):
        b = np.frombuffer(gzip.open(path).read(), np.uint8).reshape(-1, 3073)[rows]
        return b[:, 1:].reshape(-1, 3, 16, 2, 16, 2).mean((3, 5)).astype(np.float32) / 255, b[:, 0].astype(int)
    x, y = read(f"{DATA}/cifar-10/data_batch_3.bin.gz", slice(0, 5000)); xt, yt = read(f"{DATA}/cifar-10/test_batch.bin.gz", slice(8000, 10000))
    lines = gzip.open(f"{DATA}/cifar-n/cifar-10n.csv.gz", "rt").read().splitlines()[20001:25001]
    people = np.array([line.split(",") for line in lines], int); assert (people[:, 1] == y).all()
    m, s = x.mean((0, 2, 3), keepdims=True), x.std((0, 2, 3), keepdims=True)
    return (x - m) / s, y, (xt - m) / s, yt, people[:, 3]

def run_cnn(method, noise, seed, epochs, trace=None, batch=128):
    import torch; from torch import nn
    torch.set_num_threads(1); torch.manual_seed(seed)
    x, truth, xt, yt, worst = run_cnn.data = getattr(run_cnn, "data", None) or pictures()
    given = worst if noise == "worst" else noisy(truth, noise, seed)
    N, K = len(truth), 10; m = method(1, N, K, given[None], epochs); m.truth = truth; m.rates = np.array([(given != truth).mean()], np.float32)
    c = lambda a, b: [nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
    wide = lambda: nn.Sequential(*c(3, 32), nn.MaxPool2d(2), *c(32, 64), nn.MaxPool2d(2), *c(64, 64), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, K))
    net = wide() if m.wide else nn.Sequential(*c(3, 16), nn.MaxPool2d(2), nn.Dropout2d(.25), *c(16, 32), nn.MaxPool2d(2), nn.Dropout2d(.25), *c(32, 32), *c(32, 32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, K))
    x, xt = torch.tensor(x), torch.tensor(xt); o = torch.optim.Adam(net.parameters(), 1e-3, weight_decay=m.weight_decay); start = round(.4 * epochs); accs = []
    for e in range(epochs):
        for g in o.param_groups:
            g["lr"] = 1e-3 * (1 if e < start else (epochs - e) / (epochs - start))
            if not m.noturn: g["betas"] = (.9 if e < start else .1, .999)
        m.begin(e); net.train()
        for i in np.split(np.random.default_rng([e, seed, 77]).permutation(N), range(batch, N, batch)):
            z = net(x[i]); o.zero_grad(); z.backward(torch.tensor(m.grad(z.detach().numpy()[None], i, e)[0].astype(np.float32))); o.step()
        net.eval()
        with torch.no_grad(): acc = np.array([100 * float((net(xt).argmax(1).numpy() == yt).mean())])
        if trace: trace(e, m, acc, given[None], truth)
        if e >= epochs - max(1, epochs // 4): accs.append(acc[0])
    l, w = m.wrong()[0], given != truth
    return np.mean(accs), 2 * (l & w).sum() / max(1, l.sum() + w.sum()), float(m.rate()[0])

def bench(names, sets, seeds, trace=None):
    for n in names:
        for st in sets:
            ep, no = base.SETS[st]; t0 = time.time()
            if st == "cifar": a, f, r = (np.array(v).reshape(len(no), len(seeds)) for v in zip(*(run_cnn(V[n], noise, s, ep, trace) for noise in no for s in seeds)))
            else: a, f, r = base.run(V[n], st, no, list(seeds), ep, 128, trace)
            print(f"{n:28} {st:10}", " | ".join(f"{x:.1f} f{y:.2f} r{z:.2f}" for x, y, z in zip(a.mean(1), f.mean(1), r.mean(1))), f"mean {a.mean():.2f}  {time.time()-t0:.0f}s", flush=True)

Plain.wide = False
class Told(Hidden):
    """The second form, told the true T."""
    def begin(s, e):
        super().begin(e)
        for r in range(s.R):
            if s.starts[r] < 0: continue
            T = np.eye(s.K) * 1e-3 + 1e-3 / s.K; np.add.at(T, (s.truth, s.given[r]), 1); s.T[r] = T / T.sum(1, keepdims=True)

class Counted(Hidden):
    """Mistakes are counted on the fraction of the rows, surest first, that tells most: the least upper bound of the hidden rows' disagreement."""
    fractions = (.5, .25, .1, .05); z2 = 2.; own = False; log = False; minimum = 0; share_rows = True
    def init(s):
        super().init(); s.part = np.full(s.R, s.surest); s.rate_h = np.zeros(s.R)
    def sure_at(s, t, r, among, part):
        best = t[r].argmax(1); rows = [np.nonzero((best == k) & among)[0] for k in range(s.K)]
        return [w[np.argsort(-t[r, w, k], kind="stable")[:int(np.ceil(part * len(w)))]] for k, w in enumerate(rows)]
    def hidden_rate(s, t, r):
        """(upper bound, rate, fraction), the least bound."""
        found = []; everyone = np.ones(s.N, bool)
        for f in s.fractions:
            if s.own: sure = s.sure_at(t, r, s.mask, f)
            else: sure = [w[s.mask[w]] for w in s.sure_at(t, r, everyone, f)]
            n = sum(map(len, sure)); d = s.disagreement(r, sure); found.append((d + s.z2 * (d * (1 - d) / (n + 1)) ** .5, d, f, n))
        if s.root: found = [found[0] if s.root == 1 else min(found), s.root_rate(t, r)]
        if s.strict:
            _, d0, f0, n0 = found[0]; found = [found[0]] + [(b, d, f, n) for b, d, f, n in found[1:] if d < d0 - s.strict * (d * (1 - d) / (n + 1) * max(0, 1 - n / n0)) ** .5]
            found = [min(found[1:])] if len(found) > 1 else found
        if s.log: s.line = " ".join(f"{d:.2f}<{b:.2f}({n})" for b, d, f, n in found)
        return min(found)
    root = 0; strict = 0
    def root_rate(s, t, r):
        """The disagreement of the very surest row: wrong = a + b sqrt(u), u the rank of a hidden row in its class, by least squares."""
        u, wrong = [], []
        for k, w in enumerate(s.sure_at(t, r, s.mask, 1.)): u += [(np.arange(len(w)) + .5) / max(1, len(w))]; wrong += [s.given[r, w] != k]
        x, y = np.sqrt(np.concatenate(u)), np.concatenate(wrong).astype(float); n = len(x); X = np.c_[np.ones(n), x]; inv = np.linalg.inv(X.T @ X + 1e-3 * np.eye(2)); ab = inv @ X.T @ y
        se = np.sqrt(max(((y - X @ ab) ** 2).sum(), .25) / max(1, n - 2) * inv[0, 0]); a = min(max(ab[0], .5 / n), 1.); return a + s.z2 * se, a, .5, n
    def scaled(s, T, factor):
        off = 1 - np.diag(T); more = np.minimum(off * factor, np.maximum(off, 1 - 1 / s.K)); T = T * (more / off)[:, None]; np.fill_diagonal(T, 1 - more); return T
    def ends(s, t, r, e): return e > 0 and (e >= s.start or s.memorised(t, r))
    def decide(s, t, r):
        _, s.rate_h[r], s.part[r], n = s.hidden_rate(t, r)
    def begin(s, e):
        t = s.answers(s.t)
        for r in range(s.R):
            if s.starts[r] < 0:
                if not s.ends(t, r, e): continue
                s.starts[r] = e; s.decide(t, r)
                if s.log: print(f"   run {r} end {e} true {(s.given[r]!=s.truth).mean():.2f} rate {s.rate_h[r]:.3f} part {s.part[r]} {s.line}")
            s.gammas[r] = s.first + (s.last - s.first) * min(1, (e - s.starts[r]) / max(1, s.rise * s.epochs))
            sure = s.sure_at(t, r, np.ones(s.N, bool), s.part[r])
            T = np.eye(s.K) + 1 / s.K + np.stack([np.bincount(s.given[r, w], minlength=s.K) for w in sure]); T /= T.sum(1, keepdims=True)
            s.T[r] = s.scaled(T, s.rate_h[r] / s.disagreement(r, sure))
        s.g = s.gammas[:, None, None]

class Kept(Counted):
    """Hidden rows stay hidden until `release` of the epochs; the rate is estimated anew in every epoch until then."""
    release = .6; est = "count"; own = True; GAMMAS = np.array([.25, .35, .5, .7, 1, 1.4, 2, 2.8, 4, 5.6, 8]); within = 2.; least_gamma = .25; fall = False; latest = .6; shape = .5
    def init(s):
        super().init(); s.old = [None] * s.R; s.estimates = [[] for _ in range(s.R)]
    def ends(s, t, r, e):
        h = np.nonzero(s.mask)[0]; loss = -np.log(np.maximum(t[r, h, s.given[r, h]], 1e-4)); old, s.old[r] = s.old[r], loss
        falling = s.fall and old is not None and (old - loss).mean() > (old - loss).std() / len(h) ** .5
        return e > 0 and (s.memorised(t, r) or (e >= s.start and not falling) or e >= s.latest * s.epochs)
    def likely(s, t, r):
        """The least, most likely and largest rate that the hidden labels allow."""
        sure = s.sure_at(t, r, np.ones(s.N, bool), s.shape)
        T = np.eye(s.K) + 1 / s.K + np.stack([np.bincount(s.given[r, w], minlength=s.K) for w in sure]); T /= T.sum(1, keepdims=True); now = s.disagreement(r, sure)
        h = np.nonzero(s.mask)[0]; y = s.given[r, h]; lt = np.log(np.maximum(t[r, h], 1e-4)); rates = np.linspace(0.002, 1 - 1 / s.K, 50)
        Ty = [s.scaled(T, rate / now)[:, y].T for rate in rates]; L = np.full(len(rates), -np.inf); G = np.zeros(len(rates))
        for g in s.GAMMAS[s.GAMMAS >= s.least_gamma]:
            p = softmax(g * lt); l = np.array([np.log(np.maximum((p * q).sum(1), 1e-9)).sum() for q in Ty]); G[l > L] = g; L = np.maximum(L, l)
        ok = np.nonzero(L >= L.max() - s.within)[0]; return rates[ok[0]], rates[L.argmax()], rates[ok[-1]], G[L.argmax()]
    def decide(s, t, r):
        _, count, part, n = s.hidden_rate(t, r); lo, ml, hi, g = s.likely(t, r)
        s.rate_h[r] = {"count": count, "ml": ml, "hi": hi, "min": min(count, hi), "lo": lo, "minml": min(count, max(ml, (ml + hi) / 2))}[s.est]; s.part[r] = part if s.est == "count" else s.shape
        s.estimates[r].append((count, lo, ml, hi, g))
    def begin(s, e):
        t = s.answers(s.t)
        for r in range(s.R):
            if s.starts[r] < 0:
                if not s.ends(t, r, e): continue
                s.starts[r] = e
            if not s.released(r, e) or s.starts[r] == e: s.decide(t, r)
            if s.log and e in (s.starts[r], round(s.release * s.epochs)):
                c, lo, ml, hi, g = s.estimates[r][-1]; h = np.nonzero(s.mask)[0]; print(f"   run {r} epoch {e} true {(s.given[r]!=s.truth).mean():.2f} count {c:.2f} likely {lo:.2f} {ml:.2f} {hi:.2f} g {g} | {s.line} | net {(t[r,h].argmax(1)==s.truth[h]).mean():.2f}")
            s.gammas[r] = s.first + (s.last - s.first) * min(1, (e - s.starts[r]) / max(1, s.rise * s.epochs))
            sure = s.sure_at(t, r, np.ones(s.N, bool), s.part[r])
            T = np.eye(s.K) + 1 / s.K + np.stack([np.bincount(s.given[r, w], minlength=s.K) for w in sure]); T /= T.sum(1, keepdims=True)
            s.T[r] = s.scaled(T, s.rate_h[r] / s.disagreement(r, sure))
        s.g = s.gammas[:, None, None]; s.hides = np.array([not s.released(r, e) for r in range(s.R)])[:, None, None]
    def released(s, r, e): return s.starts[r] >= 0 and e >= s.release * s.epochs
    def grad(s, z, i, e):
        p = softmax(z); t = s.remember(p, i, e); young = (s.starts < 0)[:, None, None]
        q = s.q[:, i] = np.where(young, s.labels[:, i], s.believe(t, i)); q = np.where(s.hides & s.mask[i][None, :, None], p, q); return (p - q) / len(i)

class Bound(Kept):
    """Two upper bounds on the rate: the disagreement of sure answers to hidden rows, and the most noise that the calibrated answers to them leave room for."""
    steps = 10; few = 0; only = False; moving = False
    def init(s):
        super().init(); s.too_few = s.mask.sum() < s.few * s.K
        if s.too_few: s.mask[:] = False; s.start = s.epochs + 1
    def ends(s, t, r, e): return not s.too_few and super().ends(t, r, e)
    def room(s, t, r):
        sure = s.sure_at(t, r, np.ones(s.N, bool), s.shape)
        T = np.eye(s.K) + 1 / s.K + np.stack([np.bincount(s.given[r, w], minlength=s.K) for w in sure]); T /= T.sum(1, keepdims=True); now = s.disagreement(r, sure)
        h = np.nonzero(s.mask)[0]; y = s.given[r, h]; lt = np.log(np.maximum(t[r, h], 1e-4)); n = np.arange(len(h))
        fits = [np.log(np.maximum(softmax(g * lt)[n, y], 1e-9)).sum() for g in s.GAMMAS]; g = s.GAMMAS[int(np.argmax(fits))]; p = softmax(g * lt)
        rates = np.linspace(0.002, 1 - 1 / s.K, 50); L = []
        for rate in rates:
            Q = s.scaled(T, rate / now); z = p.copy() # z: what the answer is without the noise Q
            for _ in range(s.steps): z *= (p / np.maximum(z @ Q, 1e-9)) @ Q.T; z /= z.sum(1, keepdims=True)
            L.append(np.log(np.maximum((z @ Q)[n, y], 1e-9)).sum())
        L = np.array(L); bad = np.nonzero(L < np.maximum.accumulate(L) - s.within)[0]; return rates[bad[0] - 1] if len(bad) and bad[0] else rates[-1] if not len(bad) else rates[0], g
    def decide(s, t, r):
        _, count, part, n = s.hidden_rate(t, r); hi, g = (1, 1) if s.only else s.room(t, r); s.rate_h[r] = min(count, hi); s.part[r] = part if s.moving else s.shape
        s.estimates[r].append((count, 0, 0, hi, g))

class Gate(Hidden):
    """The third form: the burn-in ends once labels are memorised, or after `burn` of the epochs if the network knows its unsure rows nearly as well as its sure ones. If neither is seen
    before `release` of the epochs, or with few hidden rows per class, all labels are believed to the end."""
    few = 10; known = .5; release = .6; log = False; z3 = 1.; agrees = 0.; least_known = .25; once = True; extra = True
    def init(s):
        super().init(); s.plain = np.zeros(s.R, bool)
        if s.mask.sum() < s.few * s.K: s.mask[:] = False; s.plain[:] = True
    def knows(s, t, r):
        """How much better than chance the answers to the less sure half of the hidden rows are, as a part of that of the surer half."""
        s.surest = .5; right = np.zeros((2, 2))
        for k in range(s.K):
            w = np.nonzero((t[r].argmax(1) == k) & s.mask)[0]; w = w[np.argsort(-t[r, w, k], kind="stable")]; half = -(-len(w) // 2)
            for part, rows in ((0, w[:half]), (1, w[half:])): right[part] += (s.given[r, rows] == k).sum(), len(rows)
        share = (right[:, 0] + .5) / (right[:, 1] + 1); sure, unsure = share - s.chance[r]; var = share * (1 - share) / (right[:, 1] + 1)
        if share[0] < s.agrees or unsure / (1 - s.chance[r]) < s.least_known: return 0
        return (unsure - s.z3 * (var[1] + s.known ** 2 * var[0]) ** .5) / max(sure, 1e-3)
    def begin(s, e):
        t = s.answers(s.t)
        for r in range(s.R):
            if s.plain[r] or s.starts[r] >= 0 or e == 0: continue
            memorised, known = s.memorised(t, r), s.knows(t, r) if (e == s.start if s.once else e >= s.start) else 0
            if memorised or known >= s.known:
                s.starts[r] = e; s.surest = .5; s.wrong_hidden[r] = s.least(t, r) if s.extra and not memorised else s.disagreement(r, s.sure(t, r, s.mask))
                if s.log: print(f"   run {r} epoch {e} true {(s.given[r]!=s.truth).mean():.2f} memorised {memorised} known {known:.2f} D {s.wrong_hidden[r]:.2f}")
            elif e >= s.release * s.epochs: s.plain[r] = True
        late, s.start = s.start, s.epochs + 1; tau, s.tau = s.tau, 9e9 # the rest of the second form, without its own end of the burn-in
        super().begin(e); s.start, s.tau = late, tau
        for r in range(s.R):
            if s.starts[r] >= 0 and s.extra and s.wrong_hidden[r] < (d := s.disagreement(r, sure := s.sure(t, r, np.ones(s.N, bool)))):
                T = np.eye(s.K) + 1 / s.K + np.stack([np.bincount(s.given[r, w], minlength=s.K) for w in sure]); T /= T.sum(1, keepdims=True)
                off = 1 - np.diag(T); less = off * s.wrong_hidden[r] / d; T *= (less / off)[:, None]; np.fill_diagonal(T, 1 - less); s.T[r] = T
    def least(s, t, r):
        """The disagreement of the surest half, or of fewer rows that surely disagree less."""
        found = []
        for part in (.5, .25, .1, .05):
            s.surest = part; sure = s.sure(t, r, s.mask); found.append((s.disagreement(r, sure), sum(map(len, sure))))
        s.surest = .5; d0, n0 = found[0]; return min([d0] + [d for d, n in found[1:] if d < d0 - 2.5 * (d * (1 - d) / (n + 1) * (1 - n / n0)) ** .5])
    def grad(s, z, i, e):
        if s.R == 1 and s.plain[0]: s.q[:, i] = s.labels[:, i]; s.remember(softmax(z), i, e); return (softmax(z) - s.labels[:, i]) / len(i)
        p = softmax(z); t = s.remember(p, i, e); young = (s.starts < 0)[:, None, None]; plain = s.plain[:, None, None]
        q = s.q[:, i] = np.where(young, s.labels[:, i], s.believe(t, i)); q = np.where(young & ~plain & s.mask[i][None, :, None], p, q); return (p - q) / len(i)

def but(cls, **more): return type("Variant", (cls,), more)
judged = dict(agrees=.35, least_known=0.); early = dict(only=True, release=0)
V.update({"told": Told, "told gamma 1": but(Told, last=1.), "third": Gate, "third log": but(Gate, log=True), "third wide": but(Gate, wide=True, log=True),
 "of all rows": but(Counted), "likely": but(Kept, est="min"), "likely falling": but(Kept, est="min", fall=True), "root": but(Counted, own=True, root=1),
 "room": but(Bound), "room once": but(Bound, release=0), "least": but(Bound, **early), "least anew": but(Bound, only=True), "least anew falling": but(Bound, only=True, fall=True),
 "least anew 1": but(Bound, only=True, z2=1.), "least anew part": but(Bound, only=True, moving=True), "lower 2.5": but(Bound, **early, strict=2.5, few=10), "lower 2": but(Bound, **early, strict=2., few=10),
 "lower 2.5 falling": but(Bound, **early, strict=2.5, few=10, fall=True, latest=1.), "memorised": but(Bound, **early, strict=2.5, few=10, burn=9., latest=9.), "memorised 60 %": but(Bound, **early, few=10, burn=1.),
 "known": but(Gate, z3=0., agrees=0., least_known=0., once=False, extra=False), "known .6": but(Gate, known=.6, z3=0., agrees=0., least_known=0., once=False, extra=False), "known 1": but(Gate, agrees=0., least_known=0., once=False, extra=False),
 "known 2": but(Gate, z3=2., agrees=0., least_known=0., once=False, extra=False), "known 1 .4": but(Gate, agrees=.4, least_known=0., once=False, extra=False), "known once": but(Gate, extra=False, **judged), "third judged": but(Gate, **judged)})
for name in list(V): # the same with the network that memorises
    V[name + " wide"] = V.get(name + " wide") or but(V[name], wide=True)
if __name__ == "__main__": bench(sys.argv[3].split(","), sys.argv[2].split(","), [int(s) for s in sys.argv[4:]] or [1, 2])
