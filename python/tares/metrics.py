"""Metrics for predictions, suspects and probabilities, with the same bits as the program's.

>>> tares.metrics.accuracy([0, 1, 1], [0, 1, 0])
0.6666666666666666
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tares import _tares
from tares._inputs import as_array, read_labels, read_probs

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
    return _tares.balanced_accuracy(a, b, len(classes))


def confusion(truth: Any, predicted: Any) -> npt.NDArray[np.int64]:
    """Counts ``[true, predicted]`` over the classes of both, sorted.

    >>> tares.metrics.confusion([0, 0, 1], [0, 1, 1])
    array([[1, 1],
           [0, 1]])
    """
    a, b, classes = _pair(truth, predicted)
    return _tares.confusion(a, b, len(classes))


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
    codes = read_labels(rows, None, "chosen").codes if len(rows) else np.empty(0, dtype=np.uint32)
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
    values, _ = read_probs(probs)
    labels = read_labels(truth, values.shape[1], "truth")
    return _tares.calibration_error(np.ascontiguousarray(values, dtype=np.float64), labels.codes, bins)


def mean_std(values: Any) -> tuple[float, float]:
    """The mean of some runs, and their standard deviation (divided by n - 1).

    >>> tares.metrics.mean_std([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    return _tares.mean_std(_numbers(values))


def _pair(first: Any, second: Any) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[Any]]:
    """Two lists of labels as numbers of the same classes."""
    a, b = read_labels(first, None, "labels"), read_labels(second, None, "labels")
    if a.classes.dtype.kind != b.classes.dtype.kind:
        raise TypeError("both lists of labels must be integers, or both names")
    if a.classes.dtype.kind in "iu":
        return a.codes, b.codes, max(a.classes, b.classes, key=len)
    classes = np.union1d(a.classes, b.classes)
    places = [np.searchsorted(classes, labels.classes)[labels.codes].astype(np.uint32) for labels in (a, b)]
    return places[0], places[1], classes


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
