"""Which class a column of ``probs`` is of, and which row of one thing belongs to which row of another: never by position alone if names
say otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import tares
from conftest import Noisy, make_noisy

NOISY = make_noisy(600, 3, 0.1)
WORDS = np.array(["cat", "dog", "ant"])


def _frame(names: Any, order: list[int]) -> pd.DataFrame:
    """The right probabilities under names, in another order."""
    return pd.DataFrame(NOISY.probs, columns=list(names)).iloc[:, order]


@pytest.mark.parametrize(
    ("labels", "probs"),
    [
        (NOISY.labels, _frame(range(3), [2, 0, 1])),
        (NOISY.labels, _frame("012", [2, 0, 1])),
        (NOISY.labels, pl.DataFrame({str(k): NOISY.probs[:, k] for k in (2, 0, 1)})),
        (NOISY.labels + 1, _frame([1, 2, 3], [0, 1, 2])),
        (NOISY.labels + 1, _frame([1.0, 2.0, 3.0], [1, 0, 2])),
        (10 * (NOISY.labels + 1), _frame([10, 20, 30], [1, 2, 0])),
        ((NOISY.labels + 1).astype(str), _frame([1, 2, 3], [1, 2, 0])),
        (WORDS[NOISY.labels], _frame(WORDS, [1, 2, 0])),
        (NOISY.labels, _frame(["p_a", "p_b", "p_c"], [0, 1, 2])),
        (NOISY.labels, pl.DataFrame(NOISY.probs)),
    ],
)
def test_integers_and_names_find_their_columns(labels: Any, probs: Any) -> None:
    found, expected = tares.audit(labels, probs), tares.audit(NOISY.labels, NOISY.probs)
    assert set(found.suspects["row"].tolist()) == set(expected.suspects["row"].tolist())
    assert np.allclose(tares.scores(labels, probs), tares.scores(NOISY.labels, NOISY.probs), atol=1e-4)
    figures = tares.metrics.calibration_error(probs, labels), tares.metrics.calibration_error(NOISY.probs, NOISY.labels)
    assert figures[0] == pytest.approx(figures[1])


@pytest.mark.parametrize("names", [(True, False), ("True", "False"), (1, 0)])
def test_booleans_find_their_columns(names: Any) -> None:
    labels, yes = NOISY.labels == 1, NOISY.probs[:, 1]
    expected = tares.audit(labels, np.column_stack([1 - yes, yes]))
    found = tares.audit(labels, pd.DataFrame({names[0]: yes, names[1]: 1 - yes}))
    assert found.noise_rate == pytest.approx(expected.noise_rate, abs=1e-3) and found.noise_rate < 0.2
    assert found.corrected.dtype == np.bool_


def test_a_rare_class_without_rows_moves_no_column() -> None:
    labels = np.minimum(NOISY.labels + 1, 2)
    expected = tares.audit(labels, NOISY.probs, classes=[1, 2, 3])
    assert np.array_equal(tares.audit(labels, _frame([1, 2, 3], [0, 1, 2])).suspects["row"], expected.suspects["row"])


@pytest.mark.parametrize(
    ("labels", "probs", "options", "words"),
    [
        (WORDS[NOISY.labels], _frame(WORDS, [0, 1, 2]), {"classes": ["ant", "cat", "dog"]}, "got 'ant' for the column 'cat'"),
        (WORDS[NOISY.labels], _frame(range(3), [2, 0, 1]), {"classes": WORDS}, "columns are numbered 2, 0, 1"),
        (WORDS[NOISY.labels], _frame(["cat", "cat", "ant"], [0, 1, 2]), {}, "different names, got 'cat' twice"),
        (NOISY.labels, _frame(["1", "01", "2"], [0, 1, 2]), {}, "different names, got 1 twice"),
        (NOISY.labels, _frame([1, 2, 3], [0, 1, 2]), {}, "labels must be one of 1, 2, 3, got 0"),
    ],
)
def test_names_that_contradict_are_refused(labels: Any, probs: Any, options: Any, words: str) -> None:
    for call in (tares.audit, tares.scores):
        with pytest.raises(ValueError, match=words):
            call(labels, probs, **options)


def test_classes_may_repeat_or_explain_the_names() -> None:
    names = WORDS[NOISY.labels]
    expected = tares.audit(NOISY.labels, NOISY.probs).suspects["row"]
    for probs in (_frame(WORDS, [0, 1, 2]), _frame(["p_cat", "p_dog", "p_ant"], [0, 1, 2]), pd.DataFrame(NOISY.probs)):
        assert np.array_equal(tares.audit(names, probs, classes=WORDS).suspects["row"], expected)


def test_a_consensus_finds_its_columns_too() -> None:
    answers = np.column_stack([NOISY.labels, NOISY.truth, NOISY.truth])
    expected = tares.consensus(answers, NOISY.probs)
    found = tares.consensus(answers, _frame(range(3), [2, 0, 1]))
    assert np.array_equal(found.labels, expected.labels)
    with pytest.raises(ValueError, match="columns are numbered"):
        tares.consensus(WORDS[answers], _frame(range(3), [2, 0, 1]), classes=WORDS)
    with pytest.raises(ValueError, match="look like numbers"):
        tares.consensus((answers + 9).astype(str), NOISY.probs)


def test_names_that_look_like_numbers_have_one_order() -> None:
    noisy = make_noisy(900, 12, 0.1)
    names = (noisy.labels + 1).astype(str)
    with pytest.raises(ValueError, match=r"order of texts \(1, 10, 11, 12, 2.*of numbers \(1, 2, 3.*classes="):
        tares.audit(names, noisy.probs)
    found = tares.audit(names, noisy.probs, classes=[str(k) for k in range(1, 13)])
    assert np.array_equal(found.suspects["row"], tares.audit(noisy.labels, noisy.probs).suspects["row"])
    model, audit, _, probs = tares.clean(LogisticRegression(max_iter=500), noisy.probs, names)
    assert audit.classes.tolist() == model.classes_.tolist() == sorted(set(names.tolist()))
    again = tares.audit(names, probs, classes=model.classes_, normalise=True)
    assert np.array_equal(again.suspects["row"], audit.suspects["row"]) and again.noise_rate < 0.4


def test_an_index_in_another_order_is_refused() -> None:
    noisy: Noisy = NOISY
    frame, shuffled = pd.DataFrame(noisy.probs), pd.Series(noisy.labels).sample(frac=1, random_state=0)
    for options in ({"probs": frame}, {"features": frame, "judges": "linear"}, {"probs": noisy.probs, "truth": pd.Series(noisy.truth)}):
        with pytest.raises(ValueError, match=r"same ids in another order.*\.loc\[labels\.index\].*reset_index"):
            tares.audit(shuffled, **options)
    with pytest.raises(ValueError, match="another order"):
        tares.scores(shuffled, frame)
    with pytest.raises(ValueError, match="another order"):
        tares.metrics.accuracy(shuffled, pd.Series(noisy.truth))
    with pytest.raises(ValueError, match="another order"):
        tares.audit(frame.assign(y=noisy.labels), label="y", truth=shuffled)
    with pytest.raises(ValueError, match="another order"):
        tares.clean(LogisticRegression(), frame, shuffled)
    with pytest.raises(ValueError, match="got 'b0' where labels has 'a0', at row 0"):
        tares.audit(pd.Series(noisy.labels, [f"a{k}" for k in range(600)]), frame.set_axis([f"b{k}" for k in range(600)]))
    expected = tares.audit(noisy.labels, noisy.probs).suspects["row"]
    assert np.array_equal(tares.audit(shuffled, frame.loc[shuffled.index]).is_suspect[shuffled.index.argsort()], tares.audit(noisy.labels, frame).is_suspect)
    # An index that only counts says nothing about ids, and neither does an array.
    assert np.array_equal(tares.audit(pd.Series(noisy.labels, range(5, 605)), frame).suspects["row"], expected)
    assert np.array_equal(tares.audit(shuffled.sort_index().to_numpy(), frame).suspects["row"], expected)
