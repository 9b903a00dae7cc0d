"""What runs on the executors: Arrow batches of a partition in, Arrow batches out. No Spark is imported here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tares import _tares

NO_LABEL = np.uint32(0xFFFF_FFFF)


@dataclass(frozen=True)
class Layout:
    """Where a batch has what, and what its labels mean."""

    # The labels as the data has them, in the order of the classes.
    classes: list[Any]
    # A column of lists, or a column per class.
    lists: bool
    score: str
    skip_missing: bool

    @property
    def positions(self) -> bool:
        """Whether labels are the numbers of the classes."""
        return self.classes == list(range(len(self.classes)))


class BadRow(ValueError):
    """A row that cannot be used, and its place in the batch."""

    def __init__(self, row: int, text: str) -> None:
        super().__init__(text)
        self.row = row


def labels(column: pa.Array, layout: Layout) -> npt.NDArray[np.uint32]:
    """The class of every row; NO_LABEL where there is none."""
    if layout.positions:
        codes = column.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        absent = codes < 0
        unknown = (codes < -1) | (codes >= len(layout.classes))
    else:
        found = pc.index_in(column, value_set=pa.array(layout.classes, type=column.type))
        codes = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        absent = codes < 0
        unknown = absent & column.is_valid().to_numpy(zero_copy_only=False)
    if unknown.any():
        row = int(unknown.argmax())
        raise BadRow(row, f"label {column[row].as_py()!r} is not one of the {len(layout.classes)} classes")
    if absent.any() and not layout.skip_missing:
        row = int(absent.argmax())
        raise BadRow(row, "has no label: label it, remove it, or leave out such rows (missing='skip')")
    return np.where(absent, NO_LABEL, codes.astype(np.uint32)).astype(np.uint32)


def probabilities(columns: list[pa.Array], layout: Layout) -> npt.NDArray[Any]:
    """Rows x classes; NaN for what is missing."""
    classes = len(layout.classes)
    if not layout.lists:
        narrow = all(pa.types.is_float32(column.type) for column in columns)
        values = np.empty((len(columns[0]), classes), dtype=np.float32 if narrow else np.float64)
        for place, column in enumerate(columns):
            values[:, place] = column.to_numpy(zero_copy_only=False)  # null becomes NaN
        return values
    (column,) = columns
    lengths = pc.list_value_length(column)
    wrong = pc.not_equal(lengths, classes)
    if pc.any(wrong).as_py():
        row = pc.index(wrong, True).as_py()
        raise BadRow(row, f"must have {classes} probabilities, got {lengths[row].as_py()}")
    if column.null_count == 0:
        return np.asarray(column.flatten().to_numpy(zero_copy_only=False)).reshape(-1, classes)
    there = column.is_valid().to_numpy(zero_copy_only=False)
    inside = column.flatten().to_numpy(zero_copy_only=False)  # without the rows that are missing
    values = np.full((len(column), classes), np.nan, dtype=inside.dtype)
    values[there] = inside.reshape(-1, classes)
    return values


DRAWN = pa.schema([("rows", pa.binary()), ("problem", pa.string())])


def draw(batches: Iterator[pa.RecordBatch], layout: Layout) -> Iterator[pa.RecordBatch]:
    """The rows that were drawn from a partition (id, key, label, probabilities) as bytes, a few numbers per row."""
    for batch in batches:
        if batch.num_rows == 0:
            continue
        try:
            keys = batch.column(1).to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64)
            given = labels(batch.column(2), layout)
            probs = np.ascontiguousarray(probabilities([batch.column(place) for place in range(3, batch.num_columns)], layout))
            drawn, problem = _tares.drawn_rows(keys, given, probs, layout.skip_missing), None
        except ValueError as error:
            drawn, problem = None, _named(error, batch.column(0))
        yield pa.record_batch([pa.array([drawn], pa.binary()), pa.array([problem], pa.string())], schema=DRAWN)
        if problem is not None:
            return


def judged_schema(label_type: pa.DataType, id_type: pa.DataType) -> pa.Schema:
    """The suspects of a partition; then one row with its counts, or with what is wrong."""
    fields = [("id", id_type), ("given", label_type), ("suggested", label_type), ("score", pa.float64())]
    fields += [("p_given", pa.float64()), ("p_suggested", pa.float64()), ("counts", pa.binary()), ("problem", pa.string())]
    return pa.schema(fields)


def judge(
    batches: Iterator[pa.RecordBatch], layout: Layout, model: bytes, label_type: pa.DataType, id_type: pa.DataType
) -> Iterator[pa.RecordBatch]:
    """Judges the rows of a partition (id, label, probabilities)."""
    judge_part = _tares.PartJudge(model, layout.score, layout.skip_missing)
    schema = judged_schema(label_type, id_type)
    classes = pa.array(layout.classes, type=label_type)
    for batch in batches:
        if batch.num_rows == 0:
            continue
        try:
            given = labels(batch.column(1), layout)
            probs = np.ascontiguousarray(probabilities([batch.column(place) for place in range(2, batch.num_columns)], layout))
            row, labelled, suggested, score, p_given, p_suggested = judge_part.judge(given, probs)
        except ValueError as error:
            yield _last(schema, problem=_named(error, batch.column(0)))
            return
        empty = len(row)
        columns = [batch.column(0).take(pa.array(row)), classes.take(pa.array(labelled)), classes.take(pa.array(suggested))]
        columns += [pa.array(score), pa.array(p_given), pa.array(p_suggested)]
        yield pa.record_batch([*columns, pa.nulls(empty, pa.binary()), pa.nulls(empty, pa.string())], schema=schema)
    counts = judge_part.counts()
    if counts is not None:
        yield _last(schema, counts=counts)


def _last(schema: pa.Schema, counts: bytes | None = None, problem: str | None = None) -> pa.RecordBatch:
    row = {"counts": counts, "problem": problem}
    return pa.record_batch([pa.array([row.get(field.name)], field.type) for field in schema], schema=schema)


def _named(error: ValueError, ids: pa.Array) -> str:
    """What is wrong, with the id of the row instead of its place in the batch."""

    def name(row: int) -> str:
        value = ids[row].as_py()
        return repr(None if value is None else str(value))

    if isinstance(error, BadRow):
        return f"row with id {name(error.row)}: {error}"
    return re.sub(r" at row (\d+)", lambda found: f" at the row with id {name(int(found[1]))}", str(error))
