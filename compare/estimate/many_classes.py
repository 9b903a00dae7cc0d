"""Many classes, for which there are no real sets: simulated probabilities of a classifier that learnt from noisy labels.

    python many_classes.py TARES          (needs numpy and cleanlab; prints one line per case)

Logits are normal with the true class raised; a classifier that learns from noisy labels predicts these probabilities times T.
"""
import json, subprocess, sys, tempfile, warnings
import numpy as np
warnings.filterwarnings("ignore")
from cleanlab.filter import find_label_issues

CASES = [(20_000, 50, 3.0, "symmetric", .3), (20_000, 100, 3.2, "symmetric", .2), (20_000, 100, 3.2, "pair", .3), (20_000, 100, 4.0, "symmetric", .1),
         (30_000, 300, 4.0, "symmetric", .2), (30_000, 300, 4.0, "pair", .2), (40_000, 1000, 4.5, "symmetric", .2), (40_000, 1000, 4.5, "pair", .3)]

def case(rows, classes, strength, noise, rate):
    draw = np.random.default_rng(0)
    truth = draw.integers(0, classes, rows)
    logits = draw.standard_normal((rows, classes)).astype("f4"); logits[np.arange(rows), truth] += strength
    belief = np.exp(logits * strength); belief /= belief.sum(1, keepdims=True)
    flip = draw.random(rows) < rate
    if noise == "pair":
        return np.where(flip, (truth + 1) % classes, truth), truth, (1 - rate) * belief + rate * np.roll(belief, 1, 1)
    other = rate / (classes - 1)
    return np.where(flip, (truth + draw.integers(1, classes, rows)) % classes, truth), truth, (1 - rate - other) * belief + other

print("rows,classes,noise,rate,right,ours_rate,ours_f1,cleanlab_f1,argmax_f1")
with tempfile.TemporaryDirectory() as scratch:
    for rows, classes, strength, noise, rate in CASES:
        given, truth, probs = case(rows, classes, strength, noise, rate)
        for name, array in (("y", given.astype("i4")), ("t", truth.astype("i4")), ("p", probs.astype("f4"))): np.save(f"{scratch}/{name}.npy", array)
        said = subprocess.run([sys.argv[1], "audit", "--labels", f"{scratch}/y.npy", "--probs", f"{scratch}/p.npy", "--truth", f"{scratch}/t.npy",
                               "--out", f"{scratch}/out", "--json", "--exit-zero", "--gallery", "1"], check=True, capture_output=True).stdout
        ours = json.loads(said)["summary"]
        wrong = given != truth
        f1 = lambda flags: 2 * (flags & wrong).sum() / (flags.sum() + wrong.sum())
        print(f"{rows},{classes},{noise},{rate},{(probs.argmax(1) == truth).mean():.3f},{ours['noise_rate']:.4f},{ours['against_truth']['f1']:.4f},"
              f"{f1(find_label_issues(given, probs, n_jobs=1)):.4f},{f1(probs.argmax(1) != given):.4f}", flush=True)
