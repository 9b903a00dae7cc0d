"""`tares.compat` against cleanlab 2.9 itself: the same rows, counts and scores, on made-up and on real inputs."""

from __future__ import annotations

import warnings
from typing import Any

import cleanlab
import numpy as np
import numpy.typing as npt
import pytest
from cleanlab import count, dataset, filter, rank
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import StandardScaler

from conftest import make_noisy
from tares import compat

Case = tuple[npt.NDArray[np.int64], npt.NDArray[Any]]

FILTERS = [
    "prune_by_noise_rate",
    "prune_by_class",
    "both",
    "confident_learning",
    "predicted_neq_given",
    "low_normalized_margin",
    "low_self_confidence",
]
RANKS = ["self_confidence", "normalized_margin", "confidence_weighted_entropy"]


def _real(load: Any, seed: int) -> Case:
    """A real table, a fifth of its labels wrong, judged by logistic regression out of fold."""
    X, y = load(return_X_y=True)
    draw = np.random.default_rng(seed)
    labels = y.copy()
    wrong = draw.random(len(y)) < 0.2
    labels[wrong] = draw.integers(0, y.max() + 1, wrong.sum())
    probs = cross_val_predict(LogisticRegression(max_iter=500), StandardScaler().fit_transform(X), labels, cv=4, method="predict_proba")
    return labels, probs


def _cases() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for seed, (rows, classes) in enumerate([(300, 2), (1000, 3), (2000, 10), (500, 40)]):
        made = make_noisy(rows, classes, 0.1 + 0.1 * (seed % 3), seed)
        cases[f"{rows} x {classes}"] = (made.labels, made.probs)
        cases[f"{rows} x {classes}, 32 bits"] = (made.labels, made.probs.astype(np.float32))
    draw = np.random.default_rng(9)
    cases["no relation at all"] = (draw.integers(0, 4, 400), draw.dirichlet(np.ones(4), 400))
    missing = make_noisy(400, 6, 0.2, 5)
    cases["a class without rows"] = (np.where(missing.labels == 3, 0, missing.labels), missing.probs)
    rare = make_noisy(400, 4, 0.1, 6)
    labels = rare.labels.copy()
    labels[labels == 2] = 1
    labels[7] = 2
    cases["a class with one row"] = (labels, rare.probs)
    for load in (load_digits, load_iris, load_wine, load_breast_cancer):
        cases[load.__name__.removeprefix("load_")] = _real(load, 1)
    return cases


CASES = _cases()


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(autouse=True)
def _no_warnings_of_cleanlab() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_this_is_the_cleanlab_that_we_promise() -> None:
    assert cleanlab.__version__.startswith("2.9")


@pytest.mark.parametrize("filter_by", FILTERS)
def test_every_filter_flags_the_same_rows(case: Case, filter_by: str) -> None:
    labels, probs = case
    theirs = filter.find_label_issues(labels, probs, filter_by=filter_by, n_jobs=1)
    ours = compat.find_label_issues(labels, probs, filter_by=filter_by)
    assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)


def test_rows_are_the_same_on_random_inputs() -> None:
    """Many small inputs: here the last bit of a sum decides which of two counts is rounded up."""
    for seed in range(200):
        made = make_noisy(400, 2 + seed % 7, 0.05 + 0.03 * (seed % 8), seed)
        # Every third with ties.
        probs = np.round(made.probs, 1) + 1e-3 if seed % 3 == 0 else made.probs
        probs = probs / probs.sum(axis=1, keepdims=True)
        for filter_by in ("prune_by_noise_rate", "both"):
            theirs = filter.find_label_issues(made.labels, probs, filter_by=filter_by, n_jobs=1)
            assert np.array_equal(compat.find_label_issues(made.labels, probs, filter_by=filter_by), theirs), (seed, filter_by)
        theirs = filter.find_label_issues_using_argmax_confusion_matrix(made.labels, probs)
        assert np.array_equal(compat.find_label_issues_using_argmax_confusion_matrix(made.labels, probs), theirs), seed


