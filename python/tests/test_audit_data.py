"""Audits of data alone, and what `save` writes: the same as the program."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tares
from conftest import Noisy, program

SPECIES = np.array(["iris", "rose", "tulip"])


def flowers(rows: int = 300, seed: int = 0) -> tuple[pd.DataFrame, npt.NDArray[Any]]:
    """A table with numbers, a category and gaps; a tenth of its labels are wrong."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, 3, rows)
    length = 2.0 * truth + draw.normal(scale=0.5, size=rows)
    width = -1.0 * truth + draw.normal(scale=0.5, size=rows)
    length[draw.random(rows) < 0.05] = np.nan
    colour = np.array(["blue", "red", "yellow"])[np.where(draw.random(rows) < 0.8, truth, draw.integers(0, 3, rows))].astype(object)
    colour[draw.random(rows) < 0.05] = None
    labels = SPECIES[truth]
    wrong = draw.random(rows) < 0.1
    labels[wrong] = SPECIES[(truth[wrong] + 1) % 3]
    frame = pd.DataFrame({"length": length.round(3), "width": width.round(3), "colour": colour, "species": labels})
    return frame, SPECIES[truth]


def test_a_frame_is_judged_by_the_programs_own_judges() -> None:
    frame, truth = flowers()
    found = tares.audit(frame, label="species", truth=truth)
    assert found.against_truth is not None
    assert (found.against_truth.f1 or 0) > 0.8 and found.against_truth.wrong == (frame["species"] != truth).sum()
    assert found.judges is not None and found.judges["judge"].tolist() == ["linear", "trees", "forest"]
    assert found.judges["weight"].sum() == pytest.approx(1)
    assert found.probs is not None and found.probs.shape == (300, 3) and np.allclose(found.probs.sum(axis=1), 1)
    assert (found.corrected == truth).mean() > (frame["species"] == truth).mean() + 0.05


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas, lambda frame: frame.to_dict("list"), lambda f: f.astype({"colour": "category"})])
def test_every_kind_of_frame_gives_the_same_audit(make: Any) -> None:
    frame, _ = flowers()
    expected = tares.audit(frame, label="species")
    found = tares.audit(make(frame), label="species")
    assert np.array_equal(found.suspects["row"], expected.suspects["row"])
    assert np.array_equal(found.suspects["score"], expected.suspects["score"])


def test_rows_without_a_label_are_not_judged_but_get_a_suggestion() -> None:
    frame, truth = flowers()
    frame.loc[[3, 50, 299], "species"] = None
    found = tares.audit(frame, label="species")
    assert found.unlabelled["row"].tolist() == [3, 50, 299]
    assert (found.unlabelled["suggested"] == truth[[3, 50, 299]]).sum() >= 2
    assert not set(found.suspects["row"]) & {3, 50, 299}
    assert found.suspects["given"][0] == frame["species"][found.suspects["row"][0]]
    assert found.corrected.tolist()[3] == found.unlabelled["suggested"][0]
    assert any("3 rows have no label" in text for text in found.warnings)
    assert found.probs is not None and np.isnan(found.probs[3]).all()


def test_an_empty_text_is_no_label() -> None:
    frame, _ = flowers()
    frame["species"] = frame["species"].astype(object)
    frame.loc[[5, 40], "species"] = ["", " "]
    found = tares.audit(frame, label="species")
    assert list(found.classes) == ["iris", "rose", "tulip"] and found.unlabelled["row"].tolist() == [5, 40]
    texts = {**frame.drop(columns="species").to_dict("list"), "species": np.array(frame["species"].tolist())}
    assert tares.audit(texts, label="species").unlabelled["row"].tolist() == [5, 40]


def test_a_narrow_array_is_judged_as_the_table_it_is() -> None:
    draw = np.random.default_rng(2)
    truth = draw.integers(0, 3, 600)
    table = truth[:, None] + 1.3 * draw.normal(size=(600, 4))
    found = tares.audit(truth, features=table.astype(np.float32))
    # Without the limit of a table, most rows that are hard for the judges would be suspects.
    assert any("hard for the model" in text for text in found.warnings), found.warnings
    wide = np.hstack([table, draw.normal(size=(600, 100))]).astype(np.float32)
    assert not any("are not listed" in text for text in tares.audit(truth, features=wide, judges=["linear"]).warnings)


