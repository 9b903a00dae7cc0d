"""What is wrong, what is allowed, what came, where: as an exception, and nothing crashes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tares

GOOD = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
Y = [0, 1, 0]


def _with(row: int, column: int, value: float) -> Any:
    probs = GOOD.copy()
    probs[row, column] = value
    return probs


BAD: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "too few labels": ([0, 1], GOOD, ValueError, r"3|2"),
    "too many labels": ([0, 1, 0, 1], GOOD, ValueError, r"4"),
    "no rows": ([], np.empty((0, 2)), ValueError, r"."),
    "no classes": ([0, 0, 0], np.empty((3, 0)), ValueError, r"class|column|label"),
    "one class": ([0, 0, 0], np.ones((3, 1)), ValueError, r"2|class"),
    "a single number": (0, GOOD, ValueError, r"one-dimensional.*single value"),
    "probabilities that are a number": (Y, 0.5, ValueError, r"two-dimensional.*single value"),
    "probabilities of one dimension": (Y, [0.5, 0.5, 0.5], ValueError, r"two-dimensional"),
    "labels of two dimensions": ([[0], [1], [0]], GOOD, ValueError, r"one-dimensional.*3 x 1"),
    "NaN": (Y, _with(1, 0, np.nan), ValueError, r"row 1"),
    "infinity": (Y, _with(2, 1, np.inf), ValueError, r"row 2"),
    "negative": (Y, _with(1, 0, -0.2), ValueError, r"row 1"),
    "above one": (Y, _with(0, 0, 1.9), ValueError, r"row 0"),
    "sum is not one": (Y, _with(2, 1, 0.1), ValueError, r"sum.*row 2"),
    "label outside": ([0, 2, 0], GOOD, ValueError, r"2.*row 1|row 1"),
    "negative label": ([0, -1, 0], GOOD, ValueError, r"got -1 at row 1"),
    "half a label": ([0, 0.5, 0], GOOD, ValueError, r"got 0.5 at row 1"),
    "missing label": ([0, None, 0], GOOD, ValueError, r"missing.*None at row 1"),
    "NaN label": ([0, np.nan, 0], GOOD, ValueError, r"nan at row 1"),
    "pandas NA": (pd.Series([0, pd.NA, 0], dtype="Int64"), GOOD, ValueError, r"row 1"),
    "mixed labels": (np.array([0, "a", 0], dtype=object), GOOD, TypeError, r"all integers or all strings.*str at row 1"),
    "labels that are lists": (np.array([[0], [1, 2], [0]], dtype=object), GOOD, TypeError, r"list at row 0"),
    "a list of names and numbers": ([0, "a", 0], GOOD, TypeError, r"all integers or all strings.*str at row 1"),
    "a missing name": (["a", float("nan"), "b"], GOOD, ValueError, r"missing.*nan at row 1"),
    "dates": (np.array(["2020-01-01"] * 3, dtype="datetime64[D]"), GOOD, TypeError, r"integers or strings"),
    "complex labels": (np.array([0j, 1, 0]), GOOD, TypeError, r"integers or strings"),
    "complex probabilities": (Y, GOOD.astype(complex), TypeError, r"must be numbers"),
    "text probabilities": (Y, GOOD.astype(str), TypeError, r"must be numbers"),
    "object probabilities": (Y, np.array([[object(), 1]] * 3), TypeError, r"must be numbers"),
    "ragged probabilities": (Y, [[0.5, 0.5], [1.0], [0.5, 0.5]], ValueError, r"."),
    "ragged labels": ([[0], [1, 2], [0]], GOOD, ValueError, r"different lengths"),
    "too many names": (["a", "b", "c"], GOOD, ValueError, r"2 columns.*3 names.*classes="),
    "huge label": ([0, 2**40, 0], GOOD, ValueError, r"row 1"),
    "a dictionary": ({"a": 1}, GOOD, (ValueError, TypeError), r"."),  # type: ignore[dict-item]
    "masked labels": (np.ma.array(Y, mask=[0, 1, 0]), GOOD, ValueError, r"labels must not be masked.*row 1"),
    "masked probabilities": (Y, np.ma.array(GOOD, mask=GOOD == 0.8), ValueError, r"probs must not be masked.*row 1"),
    "nothing": (None, GOOD, (ValueError, TypeError), r"."),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("call", [tares.audit, tares.scores])
def test_bad_input_is_refused_with_words(name: str, call: Any) -> None:
    labels, probs, kind, words = BAD[name]
    with pytest.raises(kind, match=words):
        call(labels, probs)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "posteriour"}, "did you mean posterior"),
        ({"score": "margin"}, "score.*margin"),
        ({"classes": ["a"]}, "classes must name the 2 columns"),
        ({"classes": ["a", "a"]}, "differ from each other"),
        ({"classes": [3, 4]}, "labels must be one of 3, 4, got 0 at row 0"),
        ({"truth": [0, 1]}, "truth must have a label for each of the 3 rows, got 2"),
        ({"truth": [0, 1, 5]}, "5"),
        ({"features": [[1.0], [2.0]]}, "features must have a row for each of the 3 labels, got 2"),
        ({"features": [["a"], ["b"], ["c"]]}, "features must be numbers"),
        ({"features": [[1.0], [np.nan], [2.0]]}, "finite|nan|NaN"),
        ({"label": "y"}, "pass the labels themselves"),
    ],
)
def test_bad_options_are_refused_with_words(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tares.audit(Y, GOOD, **options)


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "words"),
    [
        ((Y,), {}, ValueError, "probs .* or features .* must be given"),
        ((pd.DataFrame({"a": [1.0, 2.0]}),), {}, ValueError, "label must name the column"),
        ((pd.DataFrame({"a": [1.0, 2.0]}),), {"label": "b"}, ValueError, r"column of the frame \(a\), got 'b'"),
        ((Y,), {"label": "b"}, TypeError, "must be a frame, got list"),
        (({"y": [0, 1, 0]},), {"label": "y"}, ValueError, "at least one column"),
        (({"y": [0, 1, 0], "x": [1.0, 2.0]},), {"label": "y"}, ValueError, "3 labels, got 2"),
        (({"y": [0, 1, 0], "x": [1.0, np.inf, 2.0]},), {"label": "y"}, ValueError, 'column "x".*infinity.*row 1'),
        (({"y": [0, 1, 0], "x": [[1], [2], [3]]},), {"label": "y"}, (ValueError, TypeError), "column 'x'"),
        (({"y": [0, 0, 0], "x": [1.0, 2.0, 3.0]},), {"label": "y"}, ValueError, "class"),
        ((Y,), {"features": np.zeros((2, 3))}, ValueError, "3 labels, got 2"),
        ((Y,), {"features": np.zeros(3)}, ValueError, "rows x columns"),
        (([[0], [1], [0]],), {"features": np.zeros((3, 2))}, ValueError, "one-dimensional, got an array of 3 x 1"),
        ((0,), {"features": np.zeros((3, 2))}, ValueError, "one-dimensional, got a single value"),
        (([None] * 3,), {"features": np.zeros((3, 2))}, ValueError, "must hold a label, got 3 rows without one"),
        (([np.nan, 0.5, 1],), {"features": np.zeros((3, 2))}, ValueError, "got 0.5 at row 1"),
        (([None, "a", 1],), {"features": np.zeros((3, 2))}, TypeError, "str at row 1, int at row 2"),
        (([None, 0, -1],), {"features": np.zeros((3, 2)), "classes": [0, 1]}, ValueError, "got -1 at row 2"),
        (([None, "a", "b"],), {"features": np.zeros((3, 2)), "classes": ["b", "c"]}, ValueError, "one of b, c, got a at row 1"),
        (([],), {"features": np.zeros((0, 2))}, ValueError, "labels must not be empty"),
        ((np.ma.array(Y, mask=[0, 0, 1]),), {"features": np.zeros((3, 2))}, ValueError, "masked value at row 2"),
        ((Y,), {"features": np.ma.array(np.zeros((3, 2)), mask=[[0, 0], [0, 1], [0, 0]])}, ValueError, "masked value at row 1"),
        ((Y * 20,), {"features": np.zeros((60, 2)), "judges": ["oracle"]}, ValueError, "unknown judge 'oracle'"),
        ((Y * 20,), {"features": np.zeros((60, 2)), "folds": 1}, ValueError, "folds must be a whole number from 2"),
        ((Y * 20,), {"features": np.zeros((60, 2)), "folds": 2.5}, TypeError, "folds must be a whole number, got 2.5"),
        ((Y * 20,), {"features": np.zeros((60, 2)), "seed": -1}, ValueError, "seed must be a whole number from 0 .* got -1"),
        ((Y * 20,), {"features": np.zeros((60, 2)), "epochs": 0}, ValueError, "epochs must be a whole number from 1"),
        ((Y * 20,), {"features": {"x": [1 + 2j] * 60}}, TypeError, "column 'x' must be real numbers"),
        ((Y * 20,), {"features": {"x": [{}] * 60}}, TypeError, "column 'x' must hold numbers, dates or texts, got dict"),
    ],
)
def test_bad_data_is_refused_with_words(arguments: Any, options: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        tares.audit(*arguments, **options)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((Y, "pear:0.3"), {}, "did you mean pair"),
        ((Y, "pair:1.3"), {}, "noise rate must be in"),
        ((Y, "pair:0.3"), {"classes": 1}, "."),
        (([0, 0], "pair:0.3"), {}, "at least 2 classes"),
        ((Y, [[0.5, 0.5]]), {}, "2 x 2 classes"),
        ((Y, [[0.5, 0.6], [0, 1]]), {}, "sum|1"),
        ((Y, "instance:0.3"), {}, "features"),
        ((Y, "instance:0.3"), {"features": [[1.0]]}, "3 labels"),
        ((Y, "pair:0.3"), {"seed": -1}, "seed must be a whole number from 0 .* got -1"),
        (([99_999, 1, 0], "symmetric:0.3"), {}, "less than 10000, got 99999 at row 0: say with classes="),
        (([4_000_000_000, 1, 0], "symmetric:0.3"), {}, "less than 10000, got 4000000000 at row 0"),
        ((Y, "pair:0.3"), {"classes": 10**12}, "classes must be a whole number from 1 to 10000"),
        ((Y, "pair:0.3"), {"classes": np.arange(20_000)}, "at most 10000 classes, got 20000"),
    ],
)
def test_bad_noise_is_refused_with_words(arguments: Any, options: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tares.corrupt(*arguments, **options)


def test_the_compiled_part_refuses_what_the_package_would_have_converted() -> None:
    from tares import _tares

    with pytest.raises(TypeError):
        _tares.audit(np.zeros(3, dtype=np.int64), GOOD, "posterior", "posterior", False)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="C-contiguous"):
        _tares.audit(np.zeros(2, dtype=np.uint32), np.asfortranarray(GOOD)[:2], "posterior", "posterior", False)
    with pytest.raises(ValueError, match="damaged"):
        _tares.predict("{}", b"", [("x", np.zeros(1))], 1)


def test_the_compiled_part_reads_no_array_column_after_column() -> None:
    from tares import _tares

    codes, turned = np.array(Y, dtype=np.uint32), np.asfortranarray(GOOD)
    narrow = turned.astype(np.float32, order="F")
    calls: list[Any] = [
        lambda: _tares.audit(codes, turned, "posterior", "posterior", False),
        lambda: _tares.audit(codes, narrow, "posterior", "posterior", False),
        lambda: _tares.audit(codes, GOOD, "posterior", "posterior", False, None, narrow),
        lambda: _tares.calibration_error(turned, codes, 15),
        lambda: _tares.corrupt(codes, 2, "instance:0.3", 1, None, narrow),
    ]
    assert not turned.flags.c_contiguous and not narrow.flags.c_contiguous
    for call in calls:
        with pytest.raises(TypeError, match="C-contiguous"):
            call()
