"""Turns the user's arrays, frames, series, tensors and lists into what the core takes.

float32 and float64 arrays that are C-contiguous are passed on without a copy; anything else is converted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint32]
#: Integers from here on are not taken for class numbers, because matrices are classes x classes.
MOST_CLASSES = 10_000
#: The rows that values came from, for messages; ``None``: 0, 1, 2, ...
From = npt.NDArray[np.int64] | None


@dataclass(frozen=True)
class Labels:
    """Labels as class numbers, and the classes' names."""

    #: The class of every row.
    codes: Codes
    #: The name of each class: integers, booleans or strings.
    classes: npt.NDArray[Any]
    #: The index of the pandas object they came from, if it is more than 0, 1, 2, ...
    index: Any | None
    #: A sentence for every choice that was made.
    notes: tuple[str, ...] = ()


def names(classes: npt.NDArray[Any]) -> list[str]:
    """The names of the classes, as text."""
    return [str(name) for name in classes.tolist()]


def listed(names: str | Sequence[str] | None) -> list[str]:
    """Names as a list; a single one may stand alone."""
    return [names] if isinstance(names, str) else [str(name) for name in (() if names is None else names)]


def as_array(values: Any, what: str) -> npt.NDArray[Any]:
    """Any array-like as a NumPy array, without a copy where that is possible."""
    if isinstance(values, np.ma.MaskedArray):
        # What lies under the mask would be taken for data.
        masked = np.argwhere(np.ma.getmaskarray(values))
        if len(masked):
            raise ValueError(f"{what} must not be masked, got a masked value at row {masked[0][0] if values.ndim else 0}: leave such rows out")
        return np.asarray(values.data)
    if isinstance(values, np.ndarray):
        return values
    if module_of(values) == "torch":
        values = values.detach().cpu()
        # NumPy has no bfloat16.
        return np.asarray(values.float() if "bfloat16" in str(values.dtype) else values)
    if module_of(values) == "pyarrow":
        return _of_arrow(values)
    if module_of(values) == "polars":
        return np.asarray(values.to_numpy())
    if module_of(values) == "pandas" and hasattr(values, "to_numpy"):
        if hasattr(values, "dtypes") and hasattr(values, "columns") and all(kind.kind in "fiu" for kind in values.dtypes):
            if any(hasattr(kind, "numpy_dtype") for kind in values.dtypes):
                # Float64 and the like would become objects.
                return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(values.to_numpy())
    try:
        if isinstance(values, (list, tuple)) and any(isinstance(value, str) for value in values):
            # NumPy would turn numbers and missing values into texts if they stand beside texts.
            return np.array(values, dtype=object)
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{what} must be an array, got rows of different lengths") from error


def as_values(labels: Any, what: str = "labels", rows: From = None) -> npt.NDArray[Any]:
    """Labels as an array of integers, booleans or strings."""
    values = as_array(labels, what)
    if values.ndim != 1:
        raise ValueError(f"{what} must be one-dimensional, got {shape_of(values)}")
    return whole(values, what, rows)


def read_labels(labels: Any, classes: npt.NDArray[Any] | int | None, what: str = "labels", rows: From = None) -> Labels:
    """Labels as codes.

    ``classes`` holds the names of the classes in order, or their number. Integers are class numbers unless the classes have other
    names; names are looked up, or sorted if the classes have no names yet.
    """
    return code_labels(as_values(labels, what, rows), classes, index_of(labels), what, rows)


