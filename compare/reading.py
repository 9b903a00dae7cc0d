"""Reading files: tares-data against NumPy, pandas, polars, pyarrow and Pillow, alternately, on this machine.

    cargo build --release --workspace --example read_speed
    pip install numpy pandas polars pyarrow pillow
    python compare/reading.py target/release/examples/read_speed MNIST_FOLDER > results/reading-DATE-MACHINE.csv

MNIST_FOLDER holds the four (gzipped or plain) IDX files. Best of several rounds that alternate; `ratio` above 1 means tares is
faster. On one thread both sides measure their own processor time, which other programs disturb little. On all cores the clock
counts, so nothing else should run. What is compared:

idx       plain MNIST pictures and labels        np.fromfile + reshape          ours also checks and counts every label
csv       300,000 rows of 20 numbers + label     pandas, polars, pyarrow.csv    ours also finds the classes, scales, converts to f32
mixed     the same with two columns of words     pandas, polars, pyarrow.csv    ours also makes 0/1 columns
npy       2,000,000 x 10 float32, row blocks     np.load(mmap) in row blocks
parquet   300,000 rows of 20 numbers + label     pandas, pyarrow.parquet        ours also scales, converts to f32
pictures  2,000 JPEG files of 128 x 128 pixels   Pillow, a thread per core      ours also looks at the size of all before it decodes
"""

import concurrent.futures
import csv
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.csv
import pyarrow.parquet
from PIL import Image

ROUNDS = 9
program, mnist = sys.argv[1], pathlib.Path(sys.argv[2])
cores = len(os.sched_getaffinity(0))


def ours(path, arguments, threads):
    """Seconds of processors, and on the clock."""
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    command = [program, "1", str(path), *arguments]
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return [float(number) for number in out.stdout.split()[:2]]


def timed(function):
    """The same for a function here."""
    clock, start = time.perf_counter(), time.process_time()
    function()
    return time.process_time() - start, time.perf_counter() - clock


def numpy_idx(folder):
    images = np.fromfile(folder / "train-images-idx3-ubyte", np.uint8)[16:].reshape(-1, 28, 28)
    labels = np.fromfile(folder / "train-labels-idx1-ubyte", np.uint8)[8:]
    return images, np.bincount(labels)


def numpy_rows(path):
    array = np.load(path, mmap_mode="r")
    return sum(float(np.array(array[first : first + 4096])[0, 0]) for first in range(0, len(array), 4096))


def make_pictures(folder, rng):
    for number in range(2000):
        small = Image.fromarray(rng.integers(0, 256, (16, 16, 3), np.uint8))
        path = folder / f"class {number % 10}"
        path.mkdir(parents=True, exist_ok=True)
        small.resize((128, 128), Image.Resampling.BICUBIC).save(path / f"{number}.jpg", quality=90)


def pillow(folder):
    decode = lambda path: np.asarray(Image.open(path).convert("RGB"))
    with concurrent.futures.ThreadPoolExecutor(cores) as pool:
        return np.stack(list(pool.map(decode, sorted(folder.glob("*/*.jpg")))))


def size_of(path):
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files) / 1e6


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    idx, pictures = folder / "idx", folder / "pictures"
    idx.mkdir()
    for name in ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"]:
        packed = mnist / f"{name}.gz"
        (idx / name).write_bytes(gzip.open(packed).read() if packed.exists() else (mnist / name).read_bytes())
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300_000, 20)).round(6), columns=[f"f{i}" for i in range(20)])
    frame["label"] = rng.integers(0, 10, len(frame))
    numbers, mixed, table = folder / "numbers.csv", folder / "mixed.csv", folder / "numbers.parquet"
    frame.to_csv(numbers, index=False)
    frame.to_parquet(table, index=False)
    frame["colour"] = rng.choice(["red", "green", "blue"], len(frame))
    frame["city"] = rng.choice([f"city{i}" for i in range(50)], len(frame))
    frame.to_csv(mixed, index=False)
    np.save(folder / "p.npy", rng.random((2_000_000, 10), np.float32))
    make_pictures(pictures, rng)
    label = ["label"]
    # case, threads, file, our arguments, the peer and what it does
    cases = [
        ("idx", 1, idx, [], "numpy", lambda: numpy_idx(idx)),
        ("csv", 1, numbers, label, "pandas", lambda: pd.read_csv(numbers)),
        ("mixed", 1, mixed, label, "pandas", lambda: pd.read_csv(mixed)),
        ("npy", 1, folder / "p.npy", ["array"], "numpy", lambda: numpy_rows(folder / "p.npy")),
        ("parquet", 1, table, label, "pandas", lambda: pd.read_parquet(table, use_threads=False)),
        ("csv", cores, numbers, label, "polars", lambda: pl.read_csv(numbers)),
        ("csv", cores, numbers, label, "pyarrow", lambda: pyarrow.csv.read_csv(numbers)),
        ("mixed", cores, mixed, label, "polars", lambda: pl.read_csv(mixed)),
        ("mixed", cores, mixed, label, "pyarrow", lambda: pyarrow.csv.read_csv(mixed)),
        ("parquet", cores, table, label, "pyarrow", lambda: pyarrow.parquet.read_table(table)),
        ("pictures", cores, pictures, [], "pillow", lambda: pillow(pictures)),
    ]
    writer = csv.writer(sys.stdout)
    writer.writerow(["case", "threads", "peer", "measured", "megabytes", "ours_s", "peer_s", "ours_mb_per_s", "ratio"])
    for case, threads, path, arguments, peer, function in cases:
        kind = 0 if threads == 1 and case != "pictures" else 1
        rounds = [(ours(path, arguments, threads)[kind], timed(function)[kind]) for _ in range(ROUNDS)]
        mine, theirs = (min(side) for side in zip(*rounds))
        size = size_of(path)
        measured = ["processor", "clock"][kind]
        row = [case, threads, peer, measured, f"{size:.1f}", f"{mine:.4f}", f"{theirs:.4f}", f"{size / mine:.0f}"]
        writer.writerow([*row, f"{theirs / mine:.2f}"])
        sys.stdout.flush()
