"""`tares.RobustClassifier` beside the same network trained in PyTorch, taking turns.

    python compare/python/classifier.py [--rounds N] [--csv FILE] [--rows 20000] [--epochs 5]

Both train a 784-256-256-10 perceptron with ReLU by Adam (1e-3) in shuffled batches of 128 on the same made-up rows, a fifth of whose labels are wrong:
`standard` with cross-entropy, `npcl` with the curriculum loss (`tares.torch.CurriculumLoss` on PyTorch's side). PyTorch's loop gathers batches
from one tensor, which is faster than a DataLoader. Ours is timed as the user calls it: `fit` with everything
that it does besides (reading columns, scaling, the list of suspects).

Prints our time over PyTorch's (the median of the rounds' ratios), wall time and processor time. Below 1 we are faster; 0.8 is the aim.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import tares
import torch
from figures import machine, write
from tares.torch import CurriculumLoss
from torch import nn

WIDTH, CLASSES, BATCH, RATE = 784, 10, 128, 0.2


def made_up(rows: int) -> tuple[Any, Any]:
    draw = np.random.default_rng(0)
    truth = draw.integers(0, CLASSES, rows)
    X = (draw.normal(size=(CLASSES, WIDTH))[truth] * 0.3 + draw.normal(size=(rows, WIDTH))).astype(np.float32)
    return X, tares.corrupt(truth, f"symmetric:{RATE}", seed=1)


def ours(method: str, X: Any, y: Any, epochs: int) -> None:
    tares.RobustClassifier(method, "mlp:256-256", RATE, epochs=epochs, batch_size=BATCH, random_state=1, progress=False).fit(X, y)


def theirs(method: str, X: Any, y: Any, epochs: int) -> None:
    torch.manual_seed(1)
    inputs, targets = torch.from_numpy((X - X.mean(0)) / X.std(0)), torch.from_numpy(y.astype(np.int64))
    network = nn.Sequential(nn.Linear(WIDTH, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, CLASSES))
    criterion: Any = CurriculumLoss("npcl", rate=RATE) if method == "npcl" else nn.CrossEntropyLoss()
    optimiser = torch.optim.Adam(network.parameters(), 1e-3)
    for epoch in range(epochs):
        if method == "npcl":
            criterion.set_epoch(epoch)
        order = torch.randperm(len(inputs))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            optimiser.zero_grad(set_to_none=True)
            criterion(network(inputs[rows]), targets[rows]).backward()
            optimiser.step()


def timed(call: Any) -> tuple[float, float]:
    cpu, start = time.process_time(), time.perf_counter()
    call()
    return time.perf_counter() - start, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    X, y = made_up(options.rows)
    lines = []
    for method in ("standard", "npcl"):
        sides = {
            "tares": lambda: ours(method, X, y, options.epochs),
            "PyTorch": lambda: theirs(method, X, y, options.epochs),
        }
        for side in sides.values():
            side()
        rounds = [{name: timed(side) for name, side in list(sides.items())[:: 1 if turn % 2 else -1]} for turn in range(options.rounds)]
        wall = statistics.median(found["tares"][0] / found["PyTorch"][0] for found in rounds)
        cpu = statistics.median(found["tares"][1] / found["PyTorch"][1] for found in rounds)
        print(f"{method:<9} {wall:.2f} x PyTorch's time, {cpu:.2f} x its processor time")
        lines.append(
            {
                "method": method,
                "wall_ratio": f"{wall:.3f}",
                "cpu_ratio": f"{cpu:.3f}",
                "rows": options.rows,
                "epochs": options.epochs,
                "rounds": options.rounds,
                "torch": torch.__version__,
                "threads": torch.get_num_threads(),
                **machine(),
            }
        )
    if options.csv:
        write(options.csv, lines)


if __name__ == "__main__":
    main()
