"""`tares.spark` on a real cluster: two executor processes on the loopback address. Needs pyspark and Java; skipped without them."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import make_noisy

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("needs Java", allow_module_level=True)

import pyarrow.parquet as pq  # noqa: E402
import tares.spark  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402
from tares import _tares  # noqa: E402

ROWS, CLASSES = 30_000, 6
NAMES = ["ant", "bee", "cat", "dog", "eel", "fox"]
PROGRAM = Path(os.environ.get("TARES_PROGRAM", Path(__file__).parents[2] / "target/release/tares"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .appName("tares")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.executor.memory", "1g")
        # A killed executor is an expected guest here.
        .config("spark.task.maxFailures", "8")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labels by name, 32-bit probabilities and ids, in three files of several row groups."""
    noisy = make_noisy(ROWS, CLASSES, rate=0.15, seed=3)
    folder = tmp_path_factory.mktemp("lake")
    probs = noisy.probs.astype(np.float32)
    columns: dict[str, Any] = {"id": [f"row {row}" for row in range(ROWS)], "label": [NAMES[label] for label in noisy.labels]}
    columns |= {f"p_{name}": probs[:, place] for place, name in enumerate(NAMES)}
    whole = pa.table(columns)
    for part, (start, end) in enumerate([(0, 11_000), (11_000, 11_001), (11_001, ROWS)]):
        pq.write_table(whole.slice(start, end - start), folder / f"part-{part}.parquet", row_group_size=4000)
    return folder


Found = tuple[list[tuple[Any, ...]], float, tuple[float, float], list[list[float]]]


def outcome(found: tares.spark.SparkAudit) -> Found:
    """Everything an audit says, in an order that does not depend on partitions."""
    suspects = sorted(tuple(row) for row in found.suspects.collect())
    result = (suspects, found.noise_rate, found.noise_rate_interval, found.transition.tolist())
    found.unpersist()
    return result


@pytest.fixture(scope="session")
def expected(spark: SparkSession, table: Path) -> Found:
    return outcome(tares.spark.audit(spark.read.parquet(str(table)), probs=[f"p_{name}" for name in NAMES]))


def test_the_key_of_a_row_is_sparks_own_hash(spark: SparkSession) -> None:
    ids = ["", "a", "row 7", "é", "x" * 31, "x" * 32, "y" * 100]
    frame = spark.createDataFrame([(text,) for text in ids], "id string")
    found = frame.select("id", F.xxhash64(F.concat(F.lit("5:"), F.col("id")))).collect()
    assert {row[0]: row[1] & (2**64 - 1) for row in found} == {text: _tares.row_key(5, text) for text in ids}


@pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built")
def test_the_suspects_are_those_of_the_program_on_one_machine(expected: Found, table: Path, tmp_path: Path) -> None:
    arguments = [PROGRAM, "audit", table, "--id-column", "id", "--out", tmp_path / "audit", "--exit-zero", "--quiet"]
    subprocess.run([str(part) for part in arguments], check=True)
    summary = json.loads((tmp_path / "audit/summary.json").read_text())
    suspects, rate, interval, transition = expected
    assert (summary["noise_rate"], tuple(summary["noise_rate_interval"])) == (rate, interval)
    np.testing.assert_allclose(summary["transition"], transition, atol=5e-7)  # the file has six digits
    with open(tmp_path / "audit/suspects.csv") as file:
        ours = {row["id"]: (row["given"], row["suggested"], float(row["score"])) for row in csv.DictReader(file)}
    assert len(ours) == len(suspects) > ROWS / 20
    for id, given, suggested, score, *_ in suspects:
        assert ours[id] == (given, suggested, pytest.approx(score, abs=5e-7))


@pytest.mark.parametrize("partitions", [1, 3, 17])
def test_partitions_change_nothing(spark: SparkSession, table: Path, expected: Found, partitions: int) -> None:
    frame = spark.read.parquet(str(table)).repartition(partitions, F.rand(partitions))
    assert outcome(tares.spark.audit(frame, probs=[f"p_{name}" for name in NAMES])) == expected


def test_empty_partitions_and_partitions_of_one_class_change_nothing(spark: SparkSession, table: Path, expected: Found) -> None:
    frame = spark.read.parquet(str(table)).repartition(12, "label")  # six classes, so some partitions have no rows
    assert outcome(tares.spark.audit(frame, probs=[f"p_{name}" for name in NAMES])) == expected


