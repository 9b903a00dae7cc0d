"""Turns the user's rows (frames, arrays, lists, pictures) into what the core takes: columns with names, or one array.

Numbers are 64-bit floats, NaN where there is none. Anything else becomes text: a code per row, and the text of each code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Any

import numpy as np
import numpy.typing as npt

from tares._inputs import as_array, index_of, is_missing, module_of

#: The code of a text that is missing.
MISSING = 2**32 - 1

Cells = npt.NDArray[np.float64] | tuple[npt.NDArray[np.uint32], list[str]]


@dataclass(frozen=True)
class Rows:
    """Rows that the core can read."""

    #: Named columns, or an array of features or pictures.
    content: list[tuple[str, Cells]] | npt.NDArray[Any]
    count: int
    #: The index of a pandas frame, if it is more than 0, 1, 2, ...
    index: Any | None = None

    def __len__(self) -> int:
        return self.count


def is_frame(values: Any) -> bool:
    """Whether these are columns with names."""
    if isinstance(values, Mapping) and not hasattr(values, "toarray"):
        return True
    return module_of(values) in ("pandas", "polars", "pyarrow") and (hasattr(values, "columns") or hasattr(values, "column_names"))


def columns_of(frame: Any) -> list[tuple[Any, Any]]:
    """The columns of a frame with their names."""
    if isinstance(frame, Mapping):
        return list(frame.items())
    if module_of(frame) == "pyarrow":
        return list(zip(frame.column_names, frame.columns))
    if module_of(frame) == "pandas":
        return [(name, frame.iloc[:, place]) for place, name in enumerate(frame.columns)]
    return [(name, frame[name]) for name in frame.columns]


def read_rows(X: Any, what: str = "X", *, features: bool = False) -> Rows:
    """Rows of any kind. ``features``: a matrix of numbers holds features of a network, not the columns of a table."""
    if is_frame(X):
        return _table(columns_of(X), what, index_of(X))
    if hasattr(X, "toarray"):
        raise TypeError(f"{what} must be dense, got a sparse matrix: X.toarray() makes it dense")
    values = _array(X, what)
    if values.ndim in (3, 4):
        return Rows(_pictures(values, what), len(values))
    if values.ndim != 2:
        shape = "a single value" if values.ndim == 0 else f"{values.ndim} dimensions"
        raise ValueError(f"{what} must be rows x columns, or pictures, got {shape}")
    if values.dtype.kind in "fiub":
        if features:
            return Rows(np.ascontiguousarray(values, dtype=np.float32), len(values))
        return Rows([(f"x{place}", column) for place, column in enumerate(_columns(values))], len(values))
    if features:
        raise TypeError(f"{what} must be numbers, got an array of {values.dtype}")
    return _table([(f"x{place}", values[:, place]) for place in range(values.shape[1])], what, None)


def _columns(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Columns x rows, in 64 bits.

    Turned some rows at a time: a whole column at once would touch the cache lines of all rows for one number of each.
    """
    turned = np.empty(values.shape[::-1])
    for first in range(0, len(values), 64):
        turned[:, first : first + 64] = values[first : first + 64].T
    return turned


def _array(X: Any, what: str) -> npt.NDArray[Any]:
    if isinstance(X, Sequence) and not isinstance(X, (str, bytes)) and len(X) and isinstance(X[0], (list, tuple)):
        # NumPy would turn numbers into texts if they stand beside texts.
        kinds = {type(cell) for row in X for cell in row}
        if not all(issubclass(kind, (int, float, np.number)) for kind in kinds):
            if len({len(row) for row in X}) > 1:
                raise ValueError(f"{what} must be rows of one length, got different lengths")
            values = np.empty((len(X), len(X[0])), dtype=object)
            for place, row in enumerate(X):
                values[place] = row
            return values
    return as_array(X, what)


