"""What several tests need: made-up labels with known mistakes."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest


@dataclass(frozen=True)
class Noisy:
    """Labels, a part of them wrong, and the probabilities of a good classifier."""

    labels: npt.NDArray[np.int64]
    truth: npt.NDArray[np.int64]
    probs: npt.NDArray[np.float64]


def make_noisy(rows: int, classes: int, rate: float = 0.2, seed: int = 0) -> Noisy:
    """A classifier that is sure of most rows and wrong about some; ``rate`` of the labels are another class."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, classes, rows)
    logits = draw.normal(size=(rows, classes))
    logits[np.arange(rows), truth] += draw.uniform(2.0, 8.0, rows)
    probs = np.exp(logits - logits.max(1, keepdims=True))
    probs /= probs.sum(1, keepdims=True)
    labels = truth.copy()
    wrong = draw.random(rows) < rate
    labels[wrong] = (labels[wrong] + draw.integers(1, classes, wrong.sum())) % classes
    return Noisy(labels, truth, probs)


def program() -> str:
    """The program `tares`, which `python/test` builds: some tests hold the package to its bits."""
    built = Path(__file__).parents[2] / "target" / "release" / "tares"
    found = os.environ.get("TARES_PROGRAM") or (str(built) if built.is_file() else shutil.which("tares"))
    assert found, "build the program first: cargo build --release --workspace --bin tares"
    return found


@pytest.fixture(scope="session")
def noisy() -> Noisy:
    return make_noisy(2000, 5)


@pytest.fixture(autouse=True)
def _names_in_docs(doctest_namespace: dict[str, Any]) -> None:
    """Examples in docstrings may use `np` and `tares`."""
    import tares

    doctest_namespace.update(np=np, tares=tares)
