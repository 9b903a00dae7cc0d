"""cleanlab.rank: how good every label is, from 0 (certainly wrong) to 1."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tares.compat._checked import SLACK, Floats, Ints, checked, one_of
from tares.compat.count import get_confident_thresholds

METHODS = ["self_confidence", "normalized_margin", "confidence_weighted_entropy"]
WEIGHTS = ["uniform", "accuracy", "log_loss_search", "custom"]


def get_label_quality_scores(
    labels: Any, pred_probs: Any, *, method: str = "self_confidence", adjust_pred_probs: bool = False
) -> Floats:
    """A score for every label.

    ``self_confidence``: the probability of the label; ``normalized_margin``: against the likeliest other class;
    ``confidence_weighted_entropy``: small where the classifier is sure of another class. ``adjust_pred_probs`` subtracts every class's mean
    self-confidence first.

    Examples
    --------
    >>> get_label_quality_scores([0, 1], np.array([[0.9, 0.1], [0.8, 0.2]]))
    array([0.9, 0.2])
    >>> get_label_quality_scores([0, 1], np.array([[0.9, 0.1], [0.8, 0.2]]), method="normalized_margin")
    array([0.9, 0.2])
    """
    one_of(method, "method", METHODS)
    given, probs = checked(labels, pred_probs)
    if adjust_pred_probs:
        if method == "confidence_weighted_entropy":
            raise ValueError("adjust_pred_probs must be False with method='confidence_weighted_entropy', got True")
        cuts = get_confident_thresholds(given, probs)
        probs = probs - cuts + cuts.max()
        probs /= probs.sum(axis=1, keepdims=True)
    return _SCORES[method](given, probs)


def get_self_confidence_for_each_label(labels: Any, pred_probs: Any) -> Floats:
    """The probability of the label."""
    return _own(*checked(labels, pred_probs))


def get_normalized_margin_for_each_label(labels: Any, pred_probs: Any) -> Floats:
    """(p of the label - p of the likeliest other class + 1) / 2."""
    return _margin(*checked(labels, pred_probs))


def get_confidence_weighted_entropy_for_each_label(labels: Any, pred_probs: Any) -> Floats:
    """ln(1 + x) / x with x = entropy / (ln K * p of the label)."""
    return _entropy(*checked(labels, pred_probs))


def _own(given: Ints, probs: Floats) -> Floats:
    return probs[np.arange(len(given)), given]


def _margin(given: Ints, probs: Floats) -> Floats:
    others = np.array(probs)
    others[np.arange(len(given)), given] = -np.inf
    return np.asarray((_own(given, probs) - others.max(axis=1) + 1) / 2)


def _entropy(given: Ints, probs: Floats) -> Floats:
    safe = np.where(probs > 0, probs, 1)
    entropy = -np.sum(safe * np.log(safe), axis=1) / np.log(probs.shape[1])
    ratio = entropy / np.clip(_own(given, probs), SLACK, None)
    return np.asarray(np.log(ratio + 1) / np.clip(ratio, SLACK, None))


_SCORES = dict(zip(METHODS, [_own, _margin, _entropy]))


def order_label_issues(
    label_issues_mask: npt.NDArray[np.bool_],
    labels: Any,
    pred_probs: Any,
    *,
    rank_by: str = "self_confidence",
    rank_by_kwargs: Mapping[str, Any] | None = None,
) -> Ints:
    """The rows of a mask, worst label first."""
    given, probs = checked(labels, pred_probs)
    mask = np.asarray(label_issues_mask)
    if mask.shape != given.shape:
        raise ValueError(f"label_issues_mask must have an entry for each of the {len(given)} labels, got shape {mask.shape}")
    scores = get_label_quality_scores(given, probs, method=rank_by, **(rank_by_kwargs or {}))
    return np.flatnonzero(mask)[np.argsort(scores[mask])]


def find_top_issues(quality_scores: npt.NDArray[Any], *, top: int | None = 10) -> Ints:
    """The rows of the ``top`` lowest scores."""
    return np.asarray(quality_scores).argsort()[:top]


def get_label_quality_ensemble_scores(
    labels: Any,
    pred_probs_list: list[Any],
    *,
    method: str = "self_confidence",
    adjust_pred_probs: bool = False,
    weight_ensemble_members_by: str = "accuracy",
    custom_weights: npt.ArrayLike | None = None,
    log_loss_search_T_values: Sequence[float] = (1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 2e2),
    verbose: bool = True,
) -> npt.NDArray[np.float64]:
    """The weighted mean of the scores by several models."""
    if not isinstance(pred_probs_list, list):
        raise TypeError(f"pred_probs_list must be a list, got {type(pred_probs_list).__name__}")
    if not pred_probs_list:
        raise ValueError("pred_probs_list must hold at least one model's probabilities, got none")
    if len(pred_probs_list) == 1:
        warnings.warn("pred_probs_list holds a single model: get_label_quality_scores does the same", stacklevel=2)
    one_of(weight_ensemble_members_by, "weight_ensemble_members_by", WEIGHTS)
    if (custom_weights is not None) != (weight_ensemble_members_by == "custom"):
        raise ValueError("custom_weights belongs to weight_ensemble_members_by='custom', and only to it")
    members = [checked(labels, probs) for probs in pred_probs_list]
    options: dict[str, Any] = {"method": method, "adjust_pred_probs": adjust_pred_probs}
    scores = np.stack([get_label_quality_scores(given, probs, **options) for given, probs in members], axis=1)
    if weight_ensemble_members_by == "uniform":
        weights = np.full(len(members), 1 / len(members))
    elif weight_ensemble_members_by == "custom":
        weights = np.asarray(custom_weights, dtype=np.float64)
        if weights.shape != (len(members),):
            raise ValueError(f"custom_weights must be {len(members)} numbers, one per model, got shape {weights.shape}")
    elif weight_ensemble_members_by == "accuracy":
        right = np.array([(probs.argmax(axis=1) == given).mean() for given, probs in members])
        weights = right / right.sum()
    else:
        weights = _by_log_loss(members, log_loss_search_T_values)
    if verbose:
        print(f"weights of the models ({weight_ensemble_members_by}): {', '.join(f'{weight:.4f}' for weight in weights)}")
    return np.asarray((scores * weights).sum(axis=1), dtype=np.float64)


def _by_log_loss(members: list[tuple[Ints, Floats]], powers: Sequence[float]) -> npt.NDArray[np.float64]:
    """Weights exp(-t * log-loss), with the t whose blend has the smallest log-loss."""
    losses = []
    for given, probs in members:
        clipped = np.clip(probs, SLACK, None)
        losses.append(_log_loss(given, clipped / clipped.sum(axis=1, keepdims=True)))
    best, chosen = np.inf, np.full(len(members), 1 / len(members))
    for power in powers:
        weights = np.exp(-power * np.array(losses))
        if weights.sum() == 0:
            continue
        weights = weights / weights.sum()
        blend = np.sum([weight * probs for weight, (_, probs) in zip(weights, members)], axis=0)
        loss = _log_loss(members[0][0], blend)
        if loss < best:
            best, chosen = loss, weights
    return chosen


def _log_loss(given: Ints, probs: Floats) -> float:
    own = _own(given, probs) / probs.sum(axis=1)
    least = np.finfo(probs.dtype).eps
    return float(-np.log(np.clip(own, least, 1 - least)).mean())
