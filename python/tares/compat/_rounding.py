"""Rounding that keeps sums, so that counts stay whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tares.compat._checked import SLACK, Ints


def round_rows(matrix: npt.NDArray[Any]) -> Ints:
    """Rounds every entry so that each row keeps its rounded sum: the entries that rounding moved furthest are moved back."""
    return np.stack([_round_row(row) for row in np.asarray(matrix, dtype=np.float64)])


def _round_row(row: npt.NDArray[np.float64]) -> Ints:
    rounded = row.round()
    missing = np.round(row.sum().round() - rounded.sum().round())
    while abs(missing) > SLACK:
        step = -1 if missing < 0 else 1
        # Ascending by what rounding removed; the last entry lost most.
        order = np.argsort(row - rounded)[::-step]
        rounded[order[: min(int(abs(missing)), len(row))]] += step
        missing = np.round(row.sum().round() - rounded.sum().round())
    return rounded.astype(np.int64)


def label_counts(labels: Ints, classes: int) -> Ints:
    """Rows per label."""
    return np.bincount(labels, minlength=classes).astype(np.int64)
