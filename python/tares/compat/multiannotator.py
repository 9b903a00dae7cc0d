"""cleanlab.multiannotator: several people's labels of each row, under cleanlab's names.

Arguments and the shape of the results are cleanlab's. The numbers are those of :func:`tares.consensus`, which finds more of the true
labels than CROWDLAB does (docs/python.md); ``quality_method="agreement"`` and ``consensus_method="majority_vote"`` are the same in both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tares._consensus import Consensus, Told, consensus, consensus_of

if TYPE_CHECKING:
    import pandas

Floats = npt.NDArray[np.float64]

CONSENSUS_METHODS = ("best_quality", "majority_vote")
QUALITY_METHODS = ("crowdlab", "agreement")


def get_label_quality_multiannotator(
    labels_multiannotator: Any,
    pred_probs: Any,
    *,
    consensus_method: str | list[str] = "best_quality",
    quality_method: str = "crowdlab",
    calibrate_probs: bool = False,
    return_detailed_quality: bool = True,
    return_annotator_stats: bool = True,
    return_weights: bool = False,
    verbose: bool = True,
    label_quality_score_kwargs: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A consensus per row with its quality, the quality of every answer and of every annotator.

    ``labels_multiannotator`` is rows x annotators, integers 0, 1, ..., K-1, NaN where somebody did not answer; ``pred_probs`` are
    out-of-sample probabilities, rows x K. ``calibrate_probs`` has no effect: probabilities are always calibrated. There are no weights of
    models and annotators: ``return_weights=True`` is an error.

    Examples
    --------
    >>> labels = np.array([[0, 0, 1], [1, 1, 1], [0, np.nan, 1], [1, 1, np.nan]])
    >>> probs = np.array([[0.8, 0.2], [0.1, 0.9], [0.7, 0.3], [0.2, 0.8]])
    >>> found = get_label_quality_multiannotator(labels, probs, verbose=False)
    >>> found["label_quality"]["consensus_label"].tolist()
    [0, 1, 0, 1]
    """
    import pandas

    if return_weights:
        raise ValueError("return_weights must be False: the posterior has a matrix per annotator, not a weight")
    if label_quality_score_kwargs:
        raise ValueError(f"label_quality_score_kwargs must be empty, got {label_quality_score_kwargs}")
    methods = [consensus_method] if isinstance(consensus_method, str) else list(consensus_method)
    for method in methods:
        _one_of(method, "consensus_method", CONSENSUS_METHODS)
    _one_of(quality_method, "quality_method", QUALITY_METHODS)
    table, annotators, index = _table(labels_multiannotator)
    probs = np.asarray(pred_probs, dtype=np.float64)
    # Most of a wide table is empty: it is read once, and everything is counted over the answers alone.
    rows, people = np.nonzero(~np.isnan(table))
    answers = np.bincount(rows, minlength=len(table))
    said = _whole(table[rows, people])
    told = Told(rows, False, len(table), people, np.arange(table.shape[1]), said)
    found = consensus_of(told, probs, range(probs.shape[1]))
    posterior = found.probabilities

    def agreement(labels: npt.NDArray[np.int64]) -> Floats:
        return np.asarray(np.bincount(rows, said == labels[rows], len(table)) / answers)

    def labels_of(method: str) -> npt.NDArray[np.int64]:
        return _majority(table, probs) if method == "majority_vote" else found.labels.astype(np.int64)

    columns: dict[str, Any] = {}
    for place, method in enumerate(methods):
        end = "" if place == 0 else f"_{method}"
        labels = labels_of(method)
        quality = agreement(labels) if quality_method == "agreement" else posterior[np.arange(len(labels)), labels]
        columns[f"consensus_label{end}"] = labels
        columns[f"consensus_quality_score{end}"] = quality
        columns[f"annotator_agreement{end}"] = agreement(labels)
        if place == 0:
            columns["num_annotations"] = answers
    result: dict[str, Any] = {"label_quality": pandas.DataFrame(columns, index=index)}
    if return_detailed_quality:
        detailed = np.full(table.shape, np.nan)
        detailed[rows, people] = posterior[rows, said]
        names = range(table.shape[1]) if annotators is None else annotators
        titles = [f"quality_annotator_{name}" for name in names]
        frame = pandas.DataFrame(detailed, index=index, columns=titles, copy=False)
        result["detailed_label_quality"] = frame
    if return_annotator_stats:
        labels = labels_of(methods[0])[rows]
        result["annotator_stats"] = _annotator_stats(found, table.shape[1], people, said, labels, annotators, quality_method)
    return result


