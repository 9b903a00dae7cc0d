"""Reading files: tares-data against NumPy and pandas, alternately, on this machine.

    cargo build --release -p tares-data --example read_speed
    python compare/reading.py target/release/examples/read_speed MNIST_FOLDER > results/reading-DATE-MACHINE.csv

MNIST_FOLDER holds the four (gzipped or plain) IDX files. Both sides run on one thread and measure their own processor time, so
that other programs disturb little; best of several rounds that alternate; `ratio` above 1 means tares is faster. What is compared:

idx      plain MNIST pictures and labels        np.fromfile + reshape          ours also checks and counts every label
csv      300,000 rows of 20 numbers + label     pd.read_csv                    ours also finds the classes, scales, converts to f32
mixed    the same with two columns of words     pd.read_csv                    ours also makes 0/1 columns
npy      2,000,000 x 10 float32, row blocks     np.load(mmap) in row blocks
parquet  300,000 rows of 20 numbers + label     pd.read_parquet (pyarrow)      ours also scales, converts to f32; one thread
"""

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

ROUNDS = 7
program, mnist = sys.argv[1], pathlib.Path(sys.argv[2])


def ours(path, *arguments):
    out = subprocess.run([program, "1", str(path), *arguments], capture_output=True, text=True, check=True)
    return float(out.stdout.split()[0])


def timed(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def numpy_idx(folder):
    images = np.fromfile(folder / "train-images-idx3-ubyte", np.uint8)[16:].reshape(-1, 28, 28)
    labels = np.fromfile(folder / "train-labels-idx1-ubyte", np.uint8)[8:]
    return images, np.bincount(labels)


def numpy_rows(path):
    array = np.load(path, mmap_mode="r")
    return sum(float(np.array(array[first : first + 4096])[0, 0]) for first in range(0, len(array), 4096))


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    idx = folder / "idx"
    idx.mkdir()
    for name in ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"]:
        packed = mnist / f"{name}.gz"
        (idx / name).write_bytes(gzip.open(packed).read() if packed.exists() else (mnist / name).read_bytes())
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300_000, 20)).round(6), columns=[f"f{i}" for i in range(20)])
    frame["label"] = rng.integers(0, 10, len(frame))
    frame.to_csv(folder / "numbers.csv", index=False)
    frame.to_parquet(folder / "numbers.parquet", index=False)
    frame["colour"] = rng.choice(["red", "green", "blue"], len(frame))
    frame["city"] = rng.choice([f"city{i}" for i in range(50)], len(frame))
    frame.to_csv(folder / "mixed.csv", index=False)
    np.save(folder / "p.npy", rng.random((2_000_000, 10), np.float32))
    cases = [
        ("idx", idx, [], lambda: numpy_idx(idx), idx / "train-images-idx3-ubyte"),
        ("csv", folder / "numbers.csv", ["label"], lambda: pd.read_csv(folder / "numbers.csv"), folder / "numbers.csv"),
        ("mixed", folder / "mixed.csv", ["label"], lambda: pd.read_csv(folder / "mixed.csv"), folder / "mixed.csv"),
        ("npy", folder / "p.npy", ["array"], lambda: numpy_rows(folder / "p.npy"), folder / "p.npy"),
        ("parquet", folder / "numbers.parquet", ["label"], lambda: pd.read_parquet(folder / "numbers.parquet", use_threads=False), folder / "numbers.parquet"),
    ]
    writer = csv.writer(sys.stdout)
    writer.writerow(["case", "megabytes", "ours_cpu_s", "peer_cpu_s", "ours_mb_per_s", "ratio"])
    for name, path, arguments, peer, file in cases:
        size = os.path.getsize(file) / 1e6
        rounds = [(ours(path, *arguments), timed(peer)) for _ in range(ROUNDS)]
        mine, theirs = (min(side) for side in zip(*rounds))
        writer.writerow([name, f"{size:.1f}", f"{mine:.4f}", f"{theirs:.4f}", f"{size / mine:.0f}", f"{theirs / mine:.2f}"])
        sys.stdout.flush()
