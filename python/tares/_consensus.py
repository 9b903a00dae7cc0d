"""`consensus`: one label of several people's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from html import escape
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tares import _tares
from tares._columns import named_classes, refuse_contradiction
from tares._inputs import as_array, is_missing, read_probs, refuse_two_orders
from tares._table import Table

Pooling = Literal["posterior", "dawid-skene", "one-coin", "majority"]

_ROW = ("row", "index", "id", "item", "task", "question", "example", "sample", "object", "image", "file", "unit")
_ANNOTATOR = ("annotator", "worker", "rater", "who", "user", "labeler", "labeller", "coder", "judge", "performer")
_LABEL = ("label", "answer", "response", "what", "class", "annotation", "vote", "rating", "y")


def consensus(
    answers: Any,
    probs: Any = None,
    *,
    row: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    classes: Sequence[Any] | None = None,
    method: Pooling = "posterior",
    normalise: bool = False,
) -> Consensus:
    """Find the label that is probably right where several people labelled each row.

    Parameters
    ----------
    answers
        A *long* table has one answer per line, with columns for row, annotator and label: a pandas or polars frame, an Arrow table or
        a dictionary of columns. A *wide* table has one line per row and one column per annotator: a frame, or a two-dimensional
        array. ``NaN``, ``None`` and negative numbers are no answers.
    probs
        Out-of-sample probabilities of a classifier, rows x classes: every row is judged by a model that was not trained on it. Long
        tables then name rows by their number, counted from 0.
    row, annotator, label
        The columns of a long table. By default the usual names are looked for (``row``, ``task``, ``worker``, ``answer``, ...).
    classes
        All classes, in the order of the columns of ``probs``. By default whole numbers from 0 are the classes themselves, other labels
        are sorted.
    method
        ``"posterior"``: a matrix per annotator, drawn towards the one all share, and the classifier; ``"dawid-skene"``,
        ``"one-coin"`` and ``"majority"`` use the annotators' answers only.
    normalise
        Divide each row of ``probs`` by its sum.

    Returns
    -------
    Consensus
        A label per row with its probability, and how good every annotator is.

    Examples
    --------
    >>> found = tares.consensus(np.array([[0, 0, 1], [1, 1, 1], [0, 0, 1], [1, 1, 1]]))
    >>> found.labels
    array([0, 1, 0, 1])
    >>> int(found.annotators["annotator"][0])  # best first
    0
    """
    return consensus_of(_answers(answers, row, annotator, label), probs, classes, method, normalise)


def consensus_of(
    told: Told, probs: Any, classes: Sequence[Any] | None, method: Pooling = "posterior", normalise: bool = False
) -> Consensus:
    """The consensus of answers that are columns already."""
    values, columns = (None, None) if probs is None else read_probs(probs)
    if values is not None and method != "posterior":
        raise ValueError(f"method {method!r} hears annotators only: leave probs out, or use 'posterior'")
    names, codes = _classes(told.labels, classes, None if values is None else values.shape[1], columns)
    ids, places, rows = _places(told, None if values is None else len(values))
    found = _tares.consensus(
        (rows, len(told.people), len(names)), places, told.who, codes, values, method, normalise
    )
    return Consensus(found, names, told.people, ids)


class Told:
    """Answers as three columns."""

    def __init__(self, rows: npt.NDArray[Any], named: bool, count: int, who: Any, people: Any, labels: Any) -> None:
        self.rows, self.named, self.count = rows, named, count
        self.who, self.people, self.labels = who.astype(np.uint32), people, labels


def _answers(answers: Any, row: str | None, annotator: str | None, label: str | None) -> Told:
    columns = _columns_of(answers)
    wanted = (row, annotator, label)
    if columns is not None:
        found = [_named(columns, want, usual) for want, usual in zip(wanted, (_ROW, _ANNOTATOR, _LABEL))]
        if all(name is not None for name in found):
            return _long([as_array(answers[name], str(name)) for name in found])
    if any(want is not None for want in wanted):
        raise ValueError("row, annotator and label are columns of a long table, got something without columns")
    return _wide(answers, columns)


def _columns_of(answers: Any) -> list[Any] | None:
    if isinstance(answers, dict):
        return list(answers)
    if hasattr(answers, "column_names"):
        return list(answers.column_names)
    return list(answers.columns) if hasattr(answers, "columns") else None


def _named(columns: list[Any], wanted: str | None, usual: Sequence[str]) -> Any | None:
    if wanted is not None:
        if wanted not in columns:
            raise ValueError(f"no column {wanted!r} among {', '.join(map(str, columns[:12]))}")
        return wanted
    lower = {str(name).strip().lower(): name for name in reversed(columns)}
    return next((lower[name] for name in usual if name in lower), None)


def _missing(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return np.asarray(~(values >= 0), dtype=np.bool_)  # NaN is not
    if values.dtype.kind == "i":
        return np.asarray(values < 0)
    if values.dtype.kind == "O":
        absent = [is_missing(value) or str(value) in ("", "<NA>") for value in values.ravel().tolist()]
        return np.array(absent, dtype=np.bool_).reshape(values.shape)
    return np.zeros(values.shape, dtype=np.bool_) if values.dtype.kind in "ub" else np.asarray(values == "")


def _long(columns: list[npt.NDArray[Any]]) -> Told:
    if len({len(column) for column in columns}) != 1:
        raise ValueError("row, annotator and label must be of one length")
    rows, people, labels = columns
    given = ~_missing(labels)
    for what, column in (("row", rows), ("annotator", people)):
        lost = np.flatnonzero(given & (_missing(column) if column.dtype.kind in "fO" else False))
        if len(lost):
            raise ValueError(f"the answer at line {lost[0]} has no {what}")
    names, who = _distinct(_plain(people))
    return Told(_plain(rows)[given], True, 0, who[given], names, _plain(labels[given]))


def _wide(answers: Any, columns: list[Any] | None) -> Told:
    if isinstance(answers, dict):
        values = np.stack([as_array(answers[name], str(name)) for name in answers], axis=1)
    else:
        values = as_array(answers, "answers")
    if values.ndim != 2:
        shape = " x ".join(map(str, values.shape))
        raise ValueError(f"answers must be a long table, or rows x annotators, got an array of {shape or 'nothing'}")
    rows, who = np.nonzero(~_missing(values))
    people = np.arange(values.shape[1]) if columns is None else np.asarray(columns)
    return Told(rows, False, len(values), who, people, _plain(values[rows, who]))


def _plain(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Integers where all are whole numbers, else text."""
    if values.dtype.kind == "f" and np.array_equal(values, np.floor(values)):
        return values.astype(np.int64)
    if values.dtype.kind == "b":
        return values.astype(np.int64)
    if values.dtype.kind == "O":
        kinds = {type(value) for value in values.tolist()}
        if all(issubclass(kind, (int, np.integer)) for kind in kinds):
            return values.astype(np.int64)
        if all(issubclass(kind, (int, float, np.number)) for kind in kinds):
            return _plain(values.astype(np.float64))
        return values.astype(np.str_)
    return values