def _pictures(values: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{what} must be numbers, got an array of {values.dtype}")
    if values.ndim == 3:
        values = values[:, None]
    elif values.shape[1] not in (1, 3) and values.shape[3] in (1, 3):
        values = values.transpose(0, 3, 1, 2)
    return np.ascontiguousarray(values, dtype=np.uint8 if values.dtype == np.uint8 else np.float32)


def _table(columns: list[tuple[Any, Any]], what: str, index: Any | None) -> Rows:
    if not columns:
        raise ValueError(f"{what} must have at least one column, got none")
    names = [str(name) for name, _ in columns]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"columns of {what} must have different names, got {sorted(twice)[0]!r} twice")
    cells = [(name, read_cells(column, f"column {name!r}")) for name, (_, column) in zip(names, columns)]
    lengths = {len(c) if isinstance(c, np.ndarray) else len(c[0]) for _, c in cells}
    if len(lengths) > 1:
        raise ValueError(f"columns of {what} must have one length, got {sorted(lengths)}")
    return Rows(list(cells), lengths.pop(), index)


def read_cells(column: Any, what: str) -> Cells:
    """One column: numbers, or texts as codes."""
    kind = str(getattr(column, "dtype", getattr(column, "type", "")))
    if kind == "category" or "ictionary" in kind or "ategorical" in kind or "Enum" in kind:
        return _texts(_listed(column))
    values = _column(column, what)
    if values.ndim != 1:
        raise ValueError(f"{what} must be one value per row, got {values.ndim} dimensions")
    if values.dtype.kind in "fiu":
        return np.ascontiguousarray(values, dtype=np.float64)
    if values.dtype.kind in "mM":
        # Times and durations become seconds.
        return _seconds(values)
    if values.dtype.kind == "c":
        raise TypeError(f"{what} must be real numbers or texts, got complex data")
    listed = values.tolist()
    present = [cell for cell in listed if not _is_missing(cell)]
    if present and all(isinstance(cell, (int, float, np.number)) and not isinstance(cell, bool) for cell in present):
        return np.array([np.nan if _is_missing(cell) else float(cell) for cell in listed], dtype=np.float64)
    if present and all(isinstance(cell, date) for cell in present):
        # Dates, and times with a time zone.
        return _seconds(np.array([np.datetime64("NaT") if _is_missing(cell) else _moment(cell) for cell in listed], dtype="M8[us]"))
    bad = next((cell for cell in present if not isinstance(cell, (str, bool, int, float, np.generic))), None)
    if bad is not None:
        raise TypeError(f"{what} must hold numbers, dates or texts, got {type(bad).__name__}: turn it into one of these, as with .astype(str)")
    return _texts(listed)


def _seconds(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Times since 1970 and durations."""
    seconds = values.astype(f"{values.dtype.kind}8[ns]").astype(np.int64) / 1e9
    return np.where(np.isnat(values), np.nan, seconds)


def _moment(cell: date) -> np.datetime64:
    """A date or a time; one with a time zone is taken to UTC, as NumPy has no zones."""
    if isinstance(cell, datetime) and cell.tzinfo is not None:
        cell = cell.astimezone(timezone.utc).replace(tzinfo=None)
    return np.datetime64(cell, "us")


def _column(column: Any, what: str) -> npt.NDArray[Any]:
    if module_of(column) == "pandas" and hasattr(column.dtype, "numpy_dtype"):
        # Int64 and the like, with pandas.NA where there is none.
        if column.dtype.numpy_dtype.kind in "fiu":
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(column.astype(object))
    if module_of(column) == "polars" and not column.dtype.is_numeric() and not column.dtype.is_temporal():
        return np.array(column.to_list(), dtype=object)
    if module_of(column) == "pyarrow" and "string" in str(column.type):
        return np.array(column.to_pylist(), dtype=object)
    return as_array(column, what)


def _listed(column: Any) -> list[Any]:
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)


def _is_missing(cell: Any) -> bool:
    return is_missing(cell) or (isinstance(cell, str) and cell == "")


def _texts(cells: list[Any]) -> tuple[npt.NDArray[np.uint32], list[str]]:
    seen: dict[str, int] = {}
    codes = [MISSING if _is_missing(cell) else seen.setdefault(str(cell), len(seen)) for cell in cells]
    return np.array(codes, dtype=np.uint32), list(seen)
