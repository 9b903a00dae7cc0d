"""`audit`: which labels are wrong?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from html import escape
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tares import _tares
from tares._inputs import Labels, match_columns, names, read_probs
from tares._table import Table

Method = Literal["posterior", "confident", "argmax"]
Score = Literal["posterior", "self-confidence", "normalised-margin", "entropy-adjusted", "class-adjusted"]


def audit(
    labels: Any,
    probs: Any,
    *,
    method: Method = "posterior",
    score: Score = "posterior",
    classes: Sequence[Any] | None = None,
    normalise: bool = False,
) -> Audit:
    """Find the labels that are wrong.

    Parameters
    ----------
    labels
        The given label of every row: integers that count the columns of ``probs``, or names. A list, a NumPy array, a pandas or polars
        series, an Arrow array or a torch tensor. A pandas index is kept as the rows' ids.
    probs
        Out-of-sample probabilities, rows x classes: every row is judged by a model that was not trained on it. float32 and
        float64 arrays in C order are read where they lie; anything else is converted once.
    method
        ``"posterior"``: the probability that each label is wrong under a model of classifier and noise; ``"confident"``: confident
        learning, as cleanlab's default; ``"argmax"``: every label that is not the first choice.
    score
        How suspects are ranked. 0 is certainly wrong, 1 certainly right.
    classes
        What the columns of ``probs`` stand for. Not needed for integers, or if the columns of a frame are named after the classes.
    normalise
        Divide each row of ``probs`` by its sum.

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
    """
    values, columns = read_probs(probs)
    given, values = match_columns(labels, values, columns, classes)
    return Audit(_tares.audit(given.codes, values, method, score, normalise), given, labels)


def scores(
    labels: Any,
    probs: Any,
    *,
    score: Score = "posterior",
    classes: Sequence[Any] | None = None,
    normalise: bool = False,
) -> npt.NDArray[np.float64]:
    """The quality of every label, from 0 (certainly wrong) to 1 (certainly right).

    Parameters are those of :func:`audit`.

    Examples
    --------
    >>> tares.scores([0, 1], [[0.9, 0.1], [0.8, 0.2]], score="self-confidence")
    array([0.9, 0.2])
    """
    values, columns = read_probs(probs)
    given, values = match_columns(labels, values, columns, classes)
    return _tares.scores(given.codes, values, score, normalise)


class Audit:
    """What an audit found. Made by :func:`tares.audit`."""

    def __init__(self, found: _tares.ArrayAudit, labels: Labels, given: Any) -> None:
        self._found = found
        self._labels = labels

    @property
    def classes(self) -> npt.NDArray[Any]:
        """What the classes are called, in the order of the columns."""
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
                "score": found.score(),
                "p_given": found.p_given(),
                "p_suggested": found.p_suggested(),
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
        """Where the share most likely lies."""
        return self._found.noise_rate[1]

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
        """What should be known before rate and suspects are trusted, and every choice that was made: a sentence each."""
        return [*self._found.cautions(names(self.classes)), *self._labels.notes]

    @cached_property
    def is_suspect(self) -> npt.NDArray[np.bool_]:
        """For every row: is its label a suspect?"""
        mask = np.zeros(self._found.rows, dtype=np.bool_)
        mask[self.suspects["row"]] = True
        return mask

    @cached_property
    def corrected(self) -> npt.NDArray[Any]:
        """The labels, with all suggestions taken."""
        codes = self._labels.codes.astype(np.int64)
        codes[self._found.row()] = self._found.suggested()
        return np.asarray(self.classes[codes])

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
        return f"<p>{escape(self._summary())}</p>{notes}{self.suspects._repr_html_()}"