def code_labels(
    values: npt.NDArray[Any], classes: npt.NDArray[Any] | int | None, index: Any | None, what: str, rows: From = None
) -> Labels:
    """The same of :func:`as_values`."""
    if isinstance(classes, np.ndarray):
        return Labels(_look_up(values, classes, what, rows), classes, index)
    if values.dtype.kind in "iub":
        codes = as_codes(values, what, rows)
        if values.dtype.kind == "b" and classes in (None, 2):
            return Labels(codes, np.array([False, True]), index)
        count = classes if classes is not None else (int(codes.max()) + 1 if len(codes) else 0)
        if classes is None and count > MOST_CLASSES:
            row = int(codes.argmax())
            raise ValueError(
                f"{what} must count classes from 0 and be less than {MOST_CLASSES}, got {values[row]} at row {_row(row, rows)}: "
                "say with classes=[...] which classes there are"
            )
        return Labels(codes, np.arange(count), index)
    found, places = np.unique(values, return_inverse=True)
    if classes is None:
        found, ordered = _by_number(found, places)
        return Labels(ordered, found, index)
    if len(found) != classes:
        raise ValueError(
            f"{what} that are names must name all {classes} columns of probs, got {len(found)} names: "
            "say with classes=[...] which column is which"
        )
    refuse_two_orders(found, what)
    note = f"the labels are names: the columns of probs are taken to be the classes in sorted order: {_list(found)}"
    return Labels(places.astype(np.uint32), found, index, (note,))


def read_classes(labels: Any, what: str = "y", rows: From = None) -> Labels:
    """Labels whose classes are the values that occur, in the program's order: names that are whole numbers come first, by size."""
    found, codes = _by_number(*np.unique(as_values(labels, what, rows), return_inverse=True))
    return Labels(codes, found, index_of(labels))


def _by_number(found: npt.NDArray[Any], codes: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Codes]:
    """Sorted classes and their codes in the program's order."""
    if found.dtype.kind == "U":
        order = np.array(sorted(range(len(found)), key=lambda place: _sort_key(str(found[place]))), dtype=np.int64)
        found, codes = found[order], np.argsort(order)[codes]
    return found, codes.astype(np.uint32)


def refuse_two_orders(found: npt.NDArray[Any], what: str) -> None:
    """Raises ``ValueError`` if sorted names look like numbers whose order by size is another."""
    as_text = [name for name in found.tolist() if isinstance(name, str) and not _sort_key(name)[0]]
    by_size = sorted(as_text, key=_sort_key)
    if as_text != by_size:
        raise ValueError(
            f"{what} are names that look like numbers: the columns of probs may stand in the order of texts ({_shown(as_text)}) or of "
            f"numbers ({_shown(by_size)}); say with classes=[...] which column is which, in the order of the columns"
        )


def _sort_key(name: str) -> tuple[bool, int, str]:
    digits = name.lstrip("+-")
    number = digits.isascii() and digits.isdigit() and len(name) - len(digits) <= 1
    return (not number, int(name) if number else 0, name)


def read_probs(probs: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    """N x K probabilities in C order, and the names of the columns of a frame."""
    values = as_array(probs, "probs")
    if values.ndim != 2:
        raise ValueError(f"probs must be two-dimensional (rows x classes), got {shape_of(values)}")
    if values.dtype.kind not in "fiub":
        raise TypeError(f"probs must be numbers, got an array of {values.dtype}")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64 if values.dtype.itemsize > 4 else np.float32)
    # This also converts foreign byte orders.
    values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
    return values, _columns(probs)


def module_of(value: Any) -> str:
    """The package that a value's type comes from."""
    return type(value).__module__.partition(".")[0]


def shape_of(values: npt.NDArray[Any]) -> str:
    """The shape of an array, in words."""
    if values.ndim == 0:
        return "a single value"
    return "an array of " + " x ".join(map(str, values.shape))


def _list(found: npt.NDArray[Any]) -> str:
    return _shown(found.tolist())


def _shown(names: list[Any], most: int = 10) -> str:
    shown = ", ".join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _of_arrow(values: Any) -> npt.NDArray[Any]:
    if hasattr(values, "column_names"):
        columns = [np.asarray(column.to_numpy()) for column in values.columns]
        return np.stack(columns, axis=1) if columns else np.empty((0, 0))
    if "dictionary" in str(values.type):
        return np.asarray(values.to_pylist(), dtype=object)
    combined = values.combine_chunks() if hasattr(values, "combine_chunks") else values
    return np.asarray(combined.to_numpy(zero_copy_only=False))


def _columns(probs: Any) -> npt.NDArray[Any] | None:
    if module_of(probs) == "pandas" and hasattr(probs, "columns"):
        return np.asarray(probs.columns)
    if module_of(probs) == "polars" and hasattr(probs, "columns"):
        return np.asarray(probs.columns)
    if module_of(probs) == "pyarrow" and hasattr(probs, "column_names"):
        return np.asarray(probs.column_names)
    return None