def test_a_column_of_arrays_is_the_same_as_columns(spark: SparkSession, table: Path, expected: Found) -> None:
    frame = spark.read.parquet(str(table))
    frame = frame.select("id", "label", F.array(*[f"p_{name}" for name in NAMES]).alias("probs"))
    assert outcome(tares.spark.audit(frame)) == expected
    numbers = frame.withColumn("label", F.array_position(F.array(*[F.lit(name) for name in NAMES]), F.col("label")).cast("int") - 1)
    suspects, rate, interval, transition = outcome(tares.spark.audit(numbers))
    assert (rate, interval, transition) == expected[1:]
    assert [(row[0], NAMES[row[1]], NAMES[row[2]], *row[3:]) for row in suspects] == expected[0]


def test_a_seed_draws_other_rows(spark: SparkSession, table: Path, expected: Found) -> None:
    frame = spark.read.parquet(str(table))
    _, rate, *_ = outcome(tares.spark.audit(frame, probs=[f"p_{name}" for name in NAMES], seed=1))
    assert rate != expected[1] and abs(rate - expected[1]) < 0.01


def test_files_that_executors_read_give_the_same(spark: SparkSession, table: Path, expected: Found) -> None:
    assert outcome(tares.spark.audit_files(spark, table)) == expected
    files = sorted(table.glob("*.parquet"), reverse=True)
    assert outcome(tares.spark.audit_files(spark, [str(file) for file in files], label="label", id="id")) == expected
    assert outcome(tares.spark.audit_files(spark, f"{table}/part-*.parquet")) == expected


def test_files_with_numbers_and_lists_keep_their_types(spark: SparkSession, table: Path, expected: Found, tmp_path: Path) -> None:
    whole = pq.read_table(table)
    numbers = [NAMES.index(name) for name in whole["label"].to_pylist()]
    probs = list(np.stack([whole[f"p_{name}"].to_numpy() for name in NAMES], 1))
    lists = pa.table({"id": whole["id"], "label": numbers, "probs": probs})
    pq.write_table(lists.slice(0, 20_000), tmp_path / "a.parquet")
    pq.write_table(lists.slice(20_000), tmp_path / "b.parquet")
    pq.write_table(lists.slice(0, 0), tmp_path / "empty.parquet")
    suspects, rate, interval, transition = outcome(tares.spark.audit_files(spark, tmp_path))
    assert (rate, interval, transition) == expected[1:]
    assert [(row[0], NAMES[row[1]], NAMES[row[2]], *row[3:]) for row in suspects] == expected[0]
    pq.write_table(lists.set_column(0, "id", pa.array(range(ROWS))), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").unlink()
    found = tares.spark.audit_files(spark, tmp_path, id="id")
    assert dict(found.suspects.dtypes) | {"id": "bigint", "given": "bigint"} == dict(found.suspects.dtypes)
    assert found.rows == ROWS


@pytest.mark.parametrize(
    ("names", "places", "classes"),
    [
        (["1", "2", "x"], {"0": 0, "2": 2}, [0, 1, 2]),  # labels count the columns, whatever these are called
        (["10", "20", "30"], {"10": 0, "20": 1}, [10, 20, 30]),
        (["10", "20", "x"], {"10": 0, "20": 1}, ["10", "20", "x"]),
        (["p_cat", "p_dog"], {"cat": 0}, ["cat", "p_dog"]),
        (["07", "8"], {"07": 0, "8": 1}, ["07", "8"]),
    ],
)
def test_classes_of_files_are_numbers_only_where_all_of_them_are(names: list[str], places: dict[str, int], classes: list[Any]) -> None:
    assert tares.spark._files._classes((names, places, names)) == classes


def program(folder: Path, out: Path) -> tuple[float, dict[str, tuple[str, str, float]]]:
    """The rate and the suspects of the program on one machine."""
    arguments = [PROGRAM, "audit", folder, "--id-column", "id", "--out", out, "--exit-zero", "--quiet"]
    subprocess.run(arguments, check=True, capture_output=True)
    rate = json.loads((out / "summary.json").read_text())["noise_rate"]
    with (out / "suspects.csv").open(newline="") as file:
        return rate, {row["id"]: (row["given"], row["suggested"], float(row["score"])) for row in csv.DictReader(file)}


@pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built")
@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["cat", "cow", "cub"], ["p_cub", "p_cow", "p_cat"]),  # "p_c" is not what stands before the classes
        (list(range(11)), [f"p_{number}" for number in (0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9)]),
        ([False, True], ["p_true", "p_false"]),
        (["cat", "cow", "cub"], ["p_cub", "p_cow", "p_cat", "p_cod"]),  # a class that no row has
    ],
)
def test_columns_in_any_order_are_the_classes_they_are_named_after(
    spark: SparkSession, tmp_path: Path, labels: list[Any], names: list[str]
) -> None:
    noisy = make_noisy(2000, len(labels), rate=0.15, seed=4)
    probs = np.pad(noisy.probs, ((0, 0), (0, len(names) - len(labels)))).astype(np.float32)
    columns: dict[str, Any] = {"id": np.arange(2000), "label": [labels[label] for label in noisy.labels]}
    called = [f"p_{str(label).lower() if isinstance(label, bool) else label}" for label in labels] + ["p_cod"]
    columns |= {name: probs[:, called.index(name)] for name in names}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    rate, suspects = program(tmp_path / "a.parquet", tmp_path / "out")
    assert abs(rate - 0.15) < 0.04
    for found in [
        tares.spark.audit(spark.read.parquet(str(tmp_path / "a.parquet")), probs=names),
        tares.spark.audit_files(spark, tmp_path / "a.parquet"),
    ]:
        rows = found.suspects.collect()
        assert found.noise_rate == rate
        assert len(rows) == len(suspects)
        for row in rows:
            given, suggested, score = suspects[str(row["id"])]
            assert (str(row["given"]).lower(), str(row["suggested"]).lower()) == (given, suggested)
            assert score == pytest.approx(row["score"], abs=5e-7)  # the file has six digits
        found.unpersist()