def test_embeddings_of_any_model_will_do() -> None:
    draw = np.random.default_rng(1)
    truth = draw.integers(0, 4, 400)
    embeddings = draw.normal(size=(4, 16))[truth] * 2 + draw.normal(size=(400, 16))
    labels = tares.corrupt(truth, "symmetric:0.2", seed=2)
    found = tares.audit(labels, features=embeddings.astype(np.float32), truth=truth)
    assert found.against_truth is not None and (found.against_truth.f1 or 0) > 0.9
    assert abs(found.noise_rate - (labels != truth).mean()) < 0.05


@pytest.mark.parametrize(
    "write",
    [
        list,
        np.array,
        lambda names: pd.Series(names, dtype="string"),
        lambda names: pd.Series(names, dtype="category"),
        pl.Series,
        pa.array,
        lambda names: pd.Series([None if name is None else SPECIES.tolist().index(name) for name in names], dtype="Int64"),
        lambda names: np.array([np.nan if name is None else SPECIES.tolist().index(name) for name in names]),
    ],
)
def test_rows_of_embeddings_may_lack_labels_of_any_kind(write: Any) -> None:
    frame, truth = flowers()
    embeddings = np.column_stack([frame["length"].fillna(0), frame["width"]]).astype(np.float32)
    without = np.array([3, 70, 299])
    cells = frame["species"].astype(object).to_numpy().copy()
    cells[without] = None
    options = {"judges": ["linear"], "truth": np.unique(truth, return_inverse=True)[1]}
    codes = np.unique(frame["species"], return_inverse=True)[1]
    there = np.setdiff1d(np.arange(300), without)
    expected = tares.audit(codes[there], features=embeddings[there], **{**options, "truth": options["truth"][there]})
    found = tares.audit(write(cells.tolist()), features=embeddings, **{**options, "truth": found_truth(write, truth, options["truth"])})
    # The very audit of the other rows, under their own numbers.
    assert np.array_equal(found.suspects["row"], there[expected.suspects["row"]]) and len(found) > 10
    assert np.array_equal(found.suspects["score"], expected.suspects["score"])
    assert found.noise_rate == expected.noise_rate and found.against_truth == expected.against_truth
    assert found.is_suspect.sum() == len(found) and not found.is_suspect[without].any()
    assert found.unlabelled["row"].tolist() == without.tolist()
    right = np.isin(found.unlabelled["suggested"].astype(str), [str(found_truth(write, truth, options["truth"])[row]) for row in without])
    assert right.all() and (found.corrected[without] == found.unlabelled["suggested"]).all()
    assert found.probs is not None and np.isnan(found.probs).any(axis=1).nonzero()[0].tolist() == without.tolist()
    assert any("3 rows have no label" in line for line in found.warnings) or "3 rows have no label" in repr(found)


def found_truth(write: Any, names: Any, codes: Any) -> Any:
    """The truth as the labels are written: names or numbers."""
    kind = getattr(write(["iris", "rose", None]), "dtype", None)
    return codes if str(kind) in ("Int64", "float64") else names


def test_pictures_may_lack_labels() -> None:
    draw = np.random.default_rng(0)
    labels = np.repeat([0.0, 1.0], 60)
    pictures = draw.integers(0, 50, (120, 8, 8)).astype(np.uint8)
    pictures[np.arange(120), 4 * labels.astype(int)] += 200
    labels[[3, 119]] = np.nan
    found = tares.audit(labels, features=pictures, epochs=1, folds=2)
    assert found.probs is not None and np.isnan(found.probs[:, 0]).nonzero()[0].tolist() == [3, 119]


