"""`audit`: which labels are wrong?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from html import escape
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tares import _tares
from tares._columns import match_columns
from tares._inputs import Labels, as_array, index_of as read_index, is_missing, listed, names, read_classes, read_labels, read_probs, shape_of
from tares._progress import Bar
from tares._rows import MISSING, Rows, columns_of, is_frame, read_rows
from tares._same_rows import refuse_other_rows
from tares._table import Table
from tares._whole_numbers import whole_number

Method = Literal["posterior", "confident", "argmax"]
Score = Literal["posterior", "self-confidence", "normalised-margin", "entropy-adjusted", "class-adjusted"]


def audit(
    labels: Any,
    probs: Any = None,
    *,
    method: Method = "posterior",
    score: Score = "posterior",
    features: Any = None,
    truth: Any = None,
    label: str | None = None,
    classes: Sequence[Any] | npt.NDArray[Any] | None = None,
    normalise: bool = False,
    judges: str | Sequence[str] | None = None,
    text: str | Sequence[str] = (),
    folds: int | None = None,
    epochs: int = 30,
    seed: int = 1,
    progress: bool | None = None,
) -> Audit:
    """Find the labels that are wrong.

    Three ways: ``audit(labels, probs)`` uses any model's out-of-sample probabilities; ``audit(frame, label="species")`` and
    ``audit(labels, features=embeddings)`` need none: they train judges on folds of the data, and each judge predicts rows that it was
    not trained on.

    Parameters
    ----------
    labels
        The given label of every row: integers that count the columns of ``probs``, or names. A list, a NumPy array, a pandas or polars
        series, an Arrow array or a torch tensor. A pandas index is kept as the rows' ids. With ``label``, a frame (pandas, polars, Arrow,
        or a dictionary of columns).
    probs
        Out-of-sample probabilities, rows x classes: every row is judged by a model that was not trained on it. float32 and
        float64 arrays in C order are read without a copy; anything else is converted once.
    method
        ``"posterior"``: the probability that each label is wrong under a model of classifier and noise; ``"confident"``: confident
        learning, as cleanlab's default; ``"argmax"``: every label that is not the most probable class.
    score
        How suspects are ranked. 0 is certainly wrong, 1 certainly right.
    features
        The rows themselves: embeddings of any network (rows x features), a frame, or pictures (rows x channels x height x width).
        Rows whose label is None, NaN or empty are not judged: :attr:`Audit.unlabelled` suggests labels for them.
        Beside ``probs`` they add a second estimate of the noise rate, from the labels of each row's nearest neighbours.
    truth
        The true labels, to measure how good the audit is: :attr:`Audit.against_truth`.
    label
        The column of the frame that holds the labels; all others are features. Rows without a label are not judged.
    classes
        The classes of the columns of ``probs``. Not needed for integers, or if the columns of a frame are named after the classes.
    normalise
        Divide each row of ``probs`` by its sum.
    judges
        Without ``probs``: the judges, as in ``["linear", "trees", "mlp"]`` or ``"linear"``. By default those that suit the rows.
    text
        Without ``probs``: columns that hold texts. Others are recognised.
    folds, epochs, seed
        Without ``probs``: how many folds; epochs of judges that are networks; the same seed gives the same audit.
    progress
        Without ``probs``: whether to show a progress bar. By default in a terminal, if tqdm is installed.

    Returns
    -------
    Audit
        The suspects, worst first, and how many labels are wrong.

    Examples
    --------
    >>> probs = np.array([[0.95, 0.05], [0.9, 0.1], [0.98, 0.02], [0.04, 0.96], [0.1, 0.9], [0.97, 0.03]])
    >>> found = tares.audit([0, 0, 0, 1, 1, 1], probs, method="confident")
    >>> found.suspects["row"]
    array([5])
    >>> found.corrected
    array([0, 0, 0, 1, 1, 0])

    From data alone:

    >>> draw = np.random.default_rng(0)
    >>> species = np.repeat(["rose", "tulip"], 50)
    >>> length = np.where(species == "rose", 2.0, 5.0) + draw.normal(size=100)
    >>> species[7] = "tulip"
    >>> found = tares.audit({"length": length, "species": species}, label="species")
    >>> 7 in found.suspects["row"]
    True
    """
    for what, rows in (("probs", probs), ("features", features), ("truth", truth)):
        refuse_other_rows(labels, "labels", rows, what)
    if probs is None:
        settings = {
            "judges": listed(judges),
            "folds": None if folds is None else whole_number(folds, "folds", 2),
            "epochs": whole_number(epochs, "epochs", 1),
            "seed": whole_number(seed, "seed", 0, 2**64 - 1),
            "method": method,
            "score": score,
            "texts": listed(text),
        }
        read, given = _of_data(labels, label, features, classes)
        return _judge(read, given, settings, truth, progress)
    if label is not None:
        raise ValueError("label names the labels in a frame of data; with probs, pass the labels themselves: frame[label]")
    values, columns = read_probs(probs)
    given = match_columns(labels, values.shape[1], columns, classes)
    found = _tares.audit(
        given.codes, values, method, score, normalise, _truth(truth, given, len(given.codes)), _matrix(features, len(given.codes))
    )
    return Audit(found, given)


def _of_data(labels: Any, label: str | None, features: Any, classes: Sequence[Any] | npt.NDArray[Any] | None) -> tuple[Rows, Labels]:
    """The rows to judge, and their labels."""
    known = None if classes is None else as_array(classes, "classes")
    if label is None:
        if is_frame(labels):
            raise ValueError("label must name the column of the frame that holds the labels, got None")
        if features is None:
            raise ValueError("probs (a model's out-of-sample probabilities) or features (the rows themselves) must be given, got neither")
        given = _labels_or_missing(labels, known, "labels")
        rows = read_rows(features, "features", features=True)
    else:
        if not is_frame(labels):
            raise TypeError(f"with label=..., the first argument must be a frame, got {type(labels).__name__}")
        if features is not None:
            raise ValueError("features must be None with label=...: the columns of the frame are the features")
        columns = columns_of(labels)
        if label not in [name for name, _ in columns]:
            raise ValueError(f"label must be a column of the frame ({', '.join(str(name) for name, _ in columns)}), got {label!r}")
        column = next(column for name, column in columns if name == label)
        given = _labels_or_missing(column, known, f"column {label!r}")
        rows = read_rows({name: column for name, column in columns if name != label}, "the frame")
        rows = Rows(rows.content, len(rows), given.index)
    if len(rows) != len(given.codes):
        raise ValueError(f"features must have a row for each of the {len(given.codes)} labels, got {len(rows)}")
    return rows, given


def _labels_or_missing(labels: Any, known: npt.NDArray[Any] | None, what: str) -> Labels:
    """Labels, some of which may be missing: those get the code MISSING."""
    values = as_array(labels, what)
    if values.ndim != 1:
        raise ValueError(f"{what} must be one-dimensional, got {shape_of(values)}")
    if values.dtype.kind == "f":
        absent = np.isnan(values)
    elif values.dtype.kind in "OT":
        absent = np.array([_is_absent(cell) for cell in values.tolist()], dtype=np.bool_)
    elif values.dtype.kind == "U":
        absent = np.char.strip(values) == ""
    else:
        absent = np.zeros(len(values), dtype=np.bool_)
    if len(values) == 0:
        raise ValueError(f"{what} must not be empty, got no rows")
    there = np.flatnonzero(~absent)
    if len(there) == 0:
        raise ValueError(f"{what} must hold a label, got {len(values)} rows without one")
    present = values[there]
    some = read_classes(present, what, there) if known is None else read_labels(present, known, what, there)
    codes = np.full(len(values), MISSING, dtype=np.uint32)
    codes[there] = some.codes
    return Labels(codes, some.classes, read_index(labels), some.notes)


def _is_absent(cell: Any) -> bool:
    """Whether a cell holds no label. An empty text is none either, as in a file."""
    return is_missing(cell) or (isinstance(cell, str) and not cell.strip())


def _judge(rows: Rows, given: Labels, settings: dict[str, Any], truth: Any, progress: bool | None) -> Audit:
    ids = given.index if given.index is not None else rows.index
    listed = None if ids is None else [str(name) for name in ids]
    with TemporaryDirectory(prefix="tares-") as folds, Bar(progress) as hear:
        found = _tares.audit_rows(
            rows.content, given.codes, names(given.classes), listed, settings, folds, _truth(truth, given, len(rows)), hear
        )
    return Audit(found, Labels(given.codes, given.classes, ids, given.notes))


def _truth(truth: Any, given: Labels, rows: int) -> npt.NDArray[np.uint32] | None:
    if truth is None:
        return None
    codes = read_labels(truth, given.classes, "truth").codes
    if len(codes) != rows:
        raise ValueError(f"truth must have a label for each of the {rows} rows, got {len(codes)}")
    if len(codes) and codes.max() >= len(given.classes):
        row = int(np.argmax(codes >= len(given.classes)))
        raise ValueError(f"truth must be in 0..{len(given.classes)}, got {codes[row]} at row {row}")
    return codes


def _matrix(features: Any, rows: int) -> npt.NDArray[np.float32] | None:
    if features is None:
        return None
    values = as_array(features, "features")
    if values.ndim != 2 or values.dtype.kind not in "fiub" or values.shape[1] == 0:
        raise ValueError(f"features must be numbers, rows x features, got {values.dtype} of shape {values.shape}")
    if len(values) != rows:
        raise ValueError(f"features must have a row for each of the {rows} labels, got {len(values)}")
    return np.ascontiguousarray(values, dtype=np.float32)


def scores(
    labels: Any,
    probs: Any,
    *,
    score: Score = "posterior",
    classes: Sequence[Any] | npt.NDArray[Any] | None = None,
    normalise: bool = False,
) -> npt.NDArray[np.float64]:
    """The quality of every label, from 0 (certainly wrong) to 1 (certainly right).

    Parameters are those of :func:`audit`.

    Examples
    --------
    >>> tares.scores([0, 1], [[0.9, 0.1], [0.8, 0.2]], score="self-confidence")
    array([0.9, 0.2])
    """
    refuse_other_rows(labels, "labels", probs, "probs")
    values, columns = read_probs(probs)
    given = match_columns(labels, values.shape[1], columns, classes)
    return _tares.scores(given.codes, values, score, normalise)


class AgainstTruth(NamedTuple):
    """How good an audit is. ``None`` where a figure is not defined."""

    #: The number of wrong labels.
    wrong: int
    #: Of the suspects, the share whose label is wrong.
    precision: float | None
    #: Of the wrong labels, the share that is suspected.
    recall: float | None
    f1: float | None
    #: The chance that a wrong label has a lower score than a right one.
    auroc: float | None
    average_precision: float | None
    #: Of the wrong labels that were found, the share whose suggestion is the truth.
    right_suggestions: float | None


class Audit:
    """The result of :func:`tares.audit`."""

    def __init__(self, found: _tares.ArrayAudit, labels: Labels) -> None:
        self._found = found
        self._labels = labels

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The names of the classes, in the order of the columns."""
        return self._labels.classes

    @cached_property
    def suspects(self) -> Table:
        """The labels that are probably wrong, worst first.

        Columns: ``row``, ``id`` (with a pandas index), ``given``, ``suggested``, ``score``, ``p_given``, ``p_suggested``, ``reason``.
        """
        found, classes, index = self._found, self.classes, self._labels.index
        row = found.row()
        ids = {} if index is None else {"id": lambda: np.asarray(index)[row]}
        return Table(
            {
                "row": row,
                **ids,
                "given": lambda: classes[found.given()],
                "suggested": lambda: classes[found.suggested()],
                # Methods, called when the column is first used: a mask of the suspects needs none of them.
                "score": found.score,
                "p_given": found.p_given,
                "p_suggested": found.p_suggested,
                "reason": lambda: np.array(found.reasons(names(classes)), dtype=object),
            },
            index=None if index is None else index[row],
        )

    @property
    def noise_rate(self) -> float:
        """The estimated share of wrong labels."""
        return self._found.noise_rate[0]

    @property
    def noise_rate_interval(self) -> tuple[float, float]:
        """The interval in which the share most likely lies."""
        return self._found.noise_rate[1]

    @property
    def neighbours_rate(self) -> tuple[float, tuple[float, float]] | None:
        """The share of wrong labels estimated from each row's nearest neighbours, and its interval: with ``features`` beside ``probs``."""
        return self._found.neighbours

    @property
    def against_truth(self) -> AgainstTruth | None:
        """How good the audit is, if ``truth`` was given."""
        found = self._found.against_truth
        return None if found is None else AgainstTruth(*found)

    @cached_property
    def judges(self) -> Table | None:
        """Without ``probs``: the judges. ``agreement``: the share of given labels each predicted; ``weight``: its share in the blend."""
        rows = self._found.judges()
        if not rows:
            return None
        columns = dict(zip(["judge", "agreement", "log_loss", "weight", "setting"], zip(*rows)))
        return Table({name: np.array(cells, dtype=object if name in ("judge", "setting") else None) for name, cells in columns.items()})

    @cached_property
    def probs(self) -> npt.NDArray[np.float64] | None:
        """Without ``probs``: the judges' probabilities, rows x classes. Rows without a label are not judged: they are NaN."""
        said = self._found.probs()
        if said is None:
            return None
        everywhere = np.full((len(self._labels.codes), len(self.classes)), np.nan)
        everywhere[said[0]] = said[1]
        return everywhere

    @cached_property
    def unlabelled(self) -> Table:
        """Without ``probs``: rows that have no label, with a suggested label and its probability; with a pandas index also their ``id``."""
        row, suggested, probability = self._found.missing()
        index = self._labels.index
        ids = {} if index is None else {"id": np.asarray(index)[row]}
        columns = {"row": row, **ids, "suggested": self.classes[suggested], "probability": probability}
        return Table(columns, index=None if index is None else index[row])

    @cached_property
    def transition(self) -> npt.NDArray[np.float64]:
        """Which classes are mistaken for which: ``transition[true, given]``, rows sum to 1."""
        return self._found.transition()

    @cached_property
    def per_class(self) -> Table:
        """Per class: ``rows`` with its label, ``suspects`` among them, rows that should have it but don't (``missing``), and the mean
        probability of the given label (``self_confidence``)."""
        rows, suspects, missing, confidence = self._found.per_class()
        return Table(
            {"class": self.classes, "rows": rows, "suspects": suspects, "missing": missing, "self_confidence": confidence}
        )

    @cached_property
    def warnings(self) -> list[str]:
        """Reasons not to trust the rate and the suspects, and every choice that was made: a sentence each."""
        return [*self._found.cautions(names(self.classes)), *self._labels.notes]

    @cached_property
    def is_suspect(self) -> npt.NDArray[np.bool_]:
        """For every row: is its label a suspect?"""
        return self._found.mask(len(self._labels.codes))

    @cached_property
    def corrected(self) -> npt.NDArray[Any]:
        """The labels, with all suggestions taken. Rows without a label get the suggested one, or ``None`` if there is no suggestion."""
        codes = self._labels.codes.astype(np.int64)
        codes[self._found.row()] = self._found.suggested()
        row, suggested, _ = self._found.missing()
        codes[row] = suggested
        absent = codes == MISSING
        if not absent.any():
            return np.asarray(self.classes[codes])
        corrected = np.full(len(codes), None, dtype=object)
        corrected[~absent] = self.classes[codes[~absent]]
        return corrected

    def save(self, directory: str | PathLike[str], *, gallery: int = 1000) -> Path:
        """Write the files of ``tares audit``: ``suspects.csv``, ``labels-suggested.csv``, ``summary.json``, and ``audit.html``, a page for
        reviewing the suspects. Returns the page's path.

        Parameters
        ----------
        directory
            Where to write; created if necessary. Files of an earlier audit are replaced.
        gallery
            How many suspects the page shows.

        Examples
        --------
        >>> found = tares.audit([0, 0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.95, 0.05]], method="argmax")
        >>> found.save(getfixture("tmp_path")).name
        'audit.html'
        """
        if gallery < 0:
            raise ValueError(f"gallery must be at least 0, got {gallery}")
        index = self._labels.index
        ids = [] if index is None else [str(name) for name in index]
        self._found.save(fspath(directory), self._labels.codes, names(self.classes), ids, list(self._labels.notes), gallery)
        return Path(directory) / "audit.html"

    # It never changes, so a copy would be the same.
    def __copy__(self) -> Audit:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Audit:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("an Audit cannot be pickled: keep its suspects, per_class or corrected, which can, or save(directory)")

    def to_pandas(self) -> Any:
        """The suspects as a pandas frame."""
        return self.suspects.to_pandas()

    def to_polars(self) -> Any:
        """The suspects as a polars frame."""
        return self.suspects.to_polars()

    def to_arrow(self) -> Any:
        """The suspects as an Arrow table."""
        return self.suspects.to_arrow()

    def __len__(self) -> int:
        return len(self.suspects)

    def _summary(self) -> str:
        low, high = self.noise_rate_interval
        return (
            f"{len(self):,} of {self._found.rows:,} labels are suspects; "
            f"noise rate {100 * self.noise_rate:.1f} % ({100 * low:.1f} to {100 * high:.1f} %)"
        )

    def __repr__(self) -> str:
        return "\n".join([f"<tares.Audit: {self._summary()}>", *(f"note: {text}" for text in self.warnings)])

    def _repr_html_(self) -> str:
        notes = "".join(f"<p><b>Note:</b> {escape(text)}</p>" for text in self.warnings)
        return f"<p><b>{escape(self._summary())}</b></p>{notes}{self.suspects._repr_html_()}{self._per_class_html()}"

    def _per_class_html(self) -> str:
        if len(self.classes) > 50:
            return ""
        return f"<details><summary>per class</summary>{self.per_class._repr_html_(most=50)}</details>"
