"""cleanlab.count: how many labels are wrong, and which classes are mistaken for which.

Matrices are cleanlab's: rows are given labels and columns true classes, except ``inverse_noise_matrix``. (``Audit.transition`` has the
true class first.)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from tares.compat._checked import SLACK, Floats, Ints, checked, checked_labels, one_of, refuse_multi_label
from tares.compat._rounding import label_counts, round_rows

if TYPE_CHECKING:
    Matrix = npt.NDArray[np.float64]

TINY = 1e-100
#: Rows that are compared with the thresholds at a time: about a million numbers.
BLOCK = 1_000_000


def get_confident_thresholds(labels: Any, pred_probs: Any, multi_label: bool = False) -> Matrix:
    """The mean probability of every class over the rows that are given it; 2 for a class without rows.

    Examples
    --------
    >>> get_confident_thresholds([0, 0, 1], np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]]))
    array([0.8, 0.8])
    """
    refuse_multi_label(multi_label)
    given, probs = checked(labels, pred_probs)
    return _thresholds(given, probs)


def _thresholds(given: Ints, probs: Floats) -> Matrix:
    own = probs[np.arange(len(given)), given]
    counts = label_counts(given, probs.shape[1])
    means = np.bincount(given, weights=own, minlength=probs.shape[1]) / np.maximum(counts, 1)
    return np.maximum(np.where(counts > 0, means, 2.0), 2 * SLACK)


@overload
def compute_confident_joint(
    labels: Any,
    pred_probs: Any,
    *,
    thresholds: npt.ArrayLike | None = None,
    calibrate: bool = True,
    multi_label: bool = False,
    return_indices_of_off_diagonals: Literal[False] = False,
) -> Ints: ...


@overload
def compute_confident_joint(
    labels: Any,
    pred_probs: Any,
    *,
    thresholds: npt.ArrayLike | None = None,
    calibrate: bool = True,
    multi_label: bool = False,
    return_indices_of_off_diagonals: Literal[True],
) -> tuple[Ints, Ints]: ...


def compute_confident_joint(
    labels: Any,
    pred_probs: Any,
    *,
    thresholds: npt.ArrayLike | None = None,
    calibrate: bool = True,
    multi_label: bool = False,
    return_indices_of_off_diagonals: bool = False,
) -> Ints | tuple[Ints, Ints]:
    """Counts rows by given label and by the class they are confidently of; also the rows where the two differ.

    A row is confidently of a class whose threshold its probability reaches; of several such classes the likeliest counts.

    Examples
    --------
    >>> probs = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8], [0.95, 0.05]])
    >>> compute_confident_joint([0, 0, 1, 1, 1], probs)
    array([[2, 0],
           [1, 2]])
    """
    refuse_multi_label(multi_label)
    given, probs = checked(labels, pred_probs)
    cuts = _thresholds(given, probs) if thresholds is None else np.asarray(thresholds)
    if cuts.shape != (probs.shape[1],):
        raise ValueError(f"thresholds must be one number for each of the {probs.shape[1]} classes, got shape {cuts.shape}")
    guess = _confident_class(probs, cuts)
    joint = _confident_counts(given, guess, probs.shape[1])
    if calibrate:
        joint = calibrate_confident_joint(joint, given)
    if return_indices_of_off_diagonals:
        return joint, np.flatnonzero((guess >= 0) & (guess != given))
    return joint


def _confident_class(probs: Floats, cuts: npt.NDArray[Any]) -> Ints:
    """The class that each row is confidently of, -1 if there is none."""
    found = np.empty(len(probs), dtype=np.int64)
    step = max(1, BLOCK // max(1, probs.shape[1]))
    for start in range(0, len(probs), step):
        rows = probs[start : start + step]
        reached = rows >= cuts - SLACK
        count = reached.sum(axis=1)
        best = np.where(count > 1, rows.argmax(axis=1), reached.argmax(axis=1))
        found[start : start + step] = np.where(count > 0, best, -1)
    return found


def _confident_counts(given: Ints, guess: Ints, classes: int) -> Ints:
    sure = guess >= 0
    joint = np.bincount(given[sure] * classes + guess[sure], minlength=classes * classes).reshape(classes, classes)
    # At least one row of every class is right.
    np.fill_diagonal(joint, np.maximum(joint.diagonal(), 1))
    # Column after column, as cleanlab has it: sums over it are rounded in this order, and the last bit decides which of two counts is
    # rounded up.
    return np.asfortranarray(joint.astype(np.int64))


def calibrate_confident_joint(confident_joint: npt.NDArray[Any], labels: Any, *, multi_label: bool = False) -> Ints:
    """Scales every row of the counts to the number of rows with that label, in whole numbers."""
    refuse_multi_label(multi_label)
    joint = _square(confident_joint)
    counts = _counts(labels, len(joint))
    scaled = (joint.T / np.clip(joint.sum(axis=1), TINY, None) * counts).T
    scaled = scaled / np.clip(scaled.sum(), TINY, None) * counts.sum()
    return round_rows(scaled)


def estimate_joint(
    labels: Any, pred_probs: Any, *, confident_joint: npt.NDArray[Any] | None = None, multi_label: bool = False
) -> Matrix:
    """The distribution of (given label, true class): the calibrated counts, scaled to sum 1."""
    refuse_multi_label(multi_label)
    if confident_joint is None:
        joint = compute_confident_joint(labels, pred_probs)
    elif labels is None:
        joint = _square(confident_joint)
    else:
        joint = calibrate_confident_joint(confident_joint, labels)
    return np.asarray(joint / np.clip(float(joint.sum()), TINY, None))


def num_label_issues(
    labels: Any,
    pred_probs: Any,
    *,
    confident_joint: npt.NDArray[Any] | None = None,
    estimation_method: str = "off_diagonal",
    multi_label: bool = False,
) -> int:
    """How many labels are wrong.

    Examples
    --------
    >>> probs = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8], [0.95, 0.05]])
    >>> num_label_issues([0, 0, 1, 1, 1], probs)
    1
    """
    refuse_multi_label(multi_label)
    one_of(estimation_method, "estimation_method", ["off_diagonal", "off_diagonal_calibrated", "off_diagonal_custom"])
    if confident_joint is not None and estimation_method != "off_diagonal_custom":
        warnings.warn(
            "confident_joint is not used unless estimation_method='off_diagonal_custom': it is computed from labels and pred_probs",
            stacklevel=2,
        )
    given, probs = checked(labels, pred_probs, one_class=False)
    if estimation_method == "off_diagonal":
        _, rows = compute_confident_joint(given, probs, calibrate=False, return_indices_of_off_diagonals=True)
        return int((~prediction_is_given(given[rows], probs[rows])).sum())
    if estimation_method == "off_diagonal_custom":
        if confident_joint is None:
            raise ValueError("estimation_method='off_diagonal_custom' needs confident_joint, got None")
        joint = estimate_joint(given, probs, confident_joint=confident_joint)
    else:
        joint = estimate_joint(given, probs, confident_joint=compute_confident_joint(given, probs))
    return int(np.rint((1.0 - joint.trace()) * len(given)))


def prediction_is_given(given: Ints, probs: Floats) -> npt.NDArray[np.bool_]:
    """Rows whose likeliest class is the given one, up to a slack."""
    lifted = np.array(probs)
    lifted[np.arange(len(given)), given] += SLACK
    return np.asarray(lifted.argmax(axis=1) == given)


def estimate_latent(
    confident_joint: npt.NDArray[Any], labels: Any, *, py_method: str = "cnt", converge_latent_estimates: bool = False
) -> tuple[Matrix, Matrix, Matrix]:
    """The share of every true class, p(given | true) and p(true | given), from the counts.

    ``noise_matrix[given, true]`` has columns that sum to 1, and so has ``inverse_noise_matrix[true, given]``.
    """
    joint = _square(confident_joint).astype(np.float64)
    one_of(py_method, "py_method", ["cnt", "eqn", "marginal", "marginal_ps"])
    counts = _counts(labels, len(joint))
    given_share = counts / float(counts.sum())
    of_given, of_true = joint.sum(axis=1), joint.sum(axis=0)
    noise = joint / np.clip(of_true, TINY, None)
    inverse = joint.T / np.clip(of_given, TINY, None)
    py = _true_shares(given_share, noise, inverse, py_method, of_true)
    noise, inverse = _as_rates(noise), _as_rates(inverse)
    if converge_latent_estimates:
        for _ in range(3):
            for _ in range(5):
                inverse = _as_rates((noise * py).T / np.clip(given_share, TINY, None))
                py = _true_shares(given_share, noise, inverse, "cnt", of_true)
            noise = _as_rates((inverse * given_share).T / np.clip(py, TINY, None))
        py = _shares(py, 1e-5)
        noise, inverse = _as_rates(noise), _as_rates(inverse)
    return py, noise, inverse


def _true_shares(given_share: Matrix, noise: Matrix, inverse: Matrix, method: str, of_true: Matrix) -> Matrix:
    if method == "cnt":
        py = inverse.diagonal() / np.clip(noise.diagonal(), TINY, None) * given_share
    elif method == "eqn":
        try:
            py = np.linalg.inv(noise).dot(given_share)
        except np.linalg.LinAlgError as error:
            raise ValueError("py_method='eqn' needs a noise matrix that has an inverse, got a singular one: use 'cnt'") from error
    elif method == "marginal":
        py = of_true / np.clip(float(of_true.sum()), TINY, None)
    else:
        py = inverse.dot(given_share)
    return _shares(py, 1e-6)


def _shares(values: Matrix, least: float) -> Matrix:
    clipped = np.clip(values, least, 1.0)
    return np.asarray(clipped / np.clip(clipped.sum(), TINY, None))


def _as_rates(matrix: Matrix) -> Matrix:
    """Off the diagonal at most 0.9999; columns sum to 1."""
    clipped = np.clip(matrix, 0, 0.9999)
    np.fill_diagonal(clipped, matrix.diagonal())
    return np.asarray(clipped / np.clip(clipped.sum(axis=0), TINY, None))


def estimate_py_and_noise_matrices_from_probabilities(
    labels: Any,
    pred_probs: Any,
    *,
    thresholds: npt.ArrayLike | None = None,
    converge_latent_estimates: bool = True,
    py_method: str = "cnt",
    calibrate: bool = True,
) -> tuple[Matrix, Matrix, Matrix, Ints]:
    """The three estimates of :func:`estimate_latent`, and the counts they come from."""
    joint = compute_confident_joint(labels, pred_probs, thresholds=thresholds, calibrate=calibrate)
    found = estimate_latent(joint, labels, py_method=py_method, converge_latent_estimates=converge_latent_estimates)
    return (*found, joint)


def estimate_confident_joint_and_cv_pred_proba(
    X: Any,
    labels: Any,
    clf: Any = None,
    *,
    cv_n_folds: int = 5,
    thresholds: npt.ArrayLike | None = None,
    seed: int | None = None,
    calibrate: bool = True,
    clf_kwargs: Mapping[str, Any] | None = None,
    validation_func: Callable[[Any, Any], Mapping[str, Any]] | None = None,
) -> tuple[Ints, Matrix]:
    """The counts, and the out-of-fold probabilities of a scikit-learn classifier (logistic regression if none is named)."""
    from tares._folds import out_of_fold

    given = checked_labels(labels)
    probs = out_of_fold(clf, X, given, cv_n_folds, seed, clf_kwargs or {}, validation_func)
    return compute_confident_joint(given, probs, thresholds=thresholds, calibrate=calibrate), probs


def estimate_py_noise_matrices_and_cv_pred_proba(
    X: Any,
    labels: Any,
    clf: Any = None,
    *,
    cv_n_folds: int = 5,
    thresholds: npt.ArrayLike | None = None,
    converge_latent_estimates: bool = False,
    py_method: str = "cnt",
    seed: int | None = None,
    clf_kwargs: Mapping[str, Any] | None = None,
    validation_func: Callable[[Any, Any], Mapping[str, Any]] | None = None,
) -> tuple[Matrix, Matrix, Matrix, Ints, Matrix]:
    """The estimates of :func:`estimate_latent`, the counts, and the out-of-fold probabilities behind them."""
    joint, probs = estimate_confident_joint_and_cv_pred_proba(
        X,
        labels,
        clf,
        cv_n_folds=cv_n_folds,
        thresholds=thresholds,
        seed=seed,
        clf_kwargs=clf_kwargs,
        validation_func=validation_func,
    )
    found = estimate_latent(joint, labels, py_method=py_method, converge_latent_estimates=converge_latent_estimates)
    return (*found, joint, probs)


def estimate_cv_predicted_probabilities(
    X: Any,
    labels: Any,
    clf: Any = None,
    *,
    cv_n_folds: int = 5,
    seed: int | None = None,
    clf_kwargs: Mapping[str, Any] | None = None,
    validation_func: Callable[[Any, Any], Mapping[str, Any]] | None = None,
) -> Matrix:
    """The out-of-fold probabilities of a scikit-learn classifier."""
    options: dict[str, Any] = {"cv_n_folds": cv_n_folds, "seed": seed, "clf_kwargs": clf_kwargs}
    return estimate_confident_joint_and_cv_pred_proba(X, labels, clf, validation_func=validation_func, **options)[1]


def estimate_noise_matrices(
    X: Any,
    labels: Any,
    clf: Any = None,
    *,
    cv_n_folds: int = 5,
    thresholds: npt.ArrayLike | None = None,
    converge_latent_estimates: bool = True,
    seed: int | None = None,
    clf_kwargs: Mapping[str, Any] | None = None,
    validation_func: Callable[[Any, Any], Mapping[str, Any]] | None = None,
) -> tuple[Matrix, Matrix]:
    """p(given | true) and p(true | given), from the out-of-fold probabilities of a scikit-learn classifier."""
    found = estimate_py_noise_matrices_and_cv_pred_proba(
        X,
        labels,
        clf,
        cv_n_folds=cv_n_folds,
        thresholds=thresholds,
        converge_latent_estimates=converge_latent_estimates,
        seed=seed,
        clf_kwargs=clf_kwargs,
        validation_func=validation_func,
    )
    return found[1], found[2]


def _square(confident_joint: Any) -> npt.NDArray[Any]:
    joint = np.asarray(confident_joint)
    if joint.ndim != 2 or joint.shape[0] != joint.shape[1]:
        raise ValueError(f"confident_joint must be classes x classes, got shape {joint.shape}")
    return joint


def _counts(labels: Any, classes: int) -> Ints:
    given = checked_labels(labels)
    if given.max() >= classes:
        raise ValueError(f"labels must be in 0..{classes}, the size of confident_joint, got {given.max()}")
    return label_counts(given, classes)
