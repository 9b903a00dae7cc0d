"""tares beside its peers on the crowds of sets.py: python measure.py DATA CACHE PART OUT.csv. TARES names the program."""
import csv, os, subprocess, sys, tempfile, time
import numpy as np
from peers import PEERS
from sets import crowds

HEADER = "set part rows people answers who accuracy rank seconds".split()

def tares(found, *options, probs=True):
    """The program, from files to files: labels, quality per annotator."""
    with tempfile.TemporaryDirectory() as work:
        answers = np.stack([found["row"], found["annotator"], found["label"]], 1)
        np.savetxt(f"{work}/answers.csv", answers, fmt="%d", delimiter=",", header="row,annotator,label", comments="")
        np.save(f"{work}/probs.npy", found["probs"])
        classes = ",".join(map(str, range(found["probs"].shape[1])))
        command = [os.environ["TARES"], "consensus", f"{work}/answers.csv", "--classes", classes, "--out", f"{work}/out", "--quiet", *options]
        done = subprocess.run(command + (["--probs", f"{work}/probs.npy"] if probs else []), capture_output=True, text=True)
        if done.returncode: raise SystemExit(done.stderr)
        with open(f"{work}/out/consensus.csv") as file: labels = np.array([int(line["label"]) for line in csv.DictReader(file)])
        quality = np.full(int(found["annotator"].max()) + 1, np.nan)
        with open(f"{work}/out/annotators.csv") as file:
            for line in csv.DictReader(file): quality[int(line["annotator"])] = float(line["quality"])
    return labels, quality

WHO = {
    "tares": tares,
    "tares, answers alone": lambda found: tares(found, probs=False),
    "tares, Dawid-Skene": lambda found: tares(found, "--method", "dawid-skene", probs=False),
    "tares, one-coin": lambda found: tares(found, "--method", "one-coin", probs=False),
    **PEERS,
}

def rank(found, quality):
    """Spearman's correlation of estimated and true quality, of annotators with at least ten answers."""
    from scipy.stats import spearmanr
    if quality is None: return np.nan
    people = found["annotator"]; count = np.bincount(people, minlength=len(quality)); enough = count >= 10
    right = np.bincount(people, (found["label"] == found["truth"][found["row"]]).astype(float), len(quality)) / np.maximum(1, count)
    return spearmanr(right[enough], np.asarray(quality)[enough])[0]

if __name__ == "__main__":
    data, cache, part, out = sys.argv[1:5]
    who = os.environ.get("WHO", ";".join(WHO)).split(";"); lines = []
    with open(out, "w") as file:
        writer = csv.DictWriter(file, HEADER); writer.writeheader(); print(*HEADER, sep=",")
        for found in crowds(part, data, cache, os.environ.get("ONLY", "")):
            for name in who:
                start = time.perf_counter(); labels, quality = WHO[name](found); seconds = time.perf_counter() - start
                line = dict(set=found["name"], part=part, rows=len(found["truth"]), people=len(np.unique(found["annotator"])), answers=len(found["row"]), who=name,
                            accuracy=round(float(np.mean(labels == found["truth"])), 4), rank=round(float(rank(found, quality)), 3), seconds=round(seconds, 2))
                writer.writerow(line); file.flush(); lines.append(line); print(*line.values(), sep=",", flush=True)
    print("\nmean over the sets: accuracy, most below the best of all, rank correlation")
    best = {s: max(l["accuracy"] for l in lines if l["set"] == s) for s in {l["set"] for l in lines}}
    for name in who:
        own = [l for l in lines if l["who"] == name]
        print(f"{name:26} {np.mean([l['accuracy'] for l in own]):.4f}  {max(best[l['set']] - l['accuracy'] for l in own):.4f}  {np.nanmean([l['rank'] for l in own]):.3f}")
