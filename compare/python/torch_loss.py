"""How long the curriculum loss takes beside PyTorch's own cross-entropy: forward and backward, taking turns.

    python compare/python/torch_loss.py [--rounds N] [--csv FILE] [--threads N]

Prints one line per case: our time over that of ``F.cross_entropy`` (the median of the rounds' ratios), and the middle half of the
ratios. Below 1 we are faster; 1.3 is the aim. Each round times both losses once, one right after the other, the order alternating, so
that a busy machine is slow for both.

How much work there is depends on the logits. Three kinds of a training run:

start    the network knows nothing yet: nearly all rows are misclassified, everything is kept (burn-in); the most work
noisy    the network is right about 80 % of the rows, NPCL with the rate 0.2 selects
learnt   it is right about nearly all
"""

from __future__ import annotations

import argparse
import csv
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from tares.torch import CurriculumLoss
from torch import Tensor

SHAPES = {"128x10": (128, 10), "1024x1000": (1024, 1000)}
RIGHT = {"start": 0.0, "noisy": 0.8, "learnt": 0.99}
Loss = Callable[[Tensor, Tensor], Tensor]


def batch(rows: int, classes: int, right: float) -> tuple[Tensor, Tensor]:
    """Logits of a network that predicts this share of the targets."""
    draw = torch.Generator().manual_seed(0)
    logits = torch.randn(rows, classes, generator=draw)
    targets = torch.randint(classes, (rows,), generator=draw)
    known = torch.rand(rows, generator=draw) < right
    logits[known, targets[known]] += 6 + torch.rand(int(known.sum()), generator=draw)
    return logits, targets


def step(loss: Loss, logits: Tensor, targets: Tensor) -> float:
    """Seconds of one forward and backward pass."""
    logits.grad = None
    begin = time.perf_counter()
    loss(logits, targets).backward()
    return time.perf_counter() - begin


def ratios(ours: Loss, peer: Loss, logits: Tensor, targets: Tensor, rounds: int) -> list[float]:
    leaf = logits.clone().requires_grad_()
    for _ in range(10):
        step(ours, leaf, targets)
        step(peer, leaf, targets)
    found = []
    for turn in range(rounds):
        if turn % 2:
            mine, other = step(ours, leaf, targets), step(peer, leaf, targets)
        else:
            other, mine = step(peer, leaf, targets), step(ours, leaf, targets)
        found.append(mine / other)
    return sorted(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2000, help="of the small batch; the large one gets a tenth")
    parser.add_argument("--threads", type=int, help="of PyTorch; ours come from RAYON_NUM_THREADS")
    parser.add_argument("--csv", type=Path, help="also write the figures there")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    lines = []
    for compiled in (False, True):
        for shape, (rows, classes) in SHAPES.items():
            for kind, right in RIGHT.items():
                logits, targets = batch(rows, classes, right)
                loss = CurriculumLoss("npcl", rate=0.2)
                loss.set_epoch(0 if kind == "start" else loss.burn_in)
                ours, peer = (loss, F.cross_entropy)
                if compiled:
                    torch._dynamo.reset()
                    ours, peer = (torch.compile(one, fullgraph=True) for one in (ours, peer))
                found = ratios(ours, peer, logits, targets, options.rounds // (1 if rows < 1000 else 10))
                low, middle, high = statistics.quantiles(found, n=4)
                form = "compiled" if compiled else "eager"
                lines.append((form, shape, kind, round(middle, 2), round(low, 2), round(high, 2)))
                print(f"{form:9} {shape:10} {kind:7} {middle:5.2f}   ({low:.2f} to {high:.2f})", flush=True)
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["form", "shape", "kind", "ratio", "quarter", "three_quarters", "torch", "threads", "machine"])
            machine = (torch.__version__, torch.get_num_threads(), platform.node())
            writer.writerows((*line, *machine) for line in lines)


if __name__ == "__main__":
    main()
