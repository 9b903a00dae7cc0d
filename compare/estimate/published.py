"""Sets from published probabilities: python published.py DATA OUT_DIR [TARES]

Cross-validated probabilities of cleanlab's label-errors project for CIFAR-10's test images (a ResNet, 93 % right, trained on the
original labels) with the labels people gave them one by one (CIFAR-10H): of one person each, and the wrong one if any of three
persons was wrong. With TARES, the program, it also audits the original MNIST and CIFAR-10 test labels and counts how many of
the errors that people confirmed (fewer than 3 of 5 votes for the given label) are among the suspects.
"""
import csv, gzip, io, json, subprocess, sys, tempfile
import numpy as np

data, out = sys.argv[1:3]
array = lambda path: np.load(io.BytesIO(gzip.open(f"{data}/{path}").read()))
truth = np.frombuffer(gzip.open(f"{data}/cifar-10/test_batch.bin.gz").read(), np.uint8).reshape(-1, 3073)[:, 0].astype(int)
probs, counts = array("label-errors/cifar10_test_set_pyx.npy.gz"), array("cifar-10h/cifar10h-counts.npy.gz")
share = (counts / counts.sum(1, keepdims=True)).cumsum(1)
draw = np.random.default_rng(0)
person = lambda: (share > draw.random((len(share), 1))).argmax(1)
one, three = person(), np.stack([person() for _ in range(3)], 1)
wrong = three != truth[:, None]
worst = np.where(wrong.any(1), three[np.arange(len(truth)), wrong.argmax(1)], truth)
for name, given in (("one", one), ("worst3", worst)):
    np.savez(f"{out}/cifar10h--human-{name}--resnet.npz", given=given.astype("u4"), truth=truth.astype("u4"), probs=probs)
if len(sys.argv) > 3:
    digits = np.frombuffer(gzip.open(f"{data}/mnist/t10k-labels-idx1-ubyte.gz").read(), np.uint8, offset=8).astype(int)
    for name, labels in (("mnist", digits), ("cifar10", truth)):
        votes = json.loads(gzip.open(f"{data}/label-errors/{name}_mturk.json.gz").read())
        errors = {v["id"] for v in votes if v["mturk"]["given"] < 3}
        with tempfile.TemporaryDirectory() as scratch:
            np.save(f"{scratch}/y.npy", labels); np.save(f"{scratch}/p.npy", array(f"label-errors/{name}_test_set_pyx.npy.gz"))
            subprocess.run([sys.argv[3], "audit", "--labels", f"{scratch}/y.npy", "--probs", f"{scratch}/p.npy", "--out", f"{scratch}/out",
                            "--exit-zero", "--quiet", "--normalise", "--gallery", "1"], check=True, stdout=subprocess.DEVNULL)
            found = [int(row["index"]) for row in csv.DictReader(open(f"{scratch}/out/suspects.csv"))]
            rate = json.load(open(f"{scratch}/out/summary.json"))["noise_rate"]
        hits = [i in errors for i in found]
        print(f"{name}: {len(found)} suspects of 10000, rate {rate:.4f}; {sum(hits)} of {len(errors)} confirmed errors among them, "
              f"{sum(hits[:len(errors)])} in the first {len(errors)}")