@pytest.mark.parametrize("ranked_by", RANKS)
def test_every_ranking_has_the_same_order(case: Case, ranked_by: str) -> None:
    labels, probs = case
    theirs = filter.find_label_issues(labels, probs, return_indices_ranked_by=ranked_by, n_jobs=1)
    ours = compat.find_label_issues(labels, probs, return_indices_ranked_by=ranked_by)
    assert set(ours.tolist()) == set(theirs.tolist())
    scores = rank.get_label_quality_scores(labels, probs, method=ranked_by)
    assert np.allclose(scores[ours], scores[theirs], atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"frac_noise": 0.5},
        {"min_examples_per_class": 10},
        {"filter_by": "prune_by_class", "frac_noise": 0.3, "min_examples_per_class": 5},
        {"filter_by": "both", "min_examples_per_class": 0},
        {"rank_by_kwargs": {"adjust_pred_probs": True}, "return_indices_ranked_by": "normalized_margin"},
    ],
)
def test_options_do_the_same(case: Case, options: dict[str, Any]) -> None:
    labels, probs = case
    theirs = filter.find_label_issues(labels, probs, n_jobs=1, **options)
    ours = compat.find_label_issues(labels, probs, **options)
    assert set(np.flatnonzero(ours) if ours.dtype == bool else ours) == set(np.flatnonzero(theirs) if theirs.dtype == bool else theirs)


@pytest.mark.parametrize("filter_by", ["prune_by_class", "prune_by_noise_rate", "both"])
def test_so_many_rows_of_every_class(filter_by: str) -> None:
    labels, probs = CASES["2000 x 10"]
    wanted = [5, 3, 1, 2, 4, 6, 1, 2, 3, 7]
    options: dict[str, Any] = {"filter_by": filter_by, "num_to_remove_per_class": wanted}
    theirs = filter.find_label_issues(labels, probs, n_jobs=1, **options)
    assert np.array_equal(compat.find_label_issues(labels, probs, **options), theirs)


def test_a_joint_of_ones_own_is_used(case: Case) -> None:
    labels, probs = case
    joint = count.compute_confident_joint(labels, probs)
    theirs = filter.find_label_issues(labels, probs, confident_joint=joint, n_jobs=1)
    assert np.array_equal(compat.find_label_issues(labels, probs, confident_joint=joint), theirs)


@pytest.mark.parametrize("calibrate", [True, False])
def test_the_confident_joint_is_the_same(case: Case, calibrate: bool) -> None:
    labels, probs = case
    theirs, rows = count.compute_confident_joint(labels, probs, calibrate=calibrate, return_indices_of_off_diagonals=True)
    ours, own_rows = compat.compute_confident_joint(labels, probs, calibrate=calibrate, return_indices_of_off_diagonals=True)
    assert np.array_equal(ours, theirs) and ours.dtype == theirs.dtype
    assert np.array_equal(own_rows, rows)
    thresholds = [0.5] * probs.shape[1]
    assert np.array_equal(
        compat.compute_confident_joint(labels, probs, thresholds=thresholds), count.compute_confident_joint(labels, probs, thresholds=thresholds)
    )


def test_estimates_are_the_same(case: Case) -> None:
    labels, probs = case
    assert np.allclose(compat.get_confident_thresholds(labels, probs), count.get_confident_thresholds(labels, probs), atol=1e-6)
    assert np.allclose(compat.estimate_joint(labels, probs), count.estimate_joint(labels, probs))
    for method in ("off_diagonal", "off_diagonal_calibrated"):
        theirs = count.num_label_issues(labels, probs, estimation_method=method)
        assert compat.num_label_issues(labels, probs, estimation_method=method) == theirs
    joint = count.compute_confident_joint(labels, probs)
    assert compat.num_label_issues(labels, probs, confident_joint=joint, estimation_method="off_diagonal_custom") == count.num_label_issues(
        labels, probs, confident_joint=joint, estimation_method="off_diagonal_custom"
    )


@pytest.mark.parametrize("py_method", ["cnt", "eqn", "marginal", "marginal_ps"])
@pytest.mark.parametrize("converge", [False, True])
def test_noise_matrices_are_the_same(case: Case, py_method: str, converge: bool) -> None:
    labels, probs = case
    options: dict[str, Any] = {"py_method": py_method, "converge_latent_estimates": converge}
    try:
        theirs = count.estimate_py_and_noise_matrices_from_probabilities(labels, probs, **options)
    except np.linalg.LinAlgError:
        with pytest.raises(ValueError, match="singular"):
            compat.estimate_py_and_noise_matrices_from_probabilities(labels, probs, **options)
        return
    ours = compat.estimate_py_and_noise_matrices_from_probabilities(labels, probs, **options)
    for a, b in zip(ours, theirs):
        assert np.allclose(a, b, atol=1e-9)


