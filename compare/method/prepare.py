"""Cuts the held-out data to sizes that two cores can train on: python prepare.py FASHION CIFAR_10 CIFAR_N OUT [BATCH]

BATCH: which file of CIFAR-10 (1 unless given). 1 is tested on the first 2,000 test pictures and has judged every form of the method; development
used 3 and the last 2,000. Any other is tested on the 6,000 in between, which nobody has looked at before."""
import csv, gzip, pathlib, sys

FASHION_ROWS, FASHION_TEST, CIFAR_ROWS, CIFAR_BATCH = 10_000, 5_000, 5_000, 10_000
RECORD = 3073  # a label and 3 x 32 x 32 pixels

def first(source, rows, place):
    """The first rows of an IDX file: the same header with another count."""
    data = gzip.open(source).read()
    head = 4 + 4 * data[3]
    row = (len(data) - head) // int.from_bytes(data[4:8], "big")
    place.write_bytes(data[:4] + rows.to_bytes(4, "big") + data[8 : head + rows * row])

def cifar(source, rows, place, labels=None):
    """Some records of a CIFAR file, with other labels if there are any."""
    data = bytearray(gzip.open(source).read()[rows.start * RECORD : rows.stop * RECORD])
    for row, label in enumerate(labels or []):
        data[row * RECORD] = label
    place.write_bytes(data)

fashion, ten, humans, out = map(pathlib.Path, sys.argv[1:5])
batch = int(sys.argv[5]) if len(sys.argv) > 5 else 1
start = (batch - 1) * CIFAR_BATCH
test = range(2_000) if batch == 1 else range(2_000, 8_000)
(out / "fashion").mkdir(parents=True, exist_ok=True)
for part, rows in (("train", FASHION_ROWS), ("t10k", FASHION_TEST)):
    for kind in ("images-idx3", "labels-idx1"):
        first(fashion / f"{part}-{kind}-ubyte.gz", rows, out / "fashion" / f"{part}-{kind}-ubyte")
with gzip.open(humans / "cifar-10n.csv.gz", "rt") as file:
    people = list(csv.DictReader(file))[start : start + CIFAR_ROWS]
for name, column in (("cifar", "clean_label"), ("cifar-aggregate", "aggre_label"), ("cifar-worst", "worse_label")):
    (out / name).mkdir(parents=True, exist_ok=True)
    labels = [int(row[column]) for row in people]
    cifar(ten / f"data_batch_{batch}.bin.gz", range(CIFAR_ROWS), out / name / "data_batch_1.bin", labels)
    cifar(ten / "test_batch.bin.gz", test, out / name / "test_batch.bin")
    wrong = sum(int(row["clean_label"]) != label for row, label in zip(people, labels)) / CIFAR_ROWS
    (out / f"{name}.rate").write_text(f"{wrong}\n")
    print(f"{name}: {wrong:.4f} of the labels are wrong")
# Asymmetric 40 %: five kinds of clothes are mistaken for the one that looks most similar (T[true][given], 10 x 10).
other = {0: 6, 2: 4, 3: 0, 5: 7, 9: 7}
rows = [[0.6 * (c == k) + 0.4 * (k == other[c]) if c in other else float(c == k) for k in range(10)] for c in range(10)]
(out / "asymmetric.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
