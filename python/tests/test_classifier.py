"""`RobustClassifier` and `clean`: scikit-learn's manners on the Rust trainer."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import tares
from conftest import make_noisy
from test_audit_data import flowers

Case = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]


def digits() -> Case:
    """Digits, 40 % of the training labels wrong."""
    X, y = load_digits(return_X_y=True)
    train, test = np.arange(len(y)) % 3 > 0, np.arange(len(y)) % 3 == 0
    return X[train], tares.corrupt(y[train], "symmetric:0.4", seed=1), X[test], y[test]


def test_robust_training_beats_plain_training_on_noisy_digits() -> None:
    X, y, X_test, y_test = digits()
    robust = tares.RobustClassifier(noise_rate="auto", epochs=40, random_state=1).fit(X, y)
    plain = tares.RobustClassifier("standard", epochs=40, random_state=1).fit(X, y)
    assert robust.score(X_test, y_test) > plain.score(X_test, y_test) + 0.05
    assert robust.score(X_test, y_test) > 0.9
    assert robust.noise_rate_ == pytest.approx(0.4, abs=0.1) and plain.noise_rate_ is None
    low, high = robust.noise_rate_interval_ or (1, 0)
    assert low <= robust.noise_rate_ <= high
    truth = load_digits(return_X_y=True)[1][np.arange(1797) % 3 > 0]
    rows = robust.suspects_["row"]
    assert (y[rows] != truth[rows]).mean() > 0.8
    assert len(robust.loss_curve_) == robust.n_iter_ == 40


#: Checks of scikit-learn that cannot hold, each with the reason.
CANNOT: dict[str, str] = {}


def test_scikit_learns_own_checks_pass() -> None:
    model = tares.RobustClassifier(noise_rate=0.0, epochs=25, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=CANNOT, on_fail=None, on_skip=None)
    failed = {result["check_name"]: repr(result["exception"]) for result in results if result["status"] == "failed"}
    assert not failed, failed
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == set(CANNOT)
    assert sum(result["status"] == "passed" for result in results) > 40


def test_the_same_seed_gives_the_same_bits_and_order_is_kept() -> None:
    X, y, X_test, _ = digits()
    a, b = (tares.RobustClassifier(noise_rate=0.4, epochs=3, random_state=7).fit(X, y) for _ in range(2))
    assert np.array_equal(a.predict_proba(X_test), b.predict_proba(X_test))
    order = np.random.default_rng(0).permutation(len(X_test))
    assert np.allclose(a.predict_proba(X_test)[order], a.predict_proba(X_test[order]), atol=1e-6)
    other = tares.RobustClassifier(noise_rate=0.4, epochs=3, random_state=8).fit(X, y)
    assert not np.array_equal(a.predict_proba(X_test), other.predict_proba(X_test))


def test_it_trains_what_the_program_trains(tmp_path: Any) -> None:
    from conftest import program

    frame, _ = flowers()
    frame.to_csv(tmp_path / "flowers.csv", index=False)
    options = ["--label", "species", "--network", "mlp:16", "--epochs", "5", "--noise-rate", "0.1", "--test-fraction", "0", "--out", "run"]
    subprocess.run([program(), "train", "flowers.csv", *options], cwd=tmp_path, check=True, capture_output=True)
    model = tares.RobustClassifier(network="mlp:16", epochs=5, noise_rate=0.1).fit(frame.drop(columns="species"), frame["species"])
    assert model._weights == (tmp_path / "run" / "model.safetensors").read_bytes()


@pytest.mark.parametrize("network", ["mlp:32", "panel", "trees", "linear"])
def test_frames_with_categories_and_missing_values(network: str) -> None:
    frame, truth = flowers()
    X = frame.drop(columns="species").astype({"colour": "category"})
    model = tares.RobustClassifier(network=network, noise_rate=0.1).fit(X, frame["species"])
    assert model.score(X, truth) > 0.87
    assert list(model.classes_) == ["iris", "rose", "tulip"] and list(model.feature_names_in_) == ["length", "width", "colour"]
    new = X.iloc[:4].copy()
    new["colour"] = ["green", None, "red", "blue"]
    assert model.predict_proba(new).shape == (4, 3)
    with pytest.raises(ValueError, match="feature names|column"):
        model.predict(X.rename(columns={"colour": "hue"}))
    with pytest.raises(ValueError, match="held numbers in training"):
        model.predict(X.assign(length=["long"] * len(X)))
    same = model.predict(pl.from_pandas(frame.drop(columns="species")))
    assert np.array_equal(same, model.predict(X))


def test_the_suspects_of_a_panel_are_those_of_the_audit() -> None:
    frame, _ = flowers()
    model = tares.RobustClassifier(network="panel").fit(frame.drop(columns="species"), frame["species"])
    found = tares.audit(frame, label="species")
    assert np.array_equal(model.suspects_["row"], found.suspects["row"])
    assert np.array_equal(model.suspects_["suggested"], found.suspects["suggested"])


def test_labels_of_any_kind() -> None:
    X = np.random.default_rng(0).normal(size=(120, 2))
    sign = X[:, 0] > 0
    model = tares.RobustClassifier(noise_rate=0.0, epochs=20)
    for y in (sign, np.where(sign, 7, -3), np.where(sign, "ja", "nein"), sign.astype(float), pd.Series(sign), torch.tensor(sign), sign.tolist()):
        predicted = clone(model).fit(X, y).predict(X)
        assert (np.asarray(predicted) == np.asarray(y)).mean() > 0.9


def test_it_pickles_clones_and_joins_pipelines_and_searches() -> None:
    X, y, X_test, y_test = digits()
    model = tares.RobustClassifier(noise_rate=0.4, epochs=2, random_state=1)
    assert clone(model).get_params() == model.get_params()
    fitted = model.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(X_test), fitted.predict_proba(X_test))
    assert again.suspects_[0] == fitted.suspects_[0]
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    assert pipeline.predict(X_test).shape == y_test.shape
    search = GridSearchCV(clone(model), {"method": ["standard", "npcl"], "learning_rate": [1e-3, 1e-2]}, cv=2).fit(X[:300], y[:300])
    assert search.best_params_.keys() == {"method", "learning_rate"}
    assert len(cross_val_score(clone(model), X[:300], y[:300], cv=3, n_jobs=2)) == 3


def test_pictures_go_into_convolutional_networks() -> None:
    draw = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = draw.integers(0, 80, size=(200, 1, 28, 28), dtype=np.uint8)
    X[y == 1, :, 5:15, 5:15] += 150
    model = tares.RobustClassifier(network="lenet", noise_rate=0.1, epochs=40, batch_size=32).fit(X, y)
    assert model.score(X, y) > 0.95
    assert np.array_equal(model.predict(X[:, 0]), model.predict(X)), "grey pictures need no channel"
    with pytest.raises(ValueError):
        model.predict(X[:, :, :20])
    for flat in (X.reshape(200, -1), pd.DataFrame(X.reshape(200, -1))):
        with pytest.raises(ValueError, match="X must be pictures, as the model was fitted on, got rows x columns"):
            model.predict(flat)
    table = tares.RobustClassifier(noise_rate=0.1, epochs=1).fit(X.reshape(200, -1)[:, :5], y)
    with pytest.raises(ValueError, match="X must be rows x columns, as the model was fitted on, got pictures"):
        table.predict(X)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "nplc"}, "did you mean npcl"),
        ({"network": "mpl"}, "did you mean mlp"),
        ({"network": "lenet"}, "lenet|picture|image"),
        ({"network": "panel", "method": "gce", "epochs": "auto"}, "method of panel must be standard or npcl"),
        ({"network": "trees", "epochs": 5, "batch_size": 64}, "network 'trees' does not use epochs, batch_size"),
        ({"noise_rate": 1.0}, "noise rate must be"),
        ({"noise_rate": "known"}, "noise_rate must be"),
        ({"noise_rate": float("nan")}, "noise rate must be"),
        ({"epochs": 0}, "epochs must be"),
        ({"epochs": 1.5}, "epochs must be"),
        ({"batch_size": 1}, "batch must be at least 2"),
        ({"learning_rate": -1.0}, "learning|lr"),
        ({"random_state": -1}, "random_state must be"),
        ({"text": ["nowhere"]}, "unknown text column"),
    ],
)
def test_bad_parameters_are_refused_when_it_is_fitted(options: dict[str, Any], words: str) -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match=words):
        tares.RobustClassifier(**{"noise_rate": 0.1, "epochs": 2, **options}).fit(X, X[:, 0] > 0)


def test_bad_rows_are_refused() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = tares.RobustClassifier(noise_rate=0.1, epochs=2)
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.fit(X, np.zeros(40, int))
    with pytest.raises(ValueError, match="40 rows of X, got 39"):
        model.fit(X, np.zeros(39, int))
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(X == X[3, 1], np.inf, X), X[:, 0] > 0)
    with pytest.raises(ValueError, match="label type|[Cc]ontinuous"):
        model.fit(X, X[:, 0])
    with pytest.raises(tares_not_fitted()):
        tares.RobustClassifier().predict(X)


def tares_not_fitted() -> type[Exception]:
    from sklearn.exceptions import NotFittedError

    return NotFittedError  # type: ignore[no-any-return]


@pytest.mark.parametrize("estimator", [LogisticRegression(max_iter=300), make_pipeline(StandardScaler(), LogisticRegression()), HistGradientBoostingClassifier(max_iter=20)])
def test_clean_trains_any_classifier_without_the_suspects(estimator: Any) -> None:
    frame, truth = flowers(600)
    X, y = frame[["length", "width"]].fillna(0), frame["species"]
    model, found, kept, probs = tares.clean(estimator, X, y)
    assert (y[kept] == truth[kept]).mean() > (y == truth).mean() + 0.05
    assert model.score(X, truth) > 0.85 and not hasattr(estimator, "classes_")
    assert kept.sum() + len(found) == len(y) and probs.shape == (600, 3)


def test_clean_takes_any_labels_and_says_what_is_lost() -> None:
    data = make_noisy(200, 3)
    X = data.probs
    for y in (data.labels - 5, data.labels.astype(str), data.labels.astype(float)):
        assert set(tares.clean(LogisticRegression(), X, y).estimator.classes_) <= set(y)
    with pytest.raises(TypeError, match="predict_proba"):
        from sklearn.svm import LinearSVC

        tares.clean(LinearSVC(), X, data.labels)
    with pytest.raises(ValueError, match="200 labels, got 100"):
        tares.clean(LogisticRegression(), X[:100], data.labels)
    with pytest.raises(ValueError, match="at least 2 classes"):
        tares.clean(LogisticRegression(), X, np.zeros(200, int))


def test_clean_cuts_what_belongs_to_rows_and_fits_on_the_names() -> None:
    data = make_noisy(240, 3)
    X, names = data.probs, np.array(["cat", "dog", "ant"])[data.labels]
    plain = tares.clean(LogisticRegression(), X, names)
    weighted = tares.clean(LogisticRegression(), X, names, fit_params={"sample_weight": np.ones(240)})
    assert np.array_equal(plain.probs, weighted.probs) and np.array_equal(plain.kept, weighted.kept)
    light = np.where(names == "ant", 0.01, 1.0)
    weighted = tares.clean(LogisticRegression(), X, names, fit_params={"sample_weight": light.tolist()})
    by_class = tares.clean(LogisticRegression(class_weight={"ant": 0.01, "cat": 1.0, "dog": 1.0}), X, names)
    assert np.allclose(weighted.probs, by_class.probs) and not np.allclose(weighted.probs, plain.probs, atol=0.1)
    table = pa.table({name: X[:, place] for place, name in enumerate("abc")})
    assert np.array_equal(tares.clean(LogisticRegression(), table, names).probs, plain.probs)
    with pytest.raises(ValueError, match="X must be rows x columns, got a single value"):
        tares.clean(LogisticRegression(), np.float64(3), [0, 1])
    found = tares.clean(LogisticRegression(), X, data.labels == 1)
    assert found.audit.classes.tolist() == [False, True] and found.estimator.classes_.dtype == np.bool_


WITHOUT = """
import sys
sys.modules["sklearn"] = None
sys.modules["torch"] = None
sys.modules["tqdm"] = None
sys.modules["pandas"] = None
import tares
assert len(tares.audit([0, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]).classes) == 2
for what in ("tares.RobustClassifier()", "tares.clean(None, [[0]], [0])", "__import__('tares.torch')", "tares.compat.health_summary([0, 1], [[1, 0], [0, 1]])"):
    try:
        eval(what)
    except ImportError as error:
        print(error)
print(tares.audit([0, 1] * 20, features=[[place % 2 * 5 + place % 3] for place in range(40)], progress=True).noise_rate < 0.5)
"""


def test_optional_parts_are_imported_when_they_are_used_and_say_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 5, done.stdout + done.stderr
    assert "pip install scikit-learn" in lines[0] and "pip install scikit-learn" in lines[1]
    assert "pip install" in lines[2] and "torch" in lines[2] and "pip install pandas" in lines[3]
    assert lines[4] == "True"
