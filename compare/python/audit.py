"""`tares.audit` beside cleanlab's `find_label_issues`, on the same arrays in memory, taking turns.

    python compare/python/audit.py [--rounds N] [--csv FILE] [--sizes 1000000x10,200000x1000]

Prints, for every size, cleanlab's time over ours (the median of the rounds' ratios): wall time, and processor time of all threads and processes,
which other work on the machine does not change much. Above 1 we are faster. Then the memory that either call takes beyond its inputs: the
peak resident size of a separate process with its children, minus its size before the call.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from figures import machine, write

AIMS = {"1000000x10": 20, "200000x1000": 10}


def made_up(rows: int, classes: int) -> tuple[Any, Any]:
    """Labels, a fifth of them wrong, and the probabilities of a good classifier (32 bits)."""
    draw = np.random.default_rng(0)
    truth = draw.integers(0, classes, rows)
    probs = draw.standard_normal((rows, classes), dtype=np.float32)
    probs[np.arange(rows), truth] += draw.uniform(3, 9, rows).astype(np.float32)
    np.exp(probs, out=probs)
    probs /= probs.sum(axis=1, keepdims=True)
    labels = truth.copy()
    wrong = draw.random(rows) < 0.2
    labels[wrong] = (labels[wrong] + draw.integers(1, classes, wrong.sum())) % classes
    return labels, probs


def calls() -> dict[str, Callable[[Any, Any], Any]]:
    import tares
    import tares.compat
    from cleanlab.filter import find_label_issues

    return {
        "cleanlab": lambda labels, probs: find_label_issues(labels, probs),
        "tares.audit": lambda labels, probs: tares.audit(labels, probs).is_suspect,
        "tares.compat": lambda labels, probs: tares.compat.find_label_issues(labels, probs),
    }


def processor() -> float:
    """Seconds that this process and its finished children have used."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def timed(call: Callable[[Any, Any], Any], labels: Any, probs: Any) -> tuple[float, float]:
    before, start = processor(), time.perf_counter()
    call(labels, probs)
    return time.perf_counter() - start, processor() - before


def resident(tree: bool) -> int:
    """Resident bytes of this process, and the private ones (not shared with it) of its children."""
    def kilobytes(pid: int, keys: tuple[str, ...]) -> int:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            return 0
        return sum(int(line.split()[1]) for line in lines if line.startswith(keys))

    own = kilobytes(os.getpid(), ("Rss:",))
    if tree:
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
        own += sum(kilobytes(int(child), ("Private_Clean:", "Private_Dirty:")) for child in children)
    return own * 1024


def memory(name: str, size: str) -> int:
    """In this process: the peak resident size during the call, minus that before it."""
    labels, probs = made_up(*map(int, size.split("x")))
    call = calls()[name]
    call(labels[:1000], probs[:1000])
    before, peak, stop = resident(True), [0], threading.Event()

    def watch() -> None:
        while not stop.is_set():
            peak[0] = max(peak[0], resident(True))
            stop.wait(0.002)

    thread = threading.Thread(target=watch)
    thread.start()
    call(labels, probs)
    stop.set()
    thread.join()
    return max(0, peak[0] - before)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--sizes", default=",".join(AIMS))
    parser.add_argument("--memory", nargs=2, metavar=("NAME", "SIZE"))
    options = parser.parse_args()
    if options.memory:
        print(memory(*options.memory))
        return
    lines = []
    for size in options.sizes.split(","):
        labels, probs = made_up(*map(int, size.split("x")))
        kinds = calls()
        for call in kinds.values():
            call(labels[:5000], probs[:5000])
        rounds = []
        for turn in range(options.rounds):
            order = list(kinds.items())[:: 1 if turn % 2 else -1]
            rounds.append({name: timed(call, labels, probs) for name, call in order})
        used = {name: [int(subprocess.check_output([sys.executable, __file__, "--memory", name, size]).split()[-1]) for _ in range(3)] for name in kinds}
        extra = {name: statistics.median(values) for name, values in used.items()}
        for name in ("tares.audit", "tares.compat"):
            wall = statistics.median(found["cleanlab"][0] / found[name][0] for found in rounds)
            cpu = statistics.median(found["cleanlab"][1] / max(found[name][1], 1e-9) for found in rounds)
            share = extra[name] / max(extra["cleanlab"], 1)
            print(f"{size:>12} {name:<13} cleanlab takes {wall:.1f} x the time, {cpu:.1f} x the processor time; our extra memory {share:.3f} of its {extra['cleanlab'] / 1e6:.0f} MB")
            lines.append(
                {
                    "size": size,
                    "call": name,
                    "wall_ratio": f"{wall:.2f}",
                    "cpu_ratio": f"{cpu:.2f}",
                    "memory_share": f"{share:.4f}",
                    "ours_mb": f"{extra[name] / 1e6:.1f}",
                    "cleanlab_mb": f"{extra['cleanlab'] / 1e6:.1f}",
                    "rounds": options.rounds,
                    **machine(),
                }
            )
    if options.csv:
        write(options.csv, lines)


if __name__ == "__main__":
    main()
