"""`tares.spark.audit`: which labels of a distributed table are wrong?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tares import _tares
from tares._table import Table
from tares.spark import _partitions
from tares.spark._partitions import Layout

Score = Literal["posterior", "self-confidence", "normalised-margin", "entropy-adjusted"]

# More labels than this are no classes.
MOST_CLASSES = 100_000
ID, KEY, LABEL, PROBS, FILE = "_tares_id", "_tares_key", "_tares_label", "_tares_probs", "_tares_file"


def audit(
    df: DataFrame,
    label: str = "label",
    probs: str | Sequence[str] = "probs",
    id: str = "id",
    *,
    classes: Sequence[Any] | None = None,
    score: Score = "posterior",
    missing: Literal["error", "skip"] = "error",
    seed: int = 0,
) -> SparkAudit:
    """Find the labels of a Spark table that are wrong.

    Parameters
    ----------
    df
        A row per sample.
    label
        The column of given labels: whole numbers that count the classes from 0, names, or true and false.
    probs
        Out-of-sample probabilities: a column of arrays, or a list of columns, one per class. Columns that are named after the classes
        (``cat``, or all with the same text around it, as in ``p_cat``) may be in any order, as for ``tares audit``.
    id
        The column that names the rows: text or whole numbers, a different one for every row. It decides which rows the noise is estimated
        from, so that partitions don't.
    classes
        The labels in the order of the probabilities, whatever these are called. Not needed for numbers from 0 on, or if columns are named after the classes.
    score
        How suspects are ranked. 0 is certainly wrong, 1 certainly right.
    missing
        Rows without a label or a probability: ``"error"`` names the first, ``"skip"`` leaves them out and counts them.
    seed
        Of the rows that are drawn.

    Returns
    -------
    SparkAudit
        The suspects as a table of the cluster, and how many labels are wrong.

    Raises
    ------
    ValueError
        Columns that are not there or of the wrong type; rows that are no probabilities. The message names the id of the row.
    """
    skip = check(score, missing)
    rows, lists, columns = _select(df, label, probs, id)
    counted = _count_labels(rows, label, skip)
    width = len(columns) if columns else _array_length(rows, str(probs))
    known, order = _classes([value for value, _ in counted], columns, width, classes)
    if columns:
        rows = rows.select(ID, LABEL, *(f"{PROBS}_{place}" for place in order))
    place = {value: number for number, value in enumerate(known)}
    counts = [0] * len(known)
    for value, count in counted:
        counts[place[value]] += count
    layout = Layout(known, lists, score, skip)
    model = _fit(rows, layout, counts, seed, rows.schema[LABEL].dataType)
    return _judge(rows, layout, model, df.schema[id].dataType, df.schema[label].dataType)


def check(score: str, missing: str) -> bool:
    """Whether rows that lack something are left out.

    Raises
    ------
    ValueError
        Another word, or a score that needs all rows.
    """
    if missing not in ("error", "skip"):
        raise ValueError(f"missing must be 'error' or 'skip', got {missing!r}")
    if str(score) not in get_args(Score):
        raise ValueError(f"score must be {', '.join(get_args(Score)[:-1])} or {get_args(Score)[-1]} on a cluster, got {score!r}")
    return missing == "skip"


def problems(found: list[Any], rows: DataFrame | None = None) -> list[Any]:
    """The rows that came from the executors, or an error with the first problem among them and, if it came from a file of `rows`, that."""
    said = sorted(row["problem"] for row in found if row["problem"] is not None)
    if said:
        raise ValueError(said[0] + ("" if rows is None else _from_file(said[0], rows)))
    return found


def _from_file(problem: str, rows: DataFrame) -> str:
    """Where the row stands that a problem names. Looked up only then: a column of file names would be carried through every audit."""
    named = re.search(r"row with id '(.*?)'", problem)
    if named is None:
        return ""
    first = rows.filter(F.col(ID).cast("string") == named[1]).select(F.input_file_name()).first()
    return f" (in {first[0]})" if first is not None and first[0] else ""


def suspects_schema(id_kind: str, label_kind: str) -> str:
    """The columns of suspects."""
    return f"id {id_kind}, given {label_kind}, suggested {label_kind}, score double, p_given double, p_suggested double"


def keep(
    judged: DataFrame, model: bytes, classes: list[Any], suspects: Callable[[DataFrame], DataFrame], rows: DataFrame | None = None
) -> SparkAudit:
    """Judges all rows, once, and keeps what the executors found. `suspects` takes the suspects from it; `rows` are what was judged."""
    judged = judged.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        found = problems(judged.filter("counts IS NOT NULL OR problem IS NOT NULL").select("counts", "problem").collect(), rows)
        totals = _tares.PartTotals(model, [bytes(row["counts"]) for row in found])
    except BaseException:
        judged.unpersist()
        raise
    return SparkAudit(suspects(judged), totals, classes, judged)


def _select(df: DataFrame, label: str, probs: str | Sequence[str], id: str) -> tuple[DataFrame, bool, list[str]]:
    """Only what is needed, under names of our own: id, label, probabilities. Whether these are lists, and what their columns are called."""
    fields = {field.name: field.dataType for field in df.schema.fields}
    named = [probs] if isinstance(probs, str) else list(probs)
    for what, name in [("label", label), ("id", id), *(("probs", name) for name in named)]:
        if name not in fields:
            raise ValueError(f"{what}: there is no column {name!r} among {', '.join(fields)}")
    whole = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
    for what, name in [("label", label), ("id", id)]:
        truths = (T.BooleanType,) if what == "label" else ()
        if not isinstance(fields[name], (*whole, T.StringType, *truths)):
            raise ValueError(f"{what}: column {name!r} must hold text or whole numbers, got {fields[name].simpleString()}")
    label_column = F.col(_quoted(label))
    if isinstance(fields[label], whole):
        label_column = label_column.cast("long")
    elif isinstance(fields[label], T.BooleanType):
        label_column = label_column.cast("string")  # true and false, as columns may be called
    # Whole numbers go to the workers as they are: text would take most of the time there.
    id_column = F.col(_quoted(id))
    if isinstance(fields[id], whole):
        id_column = id_column.cast("long")
    head = [id_column.alias(ID), label_column.alias(LABEL)]
    kind = fields[named[0]]
    if isinstance(probs, str):
        if not isinstance(kind, T.ArrayType) or not isinstance(kind.elementType, (T.FloatType, T.DoubleType)):
            hint = "; pyspark.ml.functions.vector_to_array makes one of a vector" if "vector" in kind.simpleString() else ""
            raise ValueError(f"probs: column {probs!r} must hold arrays of float or double, got {kind.simpleString()}{hint}")
        return df.select(*head, F.col(_quoted(probs)).alias(PROBS)), True, []
    if len(named) < 2 or len(set(named)) < len(named):
        raise ValueError(f"probs: name a different column for each of at least two classes, got {named}")
    numbers = (*whole, T.FloatType, T.DoubleType, T.DecimalType)
    for name in named:
        if not isinstance(fields[name], numbers):
            raise ValueError(f"probs: column {name!r} must hold numbers, got {fields[name].simpleString()}")
    target = "float" if all(isinstance(fields[name], T.FloatType) for name in named) else "double"
    cells = [F.col(_quoted(name)).cast(target).alias(f"{PROBS}_{place}") for place, name in enumerate(named)]
    return df.select(*head, *cells), False, named


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _count_labels(rows: DataFrame, label: str, skip: bool) -> list[tuple[Any, int]]:
    """Rows per label; reads nothing but the labels."""
    found = rows.groupBy(LABEL).count().limit(MOST_CLASSES + 1).collect()
    if len(found) > MOST_CLASSES:
        raise ValueError(f"label: column {label!r} has more than {MOST_CLASSES:,} different values: these are no classes")
    counted = [(row[0], int(row[1])) for row in found if row[0] is not None]
    absent = sum(int(row[1]) for row in found if row[0] is None)
    if not counted:
        raise ValueError("given labels must not be empty" if absent == 0 else f"label: no row has one of {absent:,}")
    if absent and not skip:
        first = rows.filter(F.col(LABEL).isNull()).select(ID, F.input_file_name().alias(FILE)).orderBy(ID).first()
        where = f" in {first[1]}" if first is not None and first[1] else ""
        name = None if first is None or first[0] is None else str(first[0])
        raise ValueError(f"{absent:,} rows have no label, such as the row with id {name!r}{where}: missing='skip' leaves them out")
    return counted


def _array_length(rows: DataFrame, probs: str) -> int:
    first = rows.filter(F.col(PROBS).isNotNull()).select(F.size(PROBS)).first()
    if first is None:
        raise ValueError(f"probs: no row has an array in column {probs!r}")
    if first[0] < 2:
        raise ValueError(f"probs: arrays must have a probability for each of at least two classes, got {first[0]}")
    return int(first[0])


def _classes(labels: list[Any], columns: list[str], width: int, told: Sequence[Any] | None) -> tuple[list[Any], list[int]]:
    """The labels in the order of the classes, and the column of every class: by the program's own rule."""
    if told is not None:
        known = [str(value).lower() if isinstance(value, bool) else value for value in told]
        if len(known) != width or len(set(known)) != width:
            raise ValueError(f"classes must name each of the {width} probabilities once, got {len(set(known))} names")
        unknown = [value for value in labels if value not in set(known)]
        if unknown:
            raise ValueError(f"classes must name every label, got none for {', '.join(map(repr, sorted(unknown)[:8]))}")
        return known, list(range(width))
    try:
        names, places, order = _tares.agree_names([str(value) for value in labels], columns or None, width)
    except ValueError as error:
        raise ValueError(f"{error}; or say what they are with classes=[…]") from None
    unused = [name for place, name in enumerate(columns) if place not in order]
    if unused:
        raise ValueError(f"probs: column {unused[0]!r} is named after none of the classes {', '.join(names[:8])}")
    if all(isinstance(value, int) and places[str(value)] == value for value in labels):
        return list(range(width)), order
    # As the labels are; a class that no row has, as its column is.
    by_place = {places[str(value)]: value for value in labels}
    known = [by_place.get(place, name) for place, name in enumerate(names)]
    if not isinstance(labels[0], int):
        return known, order
    words = [name for name in known if not re.fullmatch(r"-?\d+", str(name))]
    if words:
        raise ValueError(f"probs: a column is named after {words[0]!r}, which is no whole number as the labels are")
    return [int(name) for name in known], order