def get_label_quality_multiannotator_ensemble(
    labels_multiannotator: Any,
    pred_probs: Any,
    *,
    calibrate_probs: bool = False,
    return_detailed_quality: bool = True,
    return_annotator_stats: bool = True,
    return_weights: bool = False,
    verbose: bool = True,
    label_quality_score_kwargs: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The same with several classifiers, models x rows x K: their probabilities are averaged."""
    return get_label_quality_multiannotator(
        labels_multiannotator,
        _averaged(pred_probs),
        return_detailed_quality=return_detailed_quality,
        return_annotator_stats=return_annotator_stats,
        return_weights=return_weights,
        verbose=verbose,
        label_quality_score_kwargs=label_quality_score_kwargs,
    )


def get_active_learning_scores(
    labels_multiannotator: Any = None, pred_probs: Any = None, pred_probs_unlabeled: Any = None
) -> tuple[Floats, Floats]:
    """What to label next: a score per labelled and per unlabelled row, lowest first.

    The score is 1 minus what one more answer is expected to add to the probability that the consensus is right.

    Examples
    --------
    >>> labels = np.array([[0, 1], [1, 1], [0, 0]])
    >>> probs = np.array([[0.5, 0.5], [0.1, 0.9], [0.9, 0.1]])
    >>> labelled, unlabelled = get_active_learning_scores(labels, probs, np.array([[0.5, 0.5], [0.99, 0.01]]))
    >>> int(labelled.argmin()), int(unlabelled.argmin())
    (0, 0)
    """
    if labels_multiannotator is None or pred_probs is None:
        raise ValueError("labels_multiannotator and pred_probs must be given: without answers nobody's skill is known")
    table, _, _ = _table(labels_multiannotator)
    probs = np.asarray(pred_probs, dtype=np.float64)
    more = np.empty((0, probs.shape[1])) if pred_probs_unlabeled is None else np.asarray(pred_probs_unlabeled, float)
    if more.ndim != 2 or more.shape[1] != probs.shape[1]:
        raise ValueError(f"pred_probs_unlabeled must have {probs.shape[1]} columns, got an array of {more.shape}")
    empty = np.full((len(more), table.shape[1]), np.nan)
    found = consensus(np.concatenate([table, empty]), np.concatenate([probs, more]))
    scores = 1.0 - found.rows["gain"]
    return scores[: len(table)], scores[len(table) :]


def get_active_learning_scores_ensemble(
    labels_multiannotator: Any = None, pred_probs: Any = None, pred_probs_unlabeled: Any = None
) -> tuple[Floats, Floats]:
    """The same with several classifiers, models x rows x K: their probabilities are averaged."""
    more = None if pred_probs_unlabeled is None else _averaged(pred_probs_unlabeled)
    return get_active_learning_scores(labels_multiannotator, None if pred_probs is None else _averaged(pred_probs), more)


def get_majority_vote_label(
    labels_multiannotator: Any, pred_probs: Any = None, verbose: bool = True
) -> npt.NDArray[np.int64]:
    """The most frequent label. Ties are broken by the classifier's probability, then by how frequent the label is overall, then by how
    much its annotators agree with the others, then by order.

    Examples
    --------
    >>> get_majority_vote_label(np.array([[0, 1, 1], [0, np.nan, 1], [0, 0, 1]]), np.array([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]]))
    array([1, 1, 0])
    """
    table, _, _ = _table(labels_multiannotator)
    return _majority(table, None if pred_probs is None else np.asarray(pred_probs, dtype=np.float64))


def convert_long_to_wide_dataset(labels_multiannotator_long: Any) -> pandas.DataFrame:
    """A frame with the columns ``task``, ``annotator`` and ``label`` as rows x annotators."""
    missing = [name for name in ("task", "annotator", "label") if name not in labels_multiannotator_long.columns]
    if missing:
        raise ValueError(f"the frame must have the columns task, annotator and label, got none called {missing[0]}")
    wide = labels_multiannotator_long.pivot(index="task", columns="annotator", values="label")
    wide.index.name = wide.columns.name = None
    return wide


def _table(labels: Any) -> tuple[Floats, Any | None, Any | None]:
    """Rows x annotators as numbers, the names of the annotators and of the rows."""
    annotators = getattr(labels, "columns", None)
    index = labels.index if annotators is not None else None
    values = labels.to_numpy() if annotators is not None else np.asarray(labels)
    if values.ndim != 2:
        raise ValueError(f"labels_multiannotator must be rows x annotators, got an array of {values.shape}")
    if values.dtype.kind == "O":
        values = np.array([[np.nan if _absent(cell) else cell for cell in row] for row in values.tolist()], dtype=object)
    try:
        table = values.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError("labels must be integers 0, 1, ..., K-1, or NaN") from error
    # fmin skips NaN: a row is empty if nothing is left.
    lost = np.flatnonzero(np.isnan(np.fmin.reduce(table, axis=1, initial=np.nan)))
    if len(lost):
        raise ValueError(f"every row must have an answer, got none in row {lost[0]}")
    return table, annotators, index


def _absent(cell: Any) -> bool:
    return cell is None or cell != cell or type(cell).__name__ == "NAType"


def _whole(labels: Floats) -> npt.NDArray[np.int64]:
    whole = labels.astype(np.int64)
    bad = np.flatnonzero(whole != labels)
    if len(bad):
        raise ValueError(f"labels must be integers 0, 1, ..., K-1, or NaN, got {labels[bad[0]]}")
    return whole


def _averaged(probs: Any) -> Floats:
    stacked = np.asarray(probs, dtype=np.float64)
    if stacked.ndim != 3:
        raise ValueError(f"pred_probs must be models x rows x classes, got an array of {stacked.shape}")
    return np.asarray(stacked.mean(axis=0))


def _majority(table: Floats, probs: Floats | None) -> npt.NDArray[np.int64]:
    classes = int(np.nanmax(table)) + 1 if probs is None else probs.shape[1]
    rows, people = np.nonzero(~np.isnan(table))
    labels = table[rows, people].astype(np.int64)
    votes = np.zeros((len(table), classes))
    np.add.at(votes, (rows, labels), 1)
    tied = votes == votes.max(axis=1, keepdims=True)
    shares = np.bincount(labels, minlength=classes).astype(np.float64)
    for judge in ([] if probs is None else [probs]) + [np.broadcast_to(shares, votes.shape)]:
        worth = np.where(tied, judge, -np.inf)
        tied = worth == worth.max(axis=1, keepdims=True)
    sure = np.where(tied.sum(axis=1) == 1, tied.argmax(axis=1), -1)
    open_rows = np.flatnonzero(sure < 0)
    if len(open_rows):
        # How often an annotator's label is the one that rows without a tie have.
        known = sure[rows] >= 0
        count = np.bincount(people[known], minlength=table.shape[1])
        right = np.bincount(people[known], (sure[rows] == labels)[known].astype(float), table.shape[1])
        skill = np.where(count > 0, right / np.maximum(count, 1), 0.0)
        for row in open_rows:
            own = np.flatnonzero(~np.isnan(table[row]))
            said = table[row, own].astype(np.int64)
            skills = [float(skill[own[said == label]].mean()) if tied[row, label] else -1.0 for label in range(classes)]
            sure[row] = int(np.argmax(skills))
    return sure.astype(np.int64)


def _annotator_stats(
    found: Consensus,
    count: int,
    people: npt.NDArray[np.int64],
    said: npt.NDArray[np.int64],
    labels: npt.NDArray[np.int64],
    annotators: Any | None,
    quality_method: str,
) -> pandas.DataFrame:
    """Worst annotator first. ``people`` gave the answers ``said`` to rows whose consensus are the ``labels``."""
    import pandas

    counts = np.bincount(people, minlength=count)
    same = (said == labels).astype(np.float64)
    agreement = np.where(counts > 0, np.bincount(people, same, count) / np.maximum(counts, 1), np.nan)
    best = found.annotators
    place = {name: at for at, name in enumerate(best["annotator"].tolist())}
    quality = np.array([best["quality"][place[who]] for who in range(count)])
    classes = found.probabilities.shape[1]
    cells = people * classes + labels
    rows = np.bincount(cells, minlength=count * classes).reshape(count, classes)
    right = np.bincount(cells, same, count * classes).reshape(count, classes)
    worst = np.where(rows > 0, right / np.maximum(rows, 1), np.inf).argmin(axis=1)
    frame = pandas.DataFrame(
        {
            "annotator_quality": agreement if quality_method == "agreement" else quality,
            "agreement_with_consensus": agreement,
            "worst_class": worst,
            "num_examples_labeled": counts,
        },
        index=annotators,
    )
    return frame.sort_values(by=["annotator_quality", "agreement_with_consensus"])


def _one_of(value: str, what: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{what} must be one of {', '.join(allowed)}, got {value!r}")
