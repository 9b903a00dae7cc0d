"""cleanlab.dataset: how good the labels of every class are. Needs pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tares._optional import needed
from tares.compat._checked import refuse_multi_label
from tares.compat.count import estimate_joint, num_label_issues

if TYPE_CHECKING:
    import pandas


def rank_classes_by_label_quality(
    labels: Any = None,
    pred_probs: Any = None,
    *,
    class_names: Sequence[str] | None = None,
    num_examples: int | None = None,
    joint: npt.NDArray[Any] | None = None,
    confident_joint: npt.NDArray[Any] | None = None,
    multi_label: bool = False,
) -> pandas.DataFrame:
    """A row per class, worst first: how many of its labels are wrong, and how many rows of it have another label."""
    pd = needed("pandas", "tares.compat.dataset")
    refuse_multi_label(multi_label)
    joint = _joint(labels, pred_probs, joint, confident_joint)
    rows = _rows(labels, None) if num_examples is None else num_examples
    right, given, true = joint.diagonal(), joint.sum(axis=1), joint.sum(axis=0)
    noise = (given - right) / np.clip(given, 1e-6, None)
    frame = pd.DataFrame(
        {
            "Class Index": np.arange(len(joint)),
            "Label Issues": ((given - right) * rows).round().astype(int),
            "Inverse Label Issues": ((true - right) * rows).round().astype(int),
            "Label Noise": noise,
            "Inverse Label Noise": (true - right) / np.clip(true, 1e-6, None),
            "Label Quality Score": 1 - noise,
        }
    )
    if class_names is not None:
        frame.insert(0, "Class Name", class_names)
    ranked: pandas.DataFrame = frame.sort_values(by="Label Quality Score", ascending=True).reset_index(drop=True)
    return ranked


def find_overlapping_classes(
    labels: Any = None,
    pred_probs: Any = None,
    *,
    asymmetric: bool = False,
    class_names: Sequence[str] | None = None,
    num_examples: int | None = None,
    joint: npt.NDArray[Any] | None = None,
    confident_joint: npt.NDArray[Any] | None = None,
    multi_label: bool = False,
) -> pandas.DataFrame:
    """A row per pair of classes, those that are mistaken for each other most often first."""
    pd = needed("pandas", "tares.compat.dataset")
    refuse_multi_label(multi_label)
    joint = _joint(labels, pred_probs, joint, confident_joint)
    rows = _rows(labels, confident_joint) if num_examples is None else num_examples
    classes = len(joint)
    if asymmetric:
        a, b = np.nonzero(~np.eye(classes, dtype=np.bool_))
        share = joint[a, b]
    else:
        a, b = np.triu_indices(classes, 1)
        share = joint[a, b] + joint[b, a]
    frame = pd.DataFrame({"Class Index A": a, "Class Index B": b})
    frame["Num Overlapping Examples"] = (share * rows).round().astype(int)
    frame["Joint Probability"] = share
    if class_names is not None:
        frame.insert(0, "Class Name A", [class_names[place] for place in a.tolist()])
        frame.insert(1, "Class Name B", [class_names[place] for place in b.tolist()])
    ranked: pandas.DataFrame = frame.sort_values(by="Joint Probability", ascending=False).reset_index(drop=True)
    return ranked


def overall_label_health_score(
    labels: Any = None,
    pred_probs: Any = None,
    *,
    num_examples: int | None = None,
    confident_joint: npt.NDArray[Any] | None = None,
    joint: npt.NDArray[Any] | None = None,
    multi_label: bool = False,
    verbose: bool = True,
) -> float:
    """The share of labels that are right.

    Examples
    --------
    >>> probs = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8], [0.95, 0.05]])
    >>> overall_label_health_score([0, 0, 1, 1, 1], probs, verbose=False)
    0.8
    """
    refuse_multi_label(multi_label)
    rows = _rows(labels, confident_joint) if num_examples is None else num_examples
    if pred_probs is None or labels is None:
        health = float(_joint(labels, pred_probs, joint, confident_joint).trace())
    else:
        health = 1 - num_label_issues(labels, pred_probs) / rows
    if verbose:
        print(f"{100 * health:.1f} % of the {rows:,} labels seem right")
    return health


def health_summary(
    labels: Any = None,
    pred_probs: Any = None,
    *,
    asymmetric: bool = False,
    class_names: Sequence[str] | None = None,
    num_examples: int | None = None,
    joint: npt.NDArray[Any] | None = None,
    confident_joint: npt.NDArray[Any] | None = None,
    multi_label: bool = False,
    verbose: bool = True,
) -> dict[str, Any]:
    """The three functions above in one dictionary, with the joint distribution they come from."""
    refuse_multi_label(multi_label)
    joint = _joint(labels, pred_probs, joint, confident_joint)
    rows = _rows(labels, None) if num_examples is None else num_examples
    options: dict[str, Any] = {"class_names": class_names, "num_examples": rows, "joint": joint}
    classes = rank_classes_by_label_quality(labels, pred_probs, **options)
    overlapping = find_overlapping_classes(labels, pred_probs, asymmetric=asymmetric, **options)
    score = overall_label_health_score(labels, pred_probs, num_examples=rows, joint=joint, verbose=verbose)
    if verbose:
        print(f"classes, worst first:\n{classes}\nclasses that are mistaken for each other:\n{overlapping}")
    return {
        "overall_label_health_score": score,
        "joint": joint,
        "classes_by_label_quality": classes,
        "overlapping_classes": overlapping,
    }


def _joint(
    labels: Any, pred_probs: Any, joint: npt.NDArray[Any] | None, confident_joint: npt.NDArray[Any] | None
) -> npt.NDArray[np.float64]:
    if joint is not None:
        return np.asarray(joint, dtype=np.float64)
    if confident_joint is None and (labels is None or pred_probs is None):
        raise ValueError("labels and pred_probs, or confident_joint, or joint must be given, got none of them")
    return estimate_joint(labels, pred_probs, confident_joint=confident_joint)


def _rows(labels: Any, confident_joint: npt.NDArray[Any] | None) -> int:
    if labels is not None:
        return len(labels)
    if confident_joint is not None:
        return int(np.sum(confident_joint))
    raise ValueError("num_examples must be given where labels are not")
