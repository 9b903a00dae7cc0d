"""Noise and figures: the same bits as the program."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import numpy as np
import pytest
import sklearn.metrics

import tares
from conftest import Noisy, program


@pytest.mark.parametrize("noise", ["symmetric:0.3", "pair:0.35", "uniform-all:0.4", "exact:0.2", "exact-per-class:0.25", "none"])
@pytest.mark.parametrize("seed", [1, 7])
def test_noise_has_the_bits_of_the_program(noise: str, seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    labels = np.array(["ant", "bee", "cat", "dog"])[draw.integers(0, 4, 500)]
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("x", "label"), *((place * 0.37 % 1, label) for place, label in enumerate(labels))])
    command = [program(), "corrupt", "rows.csv", "--label", "label", "--noise", noise, "--seed", str(seed), "--out", "noisy"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    truth = list(csv.DictReader((tmp_path / "noisy" / "truth.csv").open()))
    assert [row["truth"] for row in truth] == labels.tolist()
    assert tares.corrupt(labels, noise, seed=seed).tolist() == [row["given"] for row in truth]


def test_noise_by_a_matrix_and_by_the_rows_themselves() -> None:
    labels = np.arange(3000) % 3
    matrix = np.array([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]])
    noisy = tares.corrupt(labels, matrix, seed=1)
    counts = tares.metrics.confusion(labels, noisy) / 1000
    assert np.allclose(counts, matrix, atol=0.05) and counts[1, 1] == 1
    features = np.random.default_rng(0).normal(size=(3000, 5))
    noisy = tares.corrupt(labels, "instance:0.3", seed=1, features=features)
    assert abs((noisy != labels).mean() - 0.3) < 0.05
    assert np.array_equal(noisy, tares.corrupt(labels, "instance:0.3", seed=1, features=features))


def test_kinds_and_names_of_labels_stay() -> None:
    assert tares.corrupt([True, False] * 10, "exact:0.5").tolist().count(1) == 10
    assert set(tares.corrupt(np.zeros(100, dtype=int), "symmetric:0.5", classes=["a", "b", "c"][:3] and 3).tolist()) <= {0, 1, 2}
    assert tares.corrupt(["b", "a"], "none", classes=["a", "b", "c"]).tolist() == ["b", "a"]
    assert tares.corrupt([True, False], "none").dtype == np.bool_
    # Names that are numbers stand by size, as in the program: the next class of 9 is 10.
    assert set(tares.corrupt(["8", "9", "10"] * 30, "exact:1")[1::3].tolist()) == {"8", "10"}
    assert tares.corrupt(["9"] * 20 + ["10", "8"], "pair:0.9", seed=1)[:20].tolist().count("10") > 10


def test_figures_are_those_of_scikit_learn(noisy: Noisy) -> None:
    predicted = noisy.probs.argmax(axis=1)
    figures, theirs = tares.metrics, sklearn.metrics
    assert figures.accuracy(noisy.truth, predicted) == pytest.approx(theirs.accuracy_score(noisy.truth, predicted))
    assert figures.balanced_accuracy(noisy.truth, predicted) == pytest.approx(theirs.balanced_accuracy_score(noisy.truth, predicted))
    assert np.array_equal(figures.confusion(noisy.truth, predicted), theirs.confusion_matrix(noisy.truth, predicted))
    wrong = noisy.labels != noisy.truth
    scores = -tares.scores(noisy.labels, noisy.probs, score="self-confidence")
    assert figures.auroc(scores, wrong) == pytest.approx(theirs.roc_auc_score(wrong, scores))
    assert figures.average_precision(scores, wrong) == pytest.approx(theirs.average_precision_score(wrong, scores))
    found = tares.audit(noisy.labels, noisy.probs, truth=noisy.truth)
    got = figures.retrieval(found.is_suspect, wrong)
    assert got == figures.retrieval(found.suspects["row"], wrong)
    assert got.f1 == pytest.approx(theirs.f1_score(wrong, found.is_suspect))
    assert found.against_truth is not None and found.against_truth[1:4] == got
    assert figures.noise_rate(noisy.truth, noisy.labels) == pytest.approx(wrong.mean())
    assert figures.mean_std([0.9, 0.92, 0.94]) == pytest.approx((0.92, 0.02))


def test_labels_too_large_for_a_matrix_are_refused_where_one_is_needed() -> None:
    assert tares.metrics.accuracy([4_000_000_000, 1], [1, 1]) == 0.5
    for figure in (tares.metrics.confusion, tares.metrics.balanced_accuracy):
        with pytest.raises(ValueError, match="less than 10000, got 99999: numpy.unique"):
            figure([99_999, 1], [1, 1])
    assert tares.metrics.confusion([True, False], [1, 1]).tolist() == [[0, 1], [0, 1]]


def test_figures_without_a_value_are_none_and_bad_ones_refused() -> None:
    assert tares.metrics.retrieval([], [False, True]) == (None, 0.0, 0.0)
    with pytest.raises(ValueError, match="at most once"):
        tares.metrics.retrieval([1, 1], [False, True])
    with pytest.raises(ValueError):
        tares.metrics.accuracy([0, 1], [0])
    with pytest.raises(TypeError, match="True and False"):
        tares.metrics.auroc([0.1, 0.2], [0, 1])
    with pytest.raises(TypeError, match="both names"):
        tares.metrics.accuracy([0, 1], ["a", "b"])