def _fit(rows: DataFrame, layout: Layout, counts: list[int], seed: int, label_type: T.DataType) -> bytes:
    """Draws rows by their ids inside the engine, and fits the noise model to them here."""
    session = rows.sparkSession
    chances = [(value, chance) for value, chance, count in zip(layout.classes, _tares.draw_chances(counts), counts) if count]
    schema = T.StructType([T.StructField(LABEL, label_type), T.StructField("_tares_chance", T.DoubleType())])
    table = F.broadcast(session.createDataFrame(chances, schema))
    key = F.xxhash64(F.concat(F.lit(f"{seed}:"), F.coalesce(F.col(ID).cast("string"), F.lit(""))))
    unit: Column = F.shiftrightunsigned(F.col(KEY), 11).cast("double") * F.lit(2.0**-53)
    drawn = rows.withColumn(KEY, key).join(table, LABEL).filter(unit < F.col("_tares_chance"))
    cells = [name for name in rows.columns if name not in (ID, LABEL)]

    def draw(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _partitions.draw(batches, layout)

    found = drawn.select(ID, KEY, LABEL, *cells).mapInArrow(draw, "rows binary, problem string").collect()
    return _tares.fit_noise([bytes(row["rows"]) for row in problems(found, rows)], counts)


def _judge(rows: DataFrame, layout: Layout, model: bytes, id_type: T.DataType, label_kind: T.DataType) -> SparkAudit:
    session = rows.sparkSession
    text = isinstance(rows.schema[LABEL].dataType, T.StringType)
    label_type = pa.string() if text else pa.int64()
    truths = isinstance(label_kind, T.BooleanType)
    text_ids = isinstance(rows.schema[ID].dataType, T.StringType)
    row_id_type = pa.string() if text_ids else pa.int64()
    try:
        sent: Any = session.sparkContext.broadcast(model)
    except Exception:  # Spark Connect has no context: there the model goes with the function
        sent = SimpleNamespace(value=model)

    def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _partitions.judge(batches, layout, sent.value, label_type, row_id_type)

    def suspects(judged: DataFrame) -> DataFrame:
        found = judged.filter("counts IS NULL AND problem IS NULL").drop("counts", "problem")
        if truths:
            found = found.withColumns({name: F.col(name).cast("boolean") for name in ("given", "suggested")})
        return found.withColumn("id", F.col("id").cast(id_type))

    schema = suspects_schema("string" if text_ids else "long", "string" if text else "long")
    judged = rows.mapInArrow(judge, f"{schema}, counts binary, problem string")
    return keep(judged, model, [name == "true" for name in layout.classes] if truths else layout.classes, suspects, rows)


class SparkAudit:
    """What an audit on a cluster found. Made by :func:`tares.spark.audit`."""

    def __init__(self, suspects: DataFrame, totals: _tares.PartTotals, classes: list[Any], kept: DataFrame) -> None:
        self._totals = totals
        self._kept = kept
        #: The labels that are probably wrong, in no order: ``id``, ``given``, ``suggested``, ``score`` (0 is certainly wrong),
        #: ``p_given``, ``p_suggested``. It is kept by the executors until :meth:`unpersist`.
        self.suspects = suspects
        #: The labels in the order of the probabilities.
        self.classes = classes

    @property
    def rows(self) -> int:
        """How many rows were judged."""
        return self._totals.rows

    @property
    def missing_rows(self) -> int:
        """Rows that were left out, because they lack a label or a probability."""
        return self._totals.missing

    @property
    def noise_rate(self) -> float:
        """The estimated share of wrong labels."""
        return self._totals.noise_rate[0]

    @property
    def noise_rate_interval(self) -> tuple[float, float]:
        """Where the share most likely lies."""
        return self._totals.noise_rate[1]

    @cached_property
    def transition(self) -> npt.NDArray[np.float64]:
        """Which classes are mistaken for which: ``transition[true, given]``, rows sum to 1."""
        return self._totals.transition()

    @cached_property
    def per_class(self) -> Table:
        """Per class: ``rows`` with its label, ``suspects`` among them, rows that should have it but don't (``missing``), and the mean
        probability of the given label (``self_confidence``)."""
        rows, suspects, missing, confidence = self._totals.per_class()
        names = np.array(self.classes)
        return Table({"class": names, "rows": rows, "suspects": suspects, "missing": missing, "self_confidence": confidence})

    @cached_property
    def warnings(self) -> list[str]:
        """What should be known before rate and suspects are trusted: a sentence each."""
        return self._totals.cautions([str(name) for name in self.classes])

    def unpersist(self) -> None:
        """Lets the executors forget the suspects. Using them again judges all rows again."""
        self._kept.unpersist()

    def __repr__(self) -> str:
        low, high = self.noise_rate_interval
        suspects = int(self.per_class["suspects"].sum())
        head = (
            f"<tares.spark.SparkAudit: {suspects:,} of {self.rows:,} labels are suspects; "
            f"noise rate {100 * self.noise_rate:.1f} % ({100 * low:.1f} to {100 * high:.1f} %)>"
        )
        return "\n".join([head, *(f"note: {text}" for text in self.warnings)])
