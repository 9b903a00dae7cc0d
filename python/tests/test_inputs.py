"""Whatever labels and probabilities come in: the same audit."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import tares
from conftest import Noisy, make_noisy

NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])

LABELS: dict[str, Any] = {
    "list": lambda y: y.tolist(),
    "int8": lambda y: y.astype(np.int8),
    "uint32": lambda y: y.astype(np.uint32),
    "whole floats": lambda y: y.astype(np.float64),
    "objects": lambda y: y.astype(object),
    "every second of a longer array": lambda y: np.repeat(y, 2)[::2],
    "big endian": lambda y: y.astype(">i4"),
    "read only": lambda y: _frozen(y),
    "backwards": lambda y: y[::-1].copy()[::-1],
    "without a mask": lambda y: np.ma.array(y, mask=False),
    "pandas": lambda y: pd.Series(y),
    "pandas Int64": lambda y: pd.Series(y, dtype="Int64"),
    "pandas category": lambda y: pd.Series(pd.Categorical(y)),
    "polars": lambda y: pl.Series(y),
    "arrow": lambda y: pa.array(y),
    "arrow chunks": lambda y: pa.chunked_array([y[:100], y[100:]]),
    "torch": lambda y: torch.tensor(y),
}

PROBS: dict[str, Any] = {
    "list": lambda p: p.tolist(),
    "columns first": lambda p: np.asfortranarray(p),
    "every second column": lambda p: np.repeat(p, 2, axis=1)[:, ::2],
    "read only": lambda p: _frozen(p),
    "backwards": lambda p: p[::-1, ::-1].copy()[::-1, ::-1],
    "without a mask": lambda p: np.ma.array(p, mask=False),
    "big endian": lambda p: p.astype(">f8"),
    "pandas": lambda p: pd.DataFrame(p),
    "polars": lambda p: pl.DataFrame(p),
    "arrow": lambda p: pa.table({str(k): p[:, k] for k in range(p.shape[1])}),
    "torch": lambda p: torch.tensor(p),
    "torch with gradient": lambda p: torch.tensor(p, requires_grad=True),
}


def _frozen(array: Any) -> Any:
    copy = array.copy()
    copy.setflags(write=False)
    return copy


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind(noisy: Noisy, kind: str) -> None:
    expected = tares.audit(noisy.labels, noisy.probs)
    found = tares.audit(LABELS[kind](noisy.labels), noisy.probs)
    assert np.array_equal(found.suspects["row"], expected.suspects["row"])
    assert np.array_equal(found.corrected, expected.corrected)


@pytest.mark.parametrize("kind", PROBS)
def test_probabilities_of_any_kind(noisy: Noisy, kind: str) -> None:
    expected = tares.audit(noisy.labels, noisy.probs)
    found = tares.audit(noisy.labels, PROBS[kind](noisy.probs))
    assert np.array_equal(found.suspects["row"], expected.suspects["row"])


@pytest.mark.parametrize("half", [np.float16, "bfloat16"])
def test_half_precision_is_converted_once(noisy: Noisy, half: Any) -> None:
    probs = torch.tensor(noisy.probs).bfloat16() if half == "bfloat16" else noisy.probs.astype(half)
    found = tares.audit(noisy.labels, probs, normalise=True)
    assert abs(found.noise_rate - tares.audit(noisy.labels, noisy.probs).noise_rate) < 0.02


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array, lambda x: np.array(x, dtype=object)])
def test_names_instead_of_numbers(noisy: Noisy, make: Any) -> None:
    expected = tares.audit(noisy.labels, noisy.probs)
    found = tares.audit(make(NAMES[noisy.labels].tolist()), noisy.probs, classes=NAMES)
    assert np.array_equal(found.suspects["row"], expected.suspects["row"])
    assert np.array_equal(found.suspects["given"], NAMES[expected.suspects["given"]])
    assert np.array_equal(found.corrected, NAMES[expected.corrected])


@pytest.mark.parametrize("kind", ["Float64", "Float32", "double[pyarrow]"])
def test_nullable_probabilities(noisy: Noisy, kind: str) -> None:
    found = tares.audit(noisy.labels, pd.DataFrame(noisy.probs).astype(kind), normalise=True)
    assert abs(found.noise_rate - tares.audit(noisy.labels, noisy.probs).noise_rate) < 1e-3


@pytest.mark.parametrize("make", [np.array, list, lambda y: y.astype(object), lambda y: pd.Series(y, dtype="boolean"), pl.Series, pa.array])
def test_booleans_stay_booleans(noisy: Noisy, make: Any) -> None:
    labels, yes = noisy.labels == 1, noisy.probs[:, 1]
    probs = np.column_stack([1 - yes, yes])
    expected = tares.audit(labels.astype(int), probs)
    for options in ({}, {"classes": [False, True]}):
        found = tares.audit(make(labels), probs, **options)
        assert found.classes.tolist() == [False, True] and found.corrected.dtype == np.bool_
        assert np.array_equal(found.corrected, expected.corrected == 1)
        assert type(found.suspects[0]["given"]) is bool
    assert tares.audit(make(labels), probs, truth=noisy.truth == 1).against_truth == tares.audit(
        labels.astype(int), probs, truth=(noisy.truth == 1).astype(int)
    ).against_truth


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 2 has it")
def test_labels_of_numpys_own_strings(noisy: Noisy) -> None:
    expected = tares.audit(NAMES[noisy.labels], noisy.probs, classes=NAMES)
    found = tares.audit(NAMES[noisy.labels].astype(np.dtypes.StringDType()), noisy.probs, classes=NAMES)
    assert np.array_equal(found.suspects["row"], expected.suspects["row"])
    absent = np.array(["ant", None, "bee"] * 30, dtype=np.dtypes.StringDType(na_object=None))
    rows = {"x": np.arange(90) % 3 + np.linspace(0, 0.1, 90)}
    assert len(tares.audit(absent, features=rows, judges="linear").unlabelled) == 30


def test_columns_of_a_frame_may_stand_in_any_order(noisy: Noisy) -> None:
    expected = tares.audit(noisy.labels, noisy.probs)
    order = [3, 0, 4, 1, 2]
    frame = pd.DataFrame(noisy.probs[:, order], columns=NAMES[order])
    found = tares.audit(NAMES[noisy.labels], frame)
    suggested = dict(zip(expected.suspects["row"].tolist(), NAMES[expected.suspects["suggested"]]))
    # Sums are rounded in the order of the classes, so a row at the very end of the list may fall on the other side.
    differing = set(zip(found.suspects["row"].tolist(), found.suspects["suggested"])) ^ set(suggested.items())
    last = {*expected.suspects["row"].tolist()[-1:], *found.suspects["row"].tolist()[-1:]}
    assert {row for row, _ in differing} <= last
    assert not found.warnings


def test_names_without_classes_are_sorted_and_that_is_said(noisy: Noisy) -> None:
    found = tares.audit(NAMES[noisy.labels], noisy.probs)
    assert "sorted order: ant, bee, cat, dog, eel" in " ".join(found.warnings)


def test_a_pandas_index_is_kept(noisy: Noisy) -> None:
    labels = pd.Series(noisy.labels, index=[f"row-{place}" for place in range(len(noisy.labels))])
    found = tares.audit(labels, noisy.probs)
    assert found.suspects["id"][0] == f"row-{found.suspects['row'][0]}"
    assert found.to_pandas().index[0] == found.suspects["id"][0]


def test_suspects_as_frames(noisy: Noisy) -> None:
    found = tares.audit(NAMES[noisy.labels], noisy.probs, classes=NAMES)
    pandas, polars, arrow = found.to_pandas(), found.to_polars(), found.to_arrow()
    assert len(pandas) == len(polars) == arrow.num_rows == len(found) > 100
    assert list(pandas.columns) == polars.columns == arrow.column_names == found.suspects.columns
    assert pandas["given"].tolist() == polars["given"].to_list() == arrow["given"].to_pylist()
    # Arrow's own interface: anything that reads it can read the suspects.
    assert pa.table(found.suspects).num_rows == len(found)


def test_frames_of_suspects_have_types_and_one_id() -> None:
    noisy = make_noisy(300, 5)
    ids = pd.Index([f"row-{place}" for place in range(300)], name="id")
    found = tares.audit(pd.Series(NAMES[noisy.labels], ids), noisy.probs, classes=NAMES)
    assert "id" not in found.to_pandas().columns and found.to_pandas().reset_index()["id"].tolist() == found.suspects["id"].tolist()
    assert found.to_polars()["reason"].dtype == pl.String and found.to_polars()["id"].dtype == pl.String
    first = found.suspects[:5]
    assert isinstance(first, tares.Table) and len(first) == 5 and first[4] == found.suspects[4]
    assert first.to_pandas().index.tolist() == found.suspects["id"][:5].tolist()
    none = tares.audit(noisy.probs.argmax(axis=1), noisy.probs, method="argmax")
    assert len(none) == 0 and none.to_arrow().schema == tares.audit(noisy.labels, noisy.probs).to_arrow().schema
    assert none.to_polars()["reason"].dtype == pl.String


def test_many_emptied_classes_share_a_note() -> None:
    labels = np.repeat(np.arange(30), 20)
    probs = np.full((600, 30), 0.002)
    probs[np.arange(600), (labels + 1) % 30] = 1 - 29 * 0.002
    notes = tares.audit(labels, probs, method="argmax").warnings
    about = [note for note in notes if "less than half of " in note]
    assert len(about) == 1 and "30 classes" in about[0] and "'0' (20 of 20)" in about[0]


def test_no_copy_is_made_of_contiguous_floats() -> None:
    import tracemalloc

    rows, classes = 200_000, 20
    probs = np.full((rows, classes), 0.05, dtype=np.float32)
    labels = np.zeros(rows, dtype=np.uint32)
    tracemalloc.start()
    tares.audit(labels, probs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < probs.nbytes / 4


def test_an_audit_is_copied_as_itself_and_says_what_to_pickle(noisy: Noisy) -> None:
    found = tares.audit(noisy.labels, noisy.probs)
    assert copy.copy(found) is found and copy.deepcopy([found])[0] is found
    with pytest.raises(TypeError, match="keep its suspects"):
        pickle.dumps(found)
    again = pickle.loads(pickle.dumps(found.suspects))
    assert all(np.array_equal(again[name], found.suspects[name]) for name in ("row", "score", "reason"))
