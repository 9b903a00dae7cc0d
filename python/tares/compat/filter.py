"""cleanlab.filter: which labels are wrong."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tares.compat._checked import Floats, Ints, checked, one_of, refuse_multi_label
from tares.compat._rounding import label_counts, round_rows
from tares.compat.count import calibrate_confident_joint, compute_confident_joint, num_label_issues, prediction_is_given
from tares.compat.rank import get_label_quality_scores, order_label_issues

Mask = npt.NDArray[np.bool_]

PRUNING = ["prune_by_noise_rate", "prune_by_class", "both"]
FILTERS = [*PRUNING, "confident_learning", "predicted_neq_given", "low_normalized_margin", "low_self_confidence"]


def find_label_issues(
    labels: Any,
    pred_probs: Any,
    *,
    return_indices_ranked_by: str | None = None,
    rank_by_kwargs: Mapping[str, Any] | None = None,
    filter_by: str = "prune_by_noise_rate",
    frac_noise: float = 1.0,
    num_to_remove_per_class: npt.ArrayLike | None = None,
    min_examples_per_class: int = 1,
    confident_joint: npt.NDArray[Any] | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    multi_label: bool = False,
) -> Any:
    """The labels that are wrong: a mask over all rows, or their rows, worst first, with ``return_indices_ranked_by``.

    Parameters
    ----------
    labels, pred_probs
        Class numbers, and out-of-sample probabilities, rows x classes.
    return_indices_ranked_by
        ``"self_confidence"``, ``"normalized_margin"`` or ``"confidence_weighted_entropy"``.
    filter_by
        ``"prune_by_noise_rate"``: for every (given, true) pair as many rows as the confident joint counts, by their margin;
        ``"prune_by_class"``: for every class as many rows as it has wrong labels, by the label's probability; ``"both"``: rows that both
        find; ``"confident_learning"``: the rows off the joint's diagonal; ``"predicted_neq_given"``: the likeliest class is another one;
        ``"low_normalized_margin"``, ``"low_self_confidence"``: the lowest scores, as many as :func:`num_label_issues` says.
    frac_noise
        The pruning filters flag this fraction of the rows that they would flag.
    n_jobs
        Not used.

    Examples
    --------
    >>> probs = np.array([[0.95, 0.05], [0.9, 0.1], [0.98, 0.02], [0.04, 0.96], [0.1, 0.9], [0.97, 0.03]])
    >>> find_label_issues([0, 0, 0, 1, 1, 1], probs)
    array([False, False, False, False, False,  True])
    >>> find_label_issues([0, 0, 0, 1, 1, 1], probs, return_indices_ranked_by="self_confidence")
    array([5])
    """
    refuse_multi_label(multi_label)
    one_of(filter_by, "filter_by", FILTERS)
    if n_jobs is not None and n_jobs < 1:
        raise ValueError(f"n_jobs must be at least 1, got {n_jobs}")
    given, probs = checked(labels, pred_probs, one_class=False)
    if filter_by not in PRUNING and num_to_remove_per_class is not None:
        raise ValueError(f"num_to_remove_per_class works with {', '.join(PRUNING)}, got filter_by={filter_by!r}")
    if filter_by not in PRUNING and frac_noise != 1.0:
        warnings.warn(f"frac_noise is used by {', '.join(PRUNING)} alone, not by {filter_by}", stacklevel=2)
    if filter_by == "confident_learning" and confident_joint is not None:
        warnings.warn("confident_joint is not used with filter_by='confident_learning': it is computed anew", stacklevel=2)

    if filter_by in PRUNING:
        counts = _counts_to_prune(given, probs, confident_joint, min_examples_per_class, frac_noise, num_to_remove_per_class)
        mask = _prune(given, probs, counts, filter_by, min_examples_per_class)
    else:
        mask = np.zeros(len(given), dtype=np.bool_)
        mask[_rows_of(given, probs, filter_by)] = True
    if not filter_by.startswith("low_"):
        flagged = np.flatnonzero(mask)
        mask[flagged[prediction_is_given(given[flagged], probs[flagged])]] = False
    if verbose:
        print(f"labels that are probably wrong: {int(mask.sum())}")
    if return_indices_ranked_by is None:
        return mask
    return order_label_issues(mask, given, probs, rank_by=return_indices_ranked_by, rank_by_kwargs=rank_by_kwargs)


def _rows_of(given: Ints, probs: Floats, filter_by: str) -> Ints:
    if filter_by == "confident_learning":
        return compute_confident_joint(given, probs, return_indices_of_off_diagonals=True)[1]
    if filter_by == "predicted_neq_given":
        return np.flatnonzero(probs.argmax(axis=1) != given)
    scores = get_label_quality_scores(given, probs, method=filter_by.removeprefix("low_"))
    return np.argsort(scores)[: num_label_issues(given, probs)]


def _counts_to_prune(
    given: Ints,
    probs: Floats,
    confident_joint: npt.NDArray[Any] | None,
    least: int,
    part: float,
    per_class: npt.ArrayLike | None,
) -> Ints:
    """How many rows of each given label (column) are truly of each class (row)."""
    joint = compute_confident_joint(given, probs) if confident_joint is None else np.asarray(confident_joint)
    classes = probs.shape[1]
    if joint.shape != (classes, classes):
        raise ValueError(f"confident_joint must be {classes} x {classes}, got shape {joint.shape}")
    counts = joint.T.astype(np.float64)
    right = counts.diagonal().copy()
    kept = np.maximum(right, least)
    # What is added to the diagonal is subtracted from the other entries of that label in equal parts.
    mistakes = np.maximum(np.count_nonzero(counts, axis=0) - 1.0, 1.0)
    counts = np.maximum(counts - (kept - right) / mistakes, 0)
    np.fill_diagonal(counts, kept)
    reduced = counts * part
    np.fill_diagonal(reduced, kept)
    np.fill_diagonal(reduced, kept + (counts - reduced).sum(axis=0))
    wanted = round_rows(reduced.astype(np.int64))
    if per_class is None:
        return wanted
    remove = np.asarray(per_class)
    if remove.shape != (classes,):
        raise ValueError(f"num_to_remove_per_class must be {classes} numbers, got shape {remove.shape}")
    shares = wanted / wanted.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = (shares.T * remove / (shares.sum(axis=1) - shares.diagonal())).T
    np.fill_diagonal(scaled, label_counts(given, classes) - remove)
    if not np.isfinite(scaled).all():
        raise ValueError("num_to_remove_per_class asks for rows of a class in which nothing is wrong")
    return round_rows(scaled)


def _prune(given: Ints, probs: Floats, counts: Ints, filter_by: str, least: int) -> Mask:
    mask = np.zeros(len(given), dtype=np.bool_)
    sizes = label_counts(given, probs.shape[1])
    order = np.argsort(given, kind="stable")
    for label, rows in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
        if len(rows) <= max(least, 1):
            continue
        own = probs[rows]
        by_rate = _by_noise_rate(own, label, counts[:, label]) if filter_by != "prune_by_class" else None
        by_class = _by_class(own[:, label], len(rows) - int(counts[label, label])) if filter_by != "prune_by_noise_rate" else None
        found = by_class if by_rate is None else by_rate if by_class is None else by_rate & by_class
        mask[rows] = found
    _warn_of_small_classes(sizes, least)
    return mask


def _by_noise_rate(own: Floats, label: int, counts: Ints) -> Mask:
    mask = np.zeros(len(own), dtype=np.bool_)
    for truth in np.flatnonzero(counts > 0):
        if truth != label:
            mask[np.argsort(-(own[:, truth] - own[:, label]))[: counts[truth]]] = True
    return mask


def _by_class(own: Floats, wrong: int) -> Mask:
    mask = np.zeros(len(own), dtype=np.bool_)
    if wrong >= 1:
        mask[np.argsort(own)[:wrong]] = True
    return mask


def _warn_of_small_classes(sizes: Ints, least: int) -> None:
    small = np.flatnonzero((sizes > 0) & (sizes <= least)).tolist()
    if small:
        shown = ", ".join(map(str, small[:10])) + (", ..." if len(small) > 10 else "")
        warnings.warn(f"no label of these classes is flagged, they have too few rows (min_examples_per_class={least}): {shown}", stacklevel=3)


def find_predicted_neq_given(labels: Any, pred_probs: Any, *, multi_label: bool = False) -> Mask:
    """Rows whose likeliest class is not the given one.

    Examples
    --------
    >>> find_predicted_neq_given([0, 1], np.array([[0.9, 0.1], [0.8, 0.2]]))
    array([False,  True])
    """
    refuse_multi_label(multi_label)
    given, probs = checked(labels, pred_probs, one_class=False)
    return np.asarray(probs.argmax(axis=1) != given)


def find_label_issues_using_argmax_confusion_matrix(
    labels: Any, pred_probs: Any, *, calibrate: bool = True, filter_by: str = "prune_by_noise_rate"
) -> Mask:
    """:func:`find_label_issues` with the confusion matrix of the likeliest classes in place of the confident joint."""
    given, probs = checked(labels, pred_probs, one_class=False)
    classes = probs.shape[1]
    joint = np.bincount(given * classes + probs.argmax(axis=1), minlength=classes * classes).reshape(classes, classes)
    joint = np.asfortranarray(joint)  # as in `compute_confident_joint`
    if calibrate:
        joint = calibrate_confident_joint(joint, given)
    found: Mask = find_label_issues(given, probs, confident_joint=joint, filter_by=filter_by)
    return found
