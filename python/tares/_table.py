"""`Table`: columns of equal length. Needs no pandas, but converts to pandas, polars and Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Column = npt.NDArray[Any]


class Table:
    """Columns of equal length.

    ``table["score"]`` is a column (a NumPy array), ``table[3]`` a row, ``table[:5]`` a table of the first five, ``len(table)`` the number of
    rows. A column may be a function that computes it when it is first used.

    Examples
    --------
    >>> table = Table({"row": np.array([4, 9]), "score": np.array([0.01, 0.2])})
    >>> table["score"]
    array([0.01, 0.2 ])
    >>> table[0]
    {'row': 4, 'score': 0.01}
    """

    def __init__(self, columns: Mapping[str, Column | Callable[[], Column]], index: Any | None = None) -> None:
        self._columns = dict(columns)
        self._index = index

    def __getstate__(self) -> dict[str, Any]:
        return {"_columns": {name: self[name] for name in self.columns}, "_index": self._index}  # functions cannot be pickled

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def __len__(self) -> int:
        ready = next((column for column in self._columns.values() if not callable(column)), None)
        return len(self[self.columns[0]] if ready is None else ready)

    def __getitem__(self, key: str | int | slice) -> Any:
        if isinstance(key, slice):
            return Table({name: self[name][key] for name in self._columns}, None if self._index is None else self._index[key])
        if not isinstance(key, str):
            return {name: self[name][key : key + 1 or None].tolist()[0] for name in self._columns}
        if key not in self._columns:
            raise KeyError(f"no column {key!r}: there are {', '.join(self._columns)}")
        column = self._columns[key]
        if callable(column):
            column = self._columns[key] = column()
        return column

    def __iter__(self) -> Iterator[dict[str, Any]]:
        lists = [self[name].tolist() for name in self._columns]
        return (dict(zip(self._columns, row)) for row in zip(*lists))

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas frame. Rows keep the index of the pandas object that the labels came from; an index called like a column
        takes its place."""
        import pandas

        names = [] if self._index is None else self._index.names
        return pandas.DataFrame({name: self[name] for name in self._columns if name not in names}, index=self._index)

    def to_polars(self) -> polars.DataFrame:
        """As a polars frame."""
        import polars

        columns = [polars.Series(name, *_listed(self[name], polars.String)) for name in self._columns]
        return polars.DataFrame(columns)

    def to_arrow(self) -> pyarrow.Table:
        """As an Arrow table."""
        import pyarrow

        return pyarrow.table({name: pyarrow.array(*_listed(self[name], pyarrow.string())) for name in self._columns})

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's interface for tables: polars, DuckDB and others read the table through it."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        lines = [f"{len(self)} rows: {', '.join(self._columns)}"]
        lines += [str(self[place]) for place in range(min(5, len(self)))]
        return "\n".join(lines)

    def _repr_html_(self, most: int = 20) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self._columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(_shown(value))}</td>" for value in self[place].values()) + "</tr>"
            for place in range(min(most, len(self)))
        )
        more = f"<p>and {len(self) - most:,} more rows</p>" if len(self) > most else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _listed(column: Column, text: Any) -> tuple[Any, Any]:
    """Texts as a list with their type, which no row might tell; numbers as they are."""
    if column.dtype.kind == "U" or (column.dtype.kind == "O" and all(cell is None or isinstance(cell, str) for cell in column.tolist())):
        return column.tolist(), text
    return (column.tolist() if column.dtype.kind == "O" else column), None


def _shown(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