def _distinct(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The distinct values in order, and the place of every value among them: ``np.unique`` without sorting a million values."""
    if values.dtype.kind in "iu" and len(values):
        low, span = int(values.min()), int(values.max()) - int(values.min()) + 1
        if span <= 4 * len(values) + 1024:
            # Narrow integers would overflow.
            values = values if values.dtype.itemsize == 8 else values.astype(np.int64)
            least = values.dtype.type(low)
            offsets = values - least
            used = np.zeros(span, dtype=np.bool_)
            used[offsets] = True
            return np.flatnonzero(used).astype(values.dtype) + least, (np.cumsum(used) - 1)[offsets]
    if values.dtype.kind == "U":
        places: dict[str, int] = {}
        codes = np.fromiter((places.setdefault(value, len(places)) for value in values.tolist()), np.int64, len(values))
        names = np.array(list(places), dtype=np.str_)
        order = np.argsort(names, kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return names[order], rank[codes]
    names, who = np.unique(values, return_inverse=True)
    return names, who


def _classes(
    labels: npt.NDArray[Any], classes: Sequence[Any] | None, count: int | None, columns: npt.NDArray[Any] | None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint32]]:
    """The names of the classes, and the class of every answer."""
    if len(labels) == 0:
        raise ValueError("answers must not be empty")
    known: npt.NDArray[Any]
    if classes is not None:
        known = as_array(classes, "classes")
        if len(set(known.tolist())) != len(known):
            raise ValueError("classes must differ from each other")
    elif columns is not None and (named := named_classes(labels.dtype.kind, columns)) is not None:
        known = named
    elif labels.dtype.kind in "iu":
        known = np.arange(count if count is not None else max(2, int(labels.max()) + 1))
    else:
        known = np.unique(labels)
        if count is not None:
            refuse_two_orders(known, "labels")
    if columns is not None:
        refuse_contradiction(columns, None if classes is None else known)
    if count is not None and len(known) != count:
        raise ValueError(
            f"probs must have a column for each of the {len(known)} classes, got {count}: say with classes=[...] what they are"
        )
    said, which = _distinct(labels)
    order = np.argsort(known, kind="stable")
    codes = order[np.minimum(np.searchsorted(known, said, sorter=order), len(known) - 1)]
    wrong = known[codes] != said
    if wrong.any():
        shown = ", ".join(map(str, known[:10].tolist()))
        raise ValueError(f"labels must be one of {shown}, got {labels[np.flatnonzero(wrong[which])[0]]!s}")
    if len(known) < 2:
        raise ValueError(f"every answer is {known[0]!s}: name all classes with classes=[...]")
    return known, codes.astype(np.uint32)[which]


def _places(told: Told, count: int | None) -> tuple[npt.NDArray[Any] | None, npt.NDArray[np.uint32], int]:
    """The names of the rows if they have some, the place of each answer's row, and how many rows there are."""
    if not told.named:
        if count is not None and count != told.count:
            raise ValueError(f"probs must have a row for each of the {told.count} rows of answers, got {count}")
        return None, told.rows.astype(np.uint32), told.count
    if count is not None:
        if told.rows.dtype.kind not in "iu":
            raise ValueError("beside probs, rows must be numbers counted from 0")
        bad = np.flatnonzero((told.rows < 0) | (told.rows >= count))
        if len(bad):
            raise ValueError(f"row must be in 0..{count}, got {told.rows[bad[0]]}")
        return None, told.rows.astype(np.uint32), count
    names, place = _distinct(told.rows)
    if names.dtype.kind in "iu" and names[0] == 0 and len(names) * 2 > int(names[-1]):
        return None, told.rows.astype(np.uint32), int(names[-1]) + 1
    first = np.empty(len(names), dtype=np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]  # the earliest is written last
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    return names[order], rank[place], len(names)


class Consensus:
    """One label per row. Made by :func:`tares.consensus`."""

    def __init__(
        self, found: _tares.ArrayConsensus, classes: npt.NDArray[Any], people: npt.NDArray[Any], ids: Any | None
    ) -> None:
        self._found, self._classes, self._people, self._ids = found, classes, people, ids

    @property
    def classes(self) -> npt.NDArray[Any]:
        """What the classes are called, in the order of the columns of :attr:`probabilities`."""
        return self._classes

    @cached_property
    def labels(self) -> npt.NDArray[Any]:
        """The consensus of every row."""
        return np.asarray(self._classes[self._found.labels()])

    @cached_property
    def probabilities(self) -> npt.NDArray[np.float64]:
        """The probability of each class, rows x classes: the soft consensus."""
        return self._found.posterior()

    @cached_property
    def rows(self) -> Table:
        """Per row: ``row``, ``id`` (if rows have names), ``label``, its ``probability``, the number of ``answers``, those that are the
        ``same``, and the ``gain``: what one more answer is expected to add to the probability."""
        answers, same = self._found.counts()
        ids = {} if self._ids is None else {"id": self._ids}
        return Table(
            {
                "row": np.arange(len(answers)),
                **ids,
                "label": self.labels,
                "probability": self._found.confidence(),
                "answers": answers,
                "same": same,
                "gain": self._found.gain(),
            }
        )

    @cached_property
    def annotators(self) -> Table:
        """Per annotator, best first: ``answers``, ``quality`` (the expected part that is right) with its interval ``low`` to ``high``,
        and ``agreement`` with the consensus (NaN without answers)."""
        answers, quality, low, high, agreement = self._found.quality()
        order = np.argsort(-quality, kind="stable")
        columns = {"answers": answers, "quality": quality, "low": low, "high": high, "agreement": agreement}
        return Table({"annotator": self._people[order], **{name: column[order] for name, column in columns.items()}})

    @cached_property
    def suspects(self) -> Table:
        """The answers that are probably wrong, worst first: ``row``, ``id``, ``annotator``, ``answered``, ``label``, and the
        ``probability`` that the answer is right."""
        row, who, label, right = self._found.answers()
        wrong = np.flatnonzero(self._found.labels()[row] != label)
        wrong = wrong[np.argsort(right[wrong], kind="stable")]
        ids = {} if self._ids is None else {"id": self._ids[row[wrong]]}
        return Table(
            {
                "row": row[wrong],
                **ids,
                "annotator": self._people[who[wrong]],
                "answered": self._classes[label[wrong]],
                "label": self.labels[row[wrong]],
                "probability": right[wrong],
            }
        )

    def confusion(self, annotator: Any = None) -> npt.NDArray[np.float64]:
        """What an annotator makes of each class, ``[true, answered]``; of all together by default."""
        if annotator is None:
            return self._found.shared()
        place = np.flatnonzero(self._people == annotator)
        if len(place) == 0:
            raise ValueError(f"no annotator {annotator!r}")
        return self._found.confusion(int(place[0]))

    def agreement(self, annotators: Sequence[Any] | None = None) -> npt.NDArray[np.float64]:
        """How often each pair of annotators agrees where both answered; NaN where they share no row."""
        if annotators is None:
            return self._found.agreement(list(range(len(self._people))))
        places = {name: place for place, name in enumerate(self._people.tolist())}
        lost = [name for name in annotators if name not in places]
        if lost:
            raise ValueError(f"no annotator {lost[0]!r}")
        return self._found.agreement([places[name] for name in annotators])

    def to_pandas(self) -> Any:
        """The rows as a pandas frame."""
        return self.rows.to_pandas()

    def to_polars(self) -> Any:
        """The rows as a polars frame."""
        return self.rows.to_polars()

    def to_arrow(self) -> Any:
        """The rows as an Arrow table."""
        return self.rows.to_arrow()

    def __len__(self) -> int:
        return len(self.rows)

    def _summary(self) -> str:
        sure = float(np.mean(self._found.confidence()))
        answers = int(self._found.quality()[0].sum())
        return (
            f"{answers:,} answers by {len(self._people):,} annotators to {len(self):,} rows; "
            f"the consensus is {100 * sure:.1f} % sure on average"
        )

    def __repr__(self) -> str:
        return f"<tares.Consensus: {self._summary()}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._summary())}</p>{self.annotators._repr_html_()}"
