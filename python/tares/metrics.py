"""Metrics for predictions, suspects and probabilities, with the same bits as the program's.

>>> tares.metrics.accuracy([0, 1, 1], [0, 1, 0])
0.6666666666666666
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tares import _tares
from tares._columns import match_columns
from tares._inputs import MOST_CLASSES, as_array, as_codes, as_values, read_probs
from tares._same_rows import refuse_other_rows

__all__ = [
    "Retrieval",
    "accuracy",
    "auroc",
    "average_precision",
    "balanced_accuracy",
    "calibration_error",
    "confusion",
    "mean_std",
    "noise_rate",
    "retrieval",
]


class Retrieval(NamedTuple):
    """How well a set of rows matches the wanted ones. ``None`` where a metric is not defined."""

    precision: float | None
    recall: float | None
    f1: float | None


def accuracy(truth: Any, predicted: Any) -> float:
    """The share of predictions that are right."""
    a, b, _ = _pair(truth, predicted)
    return _tares.accuracy(a, b)


def balanced_accuracy(truth: Any, predicted: Any) -> float:
    """The mean, over the classes that occur, of the share of their rows that are predicted right.

    >>> tares.metrics.balanced_accuracy(["a", "a", "a", "b"], ["a", "a", "a", "a"])
    0.5
    """
    a, b, classes = _pair(truth, predicted)
    return _tares.balanced_accuracy(a, b, _side(classes))


def confusion(truth: Any, predicted: Any) -> npt.NDArray[np.int64]:
    """Counts ``[true, predicted]`` over the classes of both, sorted.

    >>> tares.metrics.confusion([0, 0, 1], [0, 1, 1])
    array([[1, 1],
           [0, 1]])
    """
    a, b, classes = _pair(truth, predicted)
    return _tares.confusion(a, b, _side(classes))


def noise_rate(truth: Any, given: Any) -> float:
    """The share of given labels that are wrong.

    >>> tares.metrics.noise_rate(["a", "b"], ["a", "a"])
    0.5
    """
    a, b, _ = _pair(truth, given)
    return 1.0 - _tares.accuracy(a, b)


def retrieval(chosen: Any, wanted: Any) -> Retrieval:
    """Precision, recall and F1 of the chosen rows: two masks, or rows and a mask.

    >>> tares.metrics.retrieval([0, 2, 3], np.array([True, True, False, True]))
    Retrieval(precision=0.6666666666666666, recall=0.6666666666666666, f1=0.6666666666666666)
    """
    marks = _mask(wanted, "wanted")
    rows = as_array(chosen, "chosen")
    if rows.dtype == np.bool_:
        if rows.shape != marks.shape:
            raise ValueError(f"chosen must have an entry for each of the {len(marks)} rows, got shape {rows.shape}")
        rows = np.flatnonzero(rows)
    codes = as_codes(as_values(rows, "chosen"), "chosen") if len(rows) else np.empty(0, dtype=np.uint32)
    if len(np.unique(codes)) != len(codes):
        raise ValueError("chosen must name every row at most once")
    return Retrieval(*_tares.retrieval(codes, marks))


def auroc(scores: Any, wanted: Any) -> float:
    """The chance that a wanted row has a higher score than another one.

    >>> tares.metrics.auroc([0.1, 0.9, 0.8], [False, True, False])
    1.0
    """
    return _tares.auroc(_numbers(scores), _mask(wanted, "wanted"))


def average_precision(scores: Any, wanted: Any) -> float:
    """The mean of the precisions at every wanted row, with the rows in descending order of score.

    >>> tares.metrics.average_precision([0.1, 0.9, 0.8], [False, True, False])
    1.0
    """
    return _tares.average_precision(_numbers(scores), _mask(wanted, "wanted"))


def calibration_error(probs: Any, truth: Any, *, bins: int = 15) -> float:
    """The mean gap between confidence and accuracy over equally wide bins of confidence.

    >>> round(tares.metrics.calibration_error([[0.9, 0.1], [0.9, 0.1]], [0, 1], bins=10), 12)
    0.4
    """
    refuse_other_rows(truth, "truth", probs, "probs")
    values, columns = read_probs(probs)
    labels = match_columns(truth, values.shape[1], columns, None, "truth")
    return _tares.calibration_error(np.ascontiguousarray(values, dtype=np.float64), labels.codes, bins)


def mean_std(values: Any) -> tuple[float, float]:
    """The mean of some runs, and their standard deviation (divided by n - 1).

    >>> tares.metrics.mean_std([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    return _tares.mean_std(_numbers(values))


def _pair(first: Any, second: Any) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], int]:
    """Two lists of labels as numbers of the same classes, and how many classes there are."""
    refuse_other_rows(first, "the first labels", second, "the second labels")
    a, b = as_values(first), as_values(second)
    if (a.dtype.kind == "U") != (b.dtype.kind == "U"):
        raise TypeError("both lists of labels must be integers, or both names")
    if a.dtype.kind != "U":
        one, two = as_codes(a, "labels"), as_codes(b, "labels")
        return one, two, max(int(codes.max()) + 1 if len(codes) else 0 for codes in (one, two))
    classes, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    one, two = codes[: len(a)].astype(np.uint32), codes[len(a) :].astype(np.uint32)
    return one, two, len(classes)


def _side(classes: int) -> int:
    """The number of classes, if a matrix of classes x classes is not too large."""
    if classes > MOST_CLASSES:
        raise ValueError(
            f"labels must count classes from 0 and be less than {MOST_CLASSES}, got {classes - 1}: "
            "numpy.unique(labels, return_inverse=True) numbers those that occur"
        )
    return classes


def _mask(values: Any, what: str) -> npt.NDArray[np.bool_]:
    mask = as_array(values, what)
    if mask.ndim != 1 or mask.dtype != np.bool_:
        raise TypeError(f"{what} must be a list of True and False, got an array of {mask.dtype}")
    return np.ascontiguousarray(mask)


def _numbers(values: Any) -> npt.NDArray[np.float64]:
    numbers = as_array(values, "scores")
    if numbers.ndim != 1 or numbers.dtype.kind not in "fiub":
        raise TypeError(f"scores must be a list of numbers, got an array of {numbers.dtype}")
    return np.ascontiguousarray(numbers, dtype=np.float64)
