"""`tares.audit`: suspects in one line, whatever the labels and probabilities came in."""

from __future__ import annotations

import numpy as np
import pytest

import tares
from conftest import Noisy, make_noisy


def test_most_wrong_labels_are_found_and_the_rate_is_right(noisy: Noisy) -> None:
    found = tares.audit(noisy.labels, noisy.probs)
    wrong = noisy.labels != noisy.truth
    assert abs(found.noise_rate - wrong.mean()) < 0.03
    low, high = found.noise_rate_interval
    assert low <= found.noise_rate <= high
    assert (found.is_suspect & wrong).sum() / found.is_suspect.sum() > 0.9
    assert (found.is_suspect & wrong).sum() / wrong.sum() > 0.9
    assert (found.corrected == noisy.truth).mean() > (noisy.labels == noisy.truth).mean() + 0.1


def test_suspects_come_worst_first_with_their_probabilities(noisy: Noisy) -> None:
    suspects = tares.audit(noisy.labels, noisy.probs).suspects
    assert suspects.columns == ["row", "given", "suggested", "score", "p_given", "p_suggested", "reason"]
    assert (np.diff(suspects["score"]) >= 0).all()
    rows = suspects["row"]
    assert np.array_equal(suspects["given"], noisy.labels[rows])
    assert np.array_equal(suspects["p_given"], noisy.probs[rows, suspects["given"]])
    assert np.array_equal(suspects["p_suggested"], noisy.probs[rows, suspects["suggested"]])
    assert suspects[0]["reason"].startswith("classifier says ")


def test_both_widths_give_the_same_suspects(noisy: Noisy) -> None:
    narrow = noisy.probs.astype(np.float32)
    a, b = tares.audit(noisy.labels, narrow), tares.audit(noisy.labels, narrow.astype(np.float64))
    assert np.array_equal(a.suspects["row"], b.suspects["row"])
    assert a.noise_rate == b.noise_rate


def test_the_matrix_is_true_by_given(noisy: Noisy) -> None:
    # Every label 0 that is wrong was truly 1, so row 1 has the mistake, and row 0 has none.
    draw = np.random.default_rng(3)
    labels = noisy.truth.copy()
    labels[(labels == 1) & (draw.random(len(labels)) < 0.4)] = 0
    transition = tares.audit(labels, noisy.probs).transition
    assert transition[1, 0] > 0.25 > 0.1 > transition[0, 1]
    assert np.allclose(transition.sum(axis=1), 1)


@pytest.mark.parametrize("method", ["posterior", "confident", "argmax"])
def test_every_method_runs(noisy: Noisy, method: tares.Audit) -> None:
    assert len(tares.audit(noisy.labels, noisy.probs, method=method)) > 100  # type: ignore[arg-type]


def test_nothing_is_left_of_an_audit_without_suspects() -> None:
    labels, probs = np.array([0, 1] * 50), np.tile([[0.9, 0.1], [0.1, 0.9]], (50, 1))
    found = tares.audit(labels, probs)
    assert len(found) == 0 and not found.is_suspect.any()
    assert np.array_equal(found.corrected, labels)
    assert found.to_pandas().empty and "0 of 100" in repr(found)


def test_a_million_rows_need_no_copy_of_the_probabilities() -> None:
    data = make_noisy(1000, 3)
    data.probs.setflags(write=False)
    assert tares.audit(data.labels, data.probs).noise_rate > 0.1
