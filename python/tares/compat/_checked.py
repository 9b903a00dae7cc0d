"""Labels and probabilities as cleanlab's functions take them, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tares._inputs import as_array, as_codes, as_values

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[Any]

#: Slack of comparisons between probabilities.
SLACK = 1e-6


def refuse_multi_label(multi_label: bool) -> None:
    """tares has one label per row."""
    if multi_label:
        raise ValueError("multi_label must be False: tares has one label per row, got True")


def checked_labels(labels: Any) -> Ints:
    """Class numbers from 0."""
    values = as_values(_column(labels))
    if len(values) == 0:
        raise ValueError("labels must have at least one row, got none")
    if values.dtype.kind == "U":
        raise ValueError(f"labels must count classes from 0, got names such as {str(values[0])!r}; tares.audit takes names")
    return as_codes(values, "labels").astype(np.int64)


def checked(labels: Any, pred_probs: Any, *, one_class: bool = True) -> tuple[Ints, Floats]:
    """Labels and rows x classes probabilities that fit each other. Rows need not sum to 1, as in cleanlab."""
    given, probs = checked_labels(labels), as_array(pred_probs, "pred_probs")
    if probs.ndim != 2:
        raise ValueError(f"pred_probs must be rows x classes, got {probs.ndim} dimensions")
    if probs.dtype.kind not in "fiub":
        raise TypeError(f"pred_probs must be numbers, got an array of {probs.dtype}")
    if probs.dtype.kind != "f":
        probs = probs.astype(np.float64)
    if len(probs) != len(given):
        raise ValueError(f"pred_probs must have a row for each of the {len(given)} labels, got {len(probs)}")
    if given.max() >= probs.shape[1]:
        row = int(np.argmax(given >= probs.shape[1]))
        raise ValueError(f"labels must be in 0..{probs.shape[1]}, the columns of pred_probs, got {given[row]} at row {row}")
    low, high = probs.min(), probs.max()
    if not (low >= -SLACK and high <= 1 + SLACK):
        row, column = np.argwhere(~((probs >= -SLACK) & (probs <= 1 + SLACK)))[0].tolist()
        raise ValueError(f"pred_probs must be in [0, 1], got {probs[row, column]} at row {row}, column {column}")
    if not one_class and given.min() == given.max() and given[0] != 0:
        raise ValueError(f"labels must have at least 2 classes, got only {given[0]}")
    return given, probs


def one_of(value: str, what: str, allowed: list[str]) -> None:
    """Refuses a word that is not known."""
    if value not in allowed:
        raise ValueError(f"{what} must be one of {', '.join(allowed)}, got {value!r}")


def _column(labels: Any) -> Any:
    """A frame with a single column is that column."""
    columns = getattr(labels, "columns", None)
    if columns is not None and hasattr(labels, "iloc") and len(columns) == 1:
        return labels.iloc[:, 0]
    return labels
