"""Cuts the held-out data to sizes that two cores can train on: python prepare.py FASHION CIFAR_10 CIFAR_N OUT"""
import csv, gzip, pathlib, sys

FASHION_ROWS, FASHION_TEST, CIFAR_ROWS, CIFAR_TEST = 10_000, 5_000, 5_000, 2_000
RECORD = 3073  # a label and 3 x 32 x 32 pixels

def first(source, rows, place):
    """The first rows of an IDX file: the same header with another count."""
    data = gzip.open(source).read()
    head = 4 + 4 * data[3]
    row = (len(data) - head) // int.from_bytes(data[4:8], "big")
    place.write_bytes(data[:4] + rows.to_bytes(4, "big") + data[8 : head + rows * row])

def cifar(source, rows, place, labels=None):
    """The first records of a CIFAR file, with other labels if there are any."""
    data = bytearray(gzip.open(source).read()[: rows * RECORD])
    for row, label in enumerate(labels or []):
        data[row * RECORD] = label
    place.write_bytes(data)

fashion, ten, humans, out = map(pathlib.Path, sys.argv[1:5])
(out / "fashion").mkdir(parents=True, exist_ok=True)
for part, rows in (("train", FASHION_ROWS), ("t10k", FASHION_TEST)):
    for kind in ("images-idx3", "labels-idx1"):
        first(fashion / f"{part}-{kind}-ubyte.gz", rows, out / "fashion" / f"{part}-{kind}-ubyte")
with gzip.open(humans / "cifar-10n.csv.gz", "rt") as file:
    people = list(csv.DictReader(file))[:CIFAR_ROWS]
for name, column in (("cifar", "clean_label"), ("cifar-aggregate", "aggre_label"), ("cifar-worst", "worse_label")):
    (out / name).mkdir(parents=True, exist_ok=True)
    labels = [int(row[column]) for row in people]
    cifar(ten / "data_batch_1.bin.gz", CIFAR_ROWS, out / name / "data_batch_1.bin", labels)
    cifar(ten / "test_batch.bin.gz", CIFAR_TEST, out / name / "test_batch.bin")
    wrong = sum(int(row["clean_label"]) != label for row, label in zip(people, labels)) / CIFAR_ROWS
    (out / f"{name}.rate").write_text(f"{wrong}\n")
    print(f"{name}: {wrong:.4f} of the labels are wrong")
# Asymmetric 40 %: five kinds of clothes are mistaken for the one that looks most similar (T[true][given], 10 x 10).
other = {0: 6, 2: 4, 3: 0, 5: 7, 9: 7}
rows = [[0.6 * (c == k) + 0.4 * (k == other[c]) if c in other else float(c == k) for k in range(10)] for c in range(10)]
(out / "asymmetric.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
