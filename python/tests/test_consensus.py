"""`tares.consensus` and cleanlab's names for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tares
from tares.compat import multiannotator

Table = npt.NDArray[np.float64]


def make_crowd(rows: int = 600, seed: int = 1) -> tuple[Table, Table, npt.NDArray[np.int64]]:
    """Rows x annotators with three answers each, a classifier's probabilities, the truth. The last two people guess."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(3, size=rows)
    skill = np.array([0.95, 0.9, 0.85, 0.8, 0.34, 0.34])
    wide = np.full((rows, 6), np.nan)
    for row in range(rows):
        for who in draw.permutation(6)[:3]:
            wide[row, who] = truth[row] if draw.random() < skill[who] else draw.integers(3)
    guess = np.where(draw.random(rows) < 0.85, truth, draw.integers(3, size=rows))
    probs = np.full((rows, 3), 0.1)
    probs[np.arange(rows), guess] = 0.8
    return wide, probs, truth


def long_of(wide: Table) -> dict[str, Any]:
    rows, who = np.nonzero(~np.isnan(wide))
    return {"row": rows, "annotator": np.array([f"p{a}" for a in who]), "label": wide[rows, who].astype(int)}


def test_skills_beat_votes_and_a_classifier_helps() -> None:
    wide, probs, truth = make_crowd()
    votes = tares.consensus(wide, method="majority")
    alone, judged = tares.consensus(wide), tares.consensus(wide, probs)
    right = [np.mean(found.labels == truth) for found in (votes, alone, judged)]
    assert right[0] + 0.01 < right[1] < right[2]
    assert set(judged.annotators["annotator"][-2:].tolist()) == {4, 5}
    assert judged.probabilities.shape == (600, 3) and np.allclose(judged.probabilities.sum(axis=1), 1)
    assert abs(judged.rows["probability"].mean() - right[2]) < 0.06
    assert (np.diff(judged.suspects["probability"]) >= 0).all()
    assert np.allclose(judged.confusion().sum(axis=1), 1) and judged.confusion(4)[0, 0] < judged.confusion(0)[0, 0]
    assert judged.agreement().shape == (6, 6) and judged.agreement([0, 1])[0, 0] == 1
    assert "600 rows" in repr(judged) and "<table>" in judged._repr_html_()


def test_every_shape_of_table_says_the_same() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    wide, probs, _ = make_crowd(200)
    wanted = tares.consensus(wide, probs).labels
    long = long_of(wide)
    frame = pandas.DataFrame(wide, columns=[f"p{a}" for a in range(6)])
    for answers in (long, pandas.DataFrame(long), polars.DataFrame(long), frame, np.where(np.isnan(wide), -1, wide)):
        assert np.array_equal(tares.consensus(answers, probs).labels, wanted)
    names = np.array(["cat", "cow", "dog"])
    named = pandas.DataFrame({"item": long["row"], "who": long["annotator"], "answer": names[long["label"]]})
    assert np.array_equal(tares.consensus(named, pandas.DataFrame(probs, columns=names)).labels, names[wanted])
    assert tares.consensus(named).annotators["annotator"].tolist() == tares.consensus(long).annotators["annotator"].tolist()


def test_rows_by_name_keep_their_names() -> None:
    found = tares.consensus({"row": ["x", "y", "x"], "annotator": ["a", "a", "b"], "label": ["no", "yes", "no"]})
    assert found.rows["id"].tolist() == ["x", "y"] and found.labels.tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    ("answers", "options", "said"),
    [
        ({"row": [0], "annotator": ["a"], "label": [5]}, {"classes": [0, 1]}, "labels must be one of 0, 1, got 5"),
        ({"row": [0, 1], "annotator": ["a", None], "label": ["x", "y"]}, {}, "line 1 has no annotator"),
        ({"row": [0, 1], "who": ["a", "b"], "label": ["x", "x"]}, {}, "every answer is x"),
        (np.array([0, 1]), {}, "rows x annotators"),
        (np.full((2, 2), np.nan), {}, "must not be empty"),
        (np.array([[0, 1]]), {"method": "votes"}, "dawid-skene"),
        (np.array([[0, 1]]), {"row": "id"}, "without columns"),
        ({"row": [0], "annotator": ["a"], "label": [1]}, {"label": "lable"}, "no column 'lable'"),
        (np.array([[0, 1], [1, 1]]), {"probs": [[0.5, 0.5]]}, "a row for each of the 2"),
        (np.array([[0, 2]]), {"probs": [[0.5, 0.5]]}, "labels must be one of 0, 1, got 2"),
    ],
)
def test_bad_input_is_refused_in_words(answers: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tares.consensus(answers, **options)


def test_cleanlabs_names_and_shapes() -> None:
    cleanlab = pytest.importorskip("cleanlab.multiannotator")
    wide, probs, truth = make_crowd(400)
    theirs = cleanlab.get_label_quality_multiannotator(wide, probs, verbose=False)
    ours = multiannotator.get_label_quality_multiannotator(wide, probs, verbose=False)
    assert list(ours) == list(theirs)
    for name in ours:
        assert list(ours[name].columns) == list(theirs[name].columns), name
        assert ours[name].shape == theirs[name].shape
    assert (ours["label_quality"]["num_annotations"] == theirs["label_quality"]["num_annotations"]).all()
    right = [np.mean(one["label_quality"]["consensus_label"] == truth) for one in (ours, theirs)]
    assert right[0] > right[1]
    assert set(ours["annotator_stats"].index[:2]) == {4, 5}
    votes = multiannotator.get_majority_vote_label(wide, probs)
    assert np.array_equal(votes, cleanlab.get_majority_vote_label(wide, probs, verbose=False))
    both = ["majority_vote", "best_quality"]
    several = multiannotator.get_label_quality_multiannotator(wide, probs, consensus_method=both)["label_quality"]
    assert np.array_equal(several["consensus_label"], votes) and "consensus_label_best_quality" in several
    labelled, unlabelled = multiannotator.get_active_learning_scores(wide, probs, probs[:10])
    assert labelled.shape == (400,) and unlabelled.shape == (10,) and (labelled <= 1).all()
    ensemble = multiannotator.get_label_quality_multiannotator_ensemble(wide, np.stack([probs, probs]))
    assert np.array_equal(ensemble["label_quality"]["consensus_label"], ours["label_quality"]["consensus_label"])


def test_long_tables_become_wide() -> None:
    pandas = pytest.importorskip("pandas")
    long = pandas.DataFrame({"task": [0, 0, 1], "annotator": ["a", "b", "b"], "label": [1, 0, 1]})
    wide = multiannotator.convert_long_to_wide_dataset(long)
    assert list(wide.columns) == ["a", "b"] and wide.loc[0, "b"] == 0 and np.isnan(wide.loc[1, "a"])
    with pytest.raises(ValueError, match="none called task"):
        multiannotator.convert_long_to_wide_dataset(long.rename(columns={"task": "id"}))
    with pytest.raises(ValueError, match="return_weights"):
        multiannotator.get_label_quality_multiannotator(wide, [[0.5, 0.5], [0.5, 0.5]], return_weights=True)
