"""Judges the program on sets of make_sets.py: python judge.py TARES OUT.csv FILE.npz ...  (needs numpy, cleanlab, scikit-learn)

One row per set: noise rates (true, ours, cleanlab's), F1 of the default method, of cleanlab's default, of argmax != label,
of self-confidence with the true count, and of the best threshold on self-confidence.
"""
import csv, json, os, subprocess, sys, tempfile, warnings
import numpy as np
warnings.filterwarnings("ignore")
from cleanlab.filter import find_label_issues

tares, out, files = sys.argv[1], sys.argv[2], sys.argv[3:]

def f1(flags, wrong):
    return 2 * (flags & wrong).sum() / max(1, flags.sum() + wrong.sum())

columns = "set,rate,ours_rate,low,high,cleanlab_rate,argmax_rate,ours_f1,cleanlab_f1,argmax_f1,true_count_f1,best_threshold_f1".split(",")
rows = []
with tempfile.TemporaryDirectory() as scratch:
    for file in files:
        data = np.load(file)
        y, t, p = data["given"].astype(np.int64), data["truth"].astype(np.int64), data["probs"]
        for name, array in (("y", y), ("t", t), ("p", p)):
            np.save(f"{scratch}/{name}.npy", array)
        said = subprocess.run([tares, "audit", "--labels", f"{scratch}/y.npy", "--probs", f"{scratch}/p.npy", "--truth",
                               f"{scratch}/t.npy", "--out", f"{scratch}/out", "--json", "--exit-zero", "--normalise", "--gallery", "1"],
                              check=True, capture_output=True).stdout
        ours = json.loads(said)["summary"]
        wrong = y != t
        peer = find_label_issues(y, p, n_jobs=1)
        argmax = p.argmax(1) != y
        own = p[np.arange(len(y)), y]
        order = np.argsort(own, kind="stable"); hits = np.cumsum(wrong[order]); n = np.arange(1, len(y) + 1)
        curve = 2 * hits / (n + wrong.sum())
        truth = ours["against_truth"]
        rows.append([os.path.basename(file)[:-4], wrong.mean(), ours["noise_rate"], *ours["noise_rate_interval"], peer.mean(), argmax.mean(),
                     truth["f1"] or 0, f1(peer, wrong), f1(argmax, wrong), curve[wrong.sum() - 1] if wrong.any() else 0, curve.max()])
with open(out, "w", newline="") as file:
    writer = csv.writer(file); writer.writerow(columns)
    writer.writerows([row[0], *(f"{value:.4f}" for value in row[1:])] for row in rows)
noisy = [row for row in rows if row[1] > 0]
groups = {"all with noise": noisy}
for row in noisy:
    source, noise, _ = row[0].split("--")
    groups.setdefault("source " + source, []).append(row)
    groups.setdefault("noise " + (noise if "human" in noise else noise.split("-")[0]), []).append(row)
groups["clean"] = [row for row in rows if row[1] == 0]
print(f"{'group':28s} sets  rate  ours  |err| cl.err  F1: ours cleanl argmax count  best  short inband")
for name, members in sorted(groups.items()):
    if not members: continue
    a = np.array([row[1:] for row in members])
    short = (a[:, 6] < np.maximum(a[:, 7], a[:, 8]) - .01).mean()
    inside = ((a[:, 2] <= a[:, 0]) & (a[:, 0] <= a[:, 3])).mean()
    print(f"{name:28s} {len(a):4d} {a[:,0].mean():.3f} {a[:,1].mean():.3f} {abs(a[:,1]-a[:,0]).mean():.3f} {abs(a[:,4]-a[:,0]).mean():.3f}"
          f"     {a[:,6].mean():.3f} {a[:,7].mean():.3f}  {a[:,8].mean():.3f}  {a[:,9].mean():.3f} {a[:,10].mean():.3f} {short:.2f}  {inside:.2f}")