def test_columns_that_name_other_classes_are_refused(spark: SparkSession) -> None:
    schema = "id long, label string, p_cat double, p_cow double, q double"
    rows = spark.createDataFrame([(1, "cat", 0.9, 0.1, 0.0), (2, "cow", 0.1, 0.9, 0.0)], schema)
    with pytest.raises(ValueError, match="column 'q' is named after none of the classes cat, cow"):
        tares.spark.audit(rows, probs=["p_cat", "p_cow", "q"])
    with pytest.raises(ValueError, match="score must be posterior, .* on a cluster, got 'foo'"):
        tares.spark.audit(rows, probs=["p_cat", "p_cow"], score="foo")  # type: ignore[arg-type]


def test_files_that_cannot_be_used_are_named(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere"):
        tares.spark.audit_files(spark, tmp_path / "nowhere")
    shutil.copy(table / "part-0.parquet", tmp_path / "a.parquet")
    bad = pq.read_table(table / "part-2.parquet")
    cells = bad["p_ant"].to_numpy().copy()
    cells[7] = np.nan
    place = bad.column_names.index("p_ant")
    pq.write_table(bad.set_column(place, "p_ant", pa.array(cells, from_pandas=False)), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b\.parquet: .*must be a finite number, got NaN at row 7"):
        tares.spark.audit_files(spark, tmp_path)
    assert tares.spark.audit_files(spark, tmp_path, missing="skip").missing_rows == 1
    pq.write_table(bad.drop_columns(["p_fox"]), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b\.parquet: must have the columns of the other tables"):
        tares.spark.audit_files(spark, tmp_path)
    (tmp_path / "b.parquet").write_bytes(b"PAR1 nothing of the kind")
    with pytest.raises(ValueError, match=r"b\.parquet"):
        tares.spark.audit_files(spark, tmp_path)
    with pytest.raises(ValueError, match="no column 'name'"):
        tares.spark.audit_files(spark, table, id="name")
    with pytest.raises(ValueError, match="missing must be 'error' or 'skip', got 'no'"):
        tares.spark.audit_files(spark, table, missing="no")  # type: ignore[arg-type]


def slowly(frame: DataFrame) -> DataFrame:
    """The same rows, but every partition takes a while."""

    def wait(batches: Iterator[Any]) -> Iterator[Any]:
        time.sleep(0.3)
        yield from batches

    return frame.mapInArrow(wait, frame.schema)


def executors(spark: SparkSession) -> list[int]:
    """The processes of our executors: their command names our application."""
    application = spark.sparkContext.applicationId
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                command = (process / "cmdline").read_text()
            except OSError:
                continue
            if "CoarseGrainedExecutorBackend" in command and application in command and "-cp" in command.split("\0"):
                found.append(int(process.name))
    return found


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds executors in /proc")
def test_an_executor_killed_in_the_middle_changes_nothing(spark: SparkSession, table: Path, expected: Found) -> None:
    frame = slowly(spark.read.parquet(str(table)).repartition(40))
    killed: list[int] = []

    def kill() -> None:
        tracker = spark.sparkContext.statusTracker()
        end = time.monotonic() + 120
        while time.monotonic() < end and not killed:
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                # The judging itself: all forty partitions, some of them done.
                if info is not None and info.numTasks == 40 and 4 <= info.numCompletedTasks <= 30 and judging.is_set():
                    killed.append(executors(spark)[0])
                    os.kill(killed[0], signal.SIGKILL)
                    return
            time.sleep(0.02)

    judging = threading.Event()
    real = tares.spark._audit._judge

    def marked(*arguments: Any) -> Any:
        judging.set()
        return real(*arguments)

    before = executors(spark)
    assert len(before) == 2
    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tares.spark._audit, "_judge", marked)
        found = tares.spark.audit(frame, probs=[f"p_{name}" for name in NAMES])
    killer.join()
    assert killed and killed[0] not in executors(spark)
    assert outcome(found) == expected


def small(spark: SparkSession, rows: list[tuple[Any, ...]], schema: str = "id long, label long, probs array<double>") -> DataFrame:
    return spark.createDataFrame(rows, schema)


GOOD: list[tuple[Any, ...]] = [(row, row % 2, [0.9, 0.1] if row % 2 == 0 else [0.2, 0.8]) for row in range(40)]


def test_missing_labels_and_probabilities_are_named_or_counted(spark: SparkSession) -> None:
    frame = small(spark, [*GOOD, (40, None, [0.5, 0.5])])
    with pytest.raises(ValueError, match=r"1 rows have no label, such as the row with id '40'.*missing='skip'"):
        tares.spark.audit(frame)
    frame = small(spark, [*GOOD, (40, None, [0.5, 0.5]), (41, 1, None), (42, 0, [0.5, None])])
    with pytest.raises(ValueError, match="no label"):
        tares.spark.audit(frame)
    with pytest.raises(ValueError, match=r"must be a finite number, got NaN at the row with id '4[12]'"):
        tares.spark.audit(frame.filter("id <> 40"))
    found = tares.spark.audit(frame, missing="skip")
    assert (found.rows, found.missing_rows) == (40, 3)
    whole = tares.spark.audit(small(spark, GOOD))
    assert (found.per_class["rows"] == whole.per_class["rows"]).all()


def test_a_row_of_a_file_is_named_with_its_file(spark: SparkSession, tmp_path: Path) -> None:
    small(spark, GOOD).coalesce(1).write.parquet(str(tmp_path / "lake"))
    small(spark, [(41, 1, [0.5, None])]).coalesce(1).write.mode("append").parquet(str(tmp_path / "lake"))
    files = {path.name: path for path in (tmp_path / "lake").glob("*.parquet")}
    bad = min(files, key=lambda name: files[name].stat().st_size)
    with pytest.raises(ValueError, match=rf"got NaN at the row with id '41'.* \(in .*{bad}\)"):
        tares.spark.audit(spark.read.parquet(str(tmp_path / "lake")))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(40, 1, [0.3, 0.3, 0.4])], r"row with id '40': must have 2 probabilities, got 3"),
        ([(40, 1, [3.0, -2.0])], r"in \[0, 1\].* at the row with id '40'"),
        ([(40, 1, [0.3, 0.3])], r"sum of the probabilities.* at the row with id '40'"),
        ([(40, 2, [0.3, 0.7])], r"3 different labels \('0', '1', '2'\) do not fit 2 columns of probabilities"),
    ],
)
def test_rows_that_cannot_be_used_are_named_by_their_id(spark: SparkSession, rows: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tares.spark.audit(small(spark, [*GOOD, *rows]).repartition(3))


def test_columns_of_the_wrong_kind_are_refused_before_anything_runs(spark: SparkSession) -> None:
    frame = small(spark, GOOD)
    with pytest.raises(ValueError, match="id: there is no column 'name' among id, label, probs"):
        tares.spark.audit(frame, id="name")
    with pytest.raises(ValueError, match="probs: column 'label' must hold arrays of float or double, got bigint"):
        tares.spark.audit(frame, probs="label")
    with pytest.raises(ValueError, match="label: column 'probs' must hold text or whole numbers, got array<double>"):
        tares.spark.audit(frame, label="probs")
    with pytest.raises(ValueError, match="given labels must not be empty"):
        tares.spark.audit(frame.limit(0))
    with pytest.raises(ValueError, match="classes must name each of the 2 probabilities once"):
        tares.spark.audit(frame, classes=["cat"])


def test_the_ids_keep_their_type_and_the_result_shows_itself(spark: SparkSession) -> None:
    found = tares.spark.audit(small(spark, [*GOOD, (99, 1, [0.999, 0.001])]))
    assert dict(found.suspects.dtypes)["id"] == "bigint"
    assert [row["id"] for row in found.suspects.collect()] == [99]
    assert "1 of 41 labels are suspects" in repr(found)
    assert found.transition.shape == (2, 2)