def test_estimates_with_cross_validation_are_the_same() -> None:
    X, y = load_iris(return_X_y=True)
    labels = y.copy()
    labels[::10] = (labels[::10] + 1) % 3
    model = LogisticRegression(max_iter=300)
    theirs = count.estimate_py_noise_matrices_and_cv_pred_proba(X, labels, model, seed=4)
    ours = compat.estimate_py_noise_matrices_and_cv_pred_proba(X, labels, model, seed=4)
    for a, b in zip(ours, theirs):
        assert np.allclose(a, b)
    assert np.allclose(compat.estimate_noise_matrices(X, labels, model, seed=4)[0], count.estimate_noise_matrices(X, labels, model, seed=4)[0])
    assert np.allclose(compat.estimate_cv_predicted_probabilities(X, labels, model, seed=4), theirs[-1])


@pytest.mark.parametrize("method", RANKS)
def test_scores_are_the_same(case: Case, method: str) -> None:
    labels, probs = case
    theirs = rank.get_label_quality_scores(labels, probs, method=method)
    ours = compat.get_label_quality_scores(labels, probs, method=method)
    assert np.allclose(ours, theirs, atol=1e-5 if probs.dtype == np.float32 else 1e-12)
    if method != "confidence_weighted_entropy":
        theirs = rank.get_label_quality_scores(labels, probs, method=method, adjust_pred_probs=True)
        assert np.allclose(compat.get_label_quality_scores(labels, probs, method=method, adjust_pred_probs=True), theirs, atol=1e-5)


@pytest.mark.parametrize("weights", ["uniform", "accuracy", "log_loss_search", "custom"])
def test_scores_of_an_ensemble_are_the_same(weights: str) -> None:
    labels, probs = CASES["digits"]
    other = np.random.default_rng(3).dirichlet(np.ones(probs.shape[1]), len(labels)) * 0.3 + 0.7 * probs
    options: dict[str, Any] = {"weight_ensemble_members_by": weights, "verbose": False}
    if weights == "custom":
        options["custom_weights"] = [0.2, 0.8]
    theirs = rank.get_label_quality_ensemble_scores(labels, [probs, other], **options)
    assert np.allclose(compat.get_label_quality_ensemble_scores(labels, [probs, other], **options), theirs, atol=1e-9)


def test_the_health_of_a_data_set_is_the_same(case: Case) -> None:
    labels, probs = case
    names = [f"class {k}" for k in range(probs.shape[1])]
    theirs = dataset.health_summary(labels, probs, class_names=names, verbose=False)
    ours = compat.health_summary(labels, probs, class_names=names, verbose=False)
    assert ours["overall_label_health_score"] == pytest.approx(theirs["overall_label_health_score"])
    assert np.allclose(ours["joint"], theirs["joint"])
    for key in ("classes_by_label_quality", "overlapping_classes"):
        a, b = ours[key], theirs[key]
        assert list(a.columns) == list(b.columns)
        order = [name for name in a.columns if "Index" in name]
        a, b = a.sort_values(order).reset_index(drop=True), b.sort_values(order).reset_index(drop=True)
        for column in a.columns:
            assert np.allclose(a[column], b[column]) if a[column].dtype.kind in "if" else (a[column] == b[column]).all()


def test_rows_need_not_sum_to_one_as_in_cleanlab() -> None:
    labels, probs = CASES["1000 x 3"]
    loose = probs * 0.9
    theirs = filter.find_label_issues(labels, loose, n_jobs=1)
    assert np.array_equal(compat.find_label_issues(labels, loose), theirs)


def test_what_tares_does_not_have_is_said() -> None:
    labels, probs = CASES["1000 x 3"]
    with pytest.raises(ValueError, match="multi_label must be False"):
        compat.find_label_issues(labels, probs, multi_label=True)
    with pytest.raises(ValueError, match="filter_by must be one of"):
        compat.find_label_issues(labels, probs, filter_by="prune")
    with pytest.raises(ValueError, match=r"in 0\.\.3.*got 7 at row 2"):
        compat.find_label_issues([0, 1, 7], probs[:3])
    with pytest.raises(ValueError, match="got nan at row 1, column 0"):
        compat.get_label_quality_scores([0, 1], [[0.5, 0.5], [np.nan, 1]])
    with pytest.raises(ValueError, match="at least one row"):
        compat.find_label_issues(np.array([], dtype=str), probs[:0])
    with pytest.raises(ValueError, match="takes names"):
        compat.find_label_issues(["cat", "dog"], probs[:2])