def index_of(labels: Any) -> Any | None:
    """The index of a pandas object; ``None`` for the default one, which only counts."""
    if module_of(labels) != "pandas" or not hasattr(labels, "index"):
        return None
    index = labels.index
    if type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1:
        return None
    return index


def _row(place: Any, rows: From) -> int:
    return int(place if rows is None else rows[place])


def whole(values: npt.NDArray[Any], what: str, rows: From = None) -> npt.NDArray[Any]:
    """Integers, booleans or strings; anything else is an error that names the value and its row."""
    kind = values.dtype.kind
    if kind in "iubU":
        return values
    if kind == "T":
        return _objects(values.astype(object), what, rows)
    if kind == "f":
        bad = np.flatnonzero(~np.isfinite(values) | (values != np.floor(values)))
        if len(bad):
            raise ValueError(f"{what} must be whole numbers or names, got {values[bad[0]]} at row {_row(bad[0], rows)}")
        return values.astype(np.int64)
    if kind == "O":
        return _objects(values, what, rows)
    raise TypeError(f"{what} must be integers or strings, got an array of {values.dtype}")


def is_missing(cell: Any) -> bool:
    """Whether a cell is None, NaN, NA or NaT."""
    # NA is neither equal to itself nor unequal: its type comes first.
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, (float, np.floating)) and bool(cell != cell))


def _objects(values: npt.NDArray[Any], what: str, rows: From) -> npt.NDArray[Any]:
    kinds: dict[type, int] = {}
    for row, value in enumerate(values.tolist()):
        kinds.setdefault(type(value), row)
    for kind, row in kinds.items():
        if is_missing(values[row]):
            raise ValueError(f"{what} must not be missing, got {values[row]} at row {_row(row, rows)}")
    if all(issubclass(kind, str) for kind in kinds):
        return values.astype(np.str_)
    if all(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return values.astype(np.bool_)
    if all(issubclass(kind, (int, np.integer, np.bool_)) for kind in kinds):
        return values.astype(np.int64)
    if all(issubclass(kind, (int, float, np.number, np.bool_)) for kind in kinds):
        return whole(values.astype(np.float64), what, rows)
    listed = ", ".join(f"{kind.__name__} at row {_row(row, rows)}" for kind, row in list(kinds.items())[:3])
    raise TypeError(f"{what} must be all integers or all strings, got {listed}")


def as_codes(values: npt.NDArray[Any], what: str, rows: From = None) -> Codes:
    """Integers as class numbers."""
    if values.dtype == np.uint32:
        return np.ascontiguousarray(values)
    if len(values) and values.dtype.kind != "b":
        low, high = int(values.min()), int(values.max())
        if low < 0 or high >= 2**32:
            bad = int(np.flatnonzero((values < 0) | (values >= 2**32))[0])
            raise ValueError(f"{what} must count classes from 0, got {values[bad]} at row {_row(bad, rows)}")
    return values.astype(np.uint32)


def _look_up(values: npt.NDArray[Any], classes: npt.NDArray[Any], what: str, rows: From = None) -> Codes:
    """The place of every value in ``classes``."""
    known = classes.astype(np.str_) if values.dtype.kind == "U" else classes
    if values.dtype.kind in "iub" and known.dtype.kind in "iub":
        # True is 1 and False 0.
        values, known = (array.astype(np.uint8) if array.dtype.kind == "b" else array for array in (values, known))
        if np.array_equal(known, np.arange(len(known))):
            return as_codes(values, what, rows)
    order = np.argsort(known, kind="stable")
    try:
        place = np.searchsorted(known, values, sorter=order)
    except TypeError as error:
        raise TypeError(f"{what} and classes must be of one kind, got {values.dtype} and {known.dtype}") from error
    codes = order[np.minimum(place, len(known) - 1)]
    bad = np.flatnonzero(known[codes] != values)
    if len(bad):
        raise ValueError(f"{what} must be one of {_list(known)}, got {values[bad[0]]!s} at row {_row(bad[0], rows)}")
    return codes.astype(np.uint32)
