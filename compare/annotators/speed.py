"""Time of one call, tares beside cleanlab, alternately in one process: python speed.py. Needs the Python package tares."""
import time
import numpy as np
import tares
from cleanlab.multiannotator import get_label_quality_multiannotator
from tares.compat.multiannotator import get_label_quality_multiannotator as ours

def crowd(rows, people, classes, each, seed=0):
    draw = np.random.default_rng(seed); truth = draw.integers(classes, size=rows); skill = draw.uniform(0.4, 0.95, people)
    who = np.argsort(draw.random((rows, people)), axis=1)[:, :each]
    said = np.where(draw.random((rows, each)) < skill[who], truth[:, None], draw.integers(classes, size=(rows, each)))
    wide = np.full((rows, people), np.nan); np.put_along_axis(wide, who, said.astype(float), axis=1)
    probs = draw.dirichlet(np.full(classes, 0.3), rows) * 0.6; guess = np.where(draw.random(rows) < 0.85, truth, draw.integers(classes, size=rows))
    probs[np.arange(rows), guess] += 0.4
    return wide, dict(row=np.repeat(np.arange(rows), each), annotator=who.ravel(), label=said.ravel()), probs / probs.sum(1, keepdims=True), truth

def clock(call):
    """Seconds, and seconds of processor time of all threads: those mean something on a busy machine too."""
    start, used = time.perf_counter(), time.process_time(); result = call()
    return (time.perf_counter() - start, time.process_time() - used), result

print("answers rows people classes tares compat cleanlab cleanlab/tares cleanlab/compat accuracy-tares accuracy-cleanlab processor-tares processor-compat processor-cleanlab")
for rows, people, classes, each in [(20_000, 50, 10, 3), (333_334, 50, 10, 3)]:
    wide, long, probs, truth = crowd(rows, people, classes, each)
    times = {"tares": [], "compat": [], "cleanlab": []}
    for repeat in range(3 if rows < 100_000 else 1):
        seconds, theirs = clock(lambda: get_label_quality_multiannotator(wide, probs, verbose=False)); times["cleanlab"].append(seconds)
        for again in range(3):
            seconds, found = clock(lambda: tares.consensus(long, probs)); times["tares"].append(seconds)
            seconds, named = clock(lambda: ours(wide, probs, verbose=False)); times["compat"].append(seconds)
    (t, t2), (c, c2), (p, p2) = (np.median(times[who], axis=0) for who in ("tares", "compat", "cleanlab"))
    said = theirs["label_quality"]["consensus_label"].to_numpy()
    print(rows * each, rows, people, classes, f"{t:.2f} {c:.2f} {p:.1f} {p / t:.0f} {p / c:.0f} {np.mean(found.labels == truth):.4f} {np.mean(said == truth):.4f} {t2:.2f} {c2:.2f} {p2:.1f}", flush=True)