def test_features_beside_probabilities_add_a_second_estimate(noisy: Noisy) -> None:
    spots = np.eye(5)[noisy.truth] + np.random.default_rng(0).normal(scale=0.05, size=(len(noisy.truth), 5))
    found = tares.audit(noisy.labels, noisy.probs, features=spots, truth=noisy.truth)
    rate, (low, high) = found.neighbours_rate or (0.0, (0.0, 0.0))
    assert low <= rate <= high and abs(rate - 0.2) < 0.05
    assert found.against_truth is not None and found.against_truth.precision is not None and found.against_truth.precision > 0.9
    assert tares.audit(noisy.labels, noisy.probs).neighbours_rate is None


def test_the_same_seed_gives_the_same_bits() -> None:
    frame, _ = flowers()
    a, b = (tares.audit(frame, label="species", seed=5) for _ in range(2))
    assert np.array_equal(a.probs, b.probs) and a.noise_rate == b.noise_rate  # type: ignore[arg-type]


def test_texts_are_read_by_their_words() -> None:
    draw = np.random.default_rng(3)
    words = {"spam": ["win money now", "cheap pills offer", "click this prize"], "ham": ["see you at lunch", "the report is done", "call your mother"]}
    labels = np.array(["spam", "ham"] * 60)
    texts = [f"{draw.choice(words[label])} {draw.choice(words[label])} number {place}" for place, label in enumerate(labels)]
    labels[4] = "ham"
    found = tares.audit({"message": texts, "label": labels}, label="label", text=["message"])
    assert 4 in found.suspects["row"][:3]
    assert found.judges is not None and "bayes" in found.judges["judge"]


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_save_writes_what_the_program_writes(noisy: Noisy, tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", noisy.labels)
    np.save(tmp_path / "p.npy", noisy.probs)
    np.save(tmp_path / "t.npy", noisy.truth)
    command = [program(), "audit", "--labels", "y.npy", "--probs", "p.npy", "--truth", "t.npy", "--out", "theirs", "--exit-zero"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    page = tares.audit(noisy.labels, noisy.probs, truth=noisy.truth).save(tmp_path / "ours")
    assert page == tmp_path / "ours" / "audit.html"
    ours, theirs = _files(tmp_path / "ours"), _files(tmp_path / "theirs")
    assert ours.keys() == theirs.keys()
    assert ours["suspects.csv"] == theirs["suspects.csv"] and ours["labels-suggested.csv"] == theirs["labels-suggested.csv"]
    own, their = json.loads(ours["summary.json"]), json.loads(theirs["summary.json"])
    # The only thing that may differ: where the probabilities came from.
    assert (own.pop("probabilities"), their.pop("probabilities")) == ("an array in memory", "p.npy")
    assert own == their
    assert ours["audit.html"].replace(b"an array in memory", b"p.npy") == theirs["audit.html"]


def test_an_audit_of_a_frame_is_the_programs_audit_of_its_file(tmp_path: Path) -> None:
    frame, _ = flowers()
    frame.to_csv(tmp_path / "flowers.csv", index=False)
    command = [program(), "audit", "flowers.csv", "--label", "species", "--out", "theirs", "--exit-zero"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    tares.audit(frame, label="species").save(tmp_path / "ours")
    ours, theirs = _files(tmp_path / "ours"), _files(tmp_path / "theirs")
    assert ours["suspects.csv"] == theirs["suspects.csv"]
    assert ours["labels-suggested.csv"] == theirs["labels-suggested.csv"]
    told = json.loads(theirs["summary.json"])
    # Of a file the program also says how missing values were read; who has a frame in memory is not told.
    assert [note.split(":")[0] for note in told.pop("data_notes")] == ["missing numbers are marked"]
    assert json.loads(ours["summary.json"]) == told


def test_saved_files_name_rows_by_their_index_and_show_their_values(tmp_path: Path) -> None:
    frame, _ = flowers()
    frame.index = pd.Index([f"plant <{place}>" for place in range(len(frame))])
    found = tares.audit(frame, label="species")
    page = found.save(tmp_path / "audit", gallery=5)
    rows = list(csv.DictReader((tmp_path / "audit" / "suspects.csv").open()))
    assert rows[0]["id"] == found.suspects["id"][0]
    text = page.read_text()
    assert "plant \\u003c" in text and "length" in text
    labels = pd.Series(frame["species"])
    probs = pd.DataFrame(found.probs, columns=SPECIES)
    tares.audit(labels, probs).save(tmp_path / "again")
    assert next(csv.DictReader((tmp_path / "again" / "suspects.csv").open()))["id"].startswith("plant <")


def test_a_place_that_cannot_be_written_is_an_os_error(noisy: Noisy, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="file"):
        tares.audit(noisy.labels, noisy.probs).save(tmp_path / "file" / "audit")
    assert os.listdir(tmp_path) == ["file"]


def test_notebooks_show_suspects_and_classes_escaped() -> None:
    labels = np.array(["<b>", "x"] * 50)
    probs = np.tile([[0.9, 0.1], [0.1, 0.9]], (50, 1))
    labels[0] = "x"
    html = tares.audit(labels, probs, classes=["<b>", "x"])._repr_html_()
    assert "&lt;b&gt;" in html and "<b>x" not in html and "per class" in html and "1 of 100 labels are suspects" in html


@pytest.mark.parametrize("kind", ["string", "boolean", "category", "object", "Int64", "Float64", "string[pyarrow]"])
def test_cells_that_are_not_available_are_missing(kind: str) -> None:
    frame, _ = flowers(120)
    values = {"boolean": [True, False], "Int64": [1, 2], "Float64": [0.5, 2.5]}.get(kind, ["a", "b"])
    there = pd.Series(np.array(values, dtype=object)[np.arange(120) % 2])
    gaps = there.where(np.arange(120) % 7 != 0, pd.NA).astype(kind)
    found = tares.audit(frame.assign(more=gaps), label="species", judges="linear")
    plain = there.where(np.arange(120) % 7 != 0, None).astype(object)
    expected = tares.audit(frame.assign(more=plain), label="species", judges="linear")
    assert np.array_equal(found.suspects["row"], expected.suspects["row"]) and found.noise_rate == expected.noise_rate
    answers = pd.DataFrame({"row": [0, 0, 1, 1], "who": ["a", "b", "a", "b"], "label": pd.Series(["x", "y", "y", pd.NA], dtype="string")})
    assert len(tares.consensus(answers, row="row", annotator="who", label="label").rows) == 2


def test_times_with_a_zone_and_dates_are_times() -> None:
    frame, _ = flowers(120)
    when = pd.Series(pd.date_range("2021-03-01 12:00", periods=120, freq="D"))
    when[5] = pd.NaT
    expected = tares.audit(frame.assign(when=when), label="species", judges="linear")
    for same in (when.dt.tz_localize("UTC"), when.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"), when.astype(object)):
        found = tares.audit(frame.assign(when=same), label="species", judges="linear")
        assert np.array_equal(found.suspects["score"], expected.suspects["score"])
    days = when.dt.normalize()
    expected = tares.audit(frame.assign(when=days), label="species", judges="linear")
    found = tares.audit(frame.assign(when=days.dt.date), label="species", judges="linear")
    assert np.array_equal(found.suspects["score"], expected.suspects["score"])
    with pytest.raises(TypeError, match=r"column 'when' must hold numbers, dates or texts, got Period.*astype\(str\)"):
        tares.audit(frame.assign(when=days.dt.to_period("M")), label="species")


def test_rows_without_a_label_keep_their_ids_and_a_judge_may_be_named_alone() -> None:
    frame, _ = flowers(120)
    frame.loc[[3, 50], "species"] = None
    frame.index = pd.Index([f"plant {place}" for place in range(120)])
    found = tares.audit(frame, label="species", judges="linear", text="colour")
    assert found.judges is not None and found.judges["judge"].tolist() == ["linear"]
    assert found.unlabelled["id"].tolist() == ["plant 3", "plant 50"] == found.unlabelled.to_pandas().index.tolist()
