"""Writes the tiny files of crates/tares-data/tests/files with NumPy, pandas, pyarrow and Pillow, so that the readers are
tested against files that other programs wrote. Run once; the files are checked in.

    python compare/make_tiny_files.py crates/tares-data/tests/files

Every file has one asymmetric, known element: a transposed, shifted or mislabelled reader fails.
"""

import datetime
import gzip
import io
import json
import pathlib
import pickle
import struct
import sys
import tarfile
import zipfile
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)


def gz(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


# IDX: six 3x4 pictures; pixel (row 2, column 1) of picture 4 is 200. Labels 0 1 2 0 1 2.
pixels = np.zeros((6, 3, 4), np.uint8)
pixels[4, 2, 1] = 200
labels = np.array([0, 1, 2, 0, 1, 2], np.uint8)
idx = out / "idx"
idx.mkdir(exist_ok=True)
(idx / "train-images-idx3-ubyte").write_bytes(struct.pack(">4B3I", 0, 0, 8, 3, *pixels.shape) + pixels.tobytes())
(idx / "train-labels-idx1-ubyte.gz").write_bytes(gz(struct.pack(">4BI", 0, 0, 8, 1, 6) + labels.tobytes()))

# CIFAR-10: three records; the blue plane of record 1 is lit at row 30, column 2. CIFAR-100: one record, coarse 3, fine 42.
cifar = np.zeros((3, 3073), np.uint8)
cifar[:, 0] = [9, 4, 0]
cifar[1, 1 + 2 * 1024 + 30 * 32 + 2] = 77
(out / "cifar10.bin").write_bytes(cifar.tobytes())
(out / "cifar10.bin.gz").write_bytes(gz(cifar.tobytes()))
hundred = np.zeros((2, 3074), np.uint8)
hundred[:, :2] = [[3, 42], [19, 99]]
hundred[0, 2 + 1024 + 5] = 66
(out / "cifar100.bin").write_bytes(hundred.tobytes())

# Tables: 12 rows, cell (row 7, column "width") is 99.5; one number and one text are missing.
frame = pd.DataFrame(
    {
        "name": [f"r{i}" for i in range(12)],
        "height": np.arange(12) / 4,
        "width": [99.5 if i == 7 else float(i % 3) for i in range(12)],
        "colour": ["red", "blue", None] * 4,
        "species": ["ant", "bee"] * 6,
    }
)
frame.loc[3, "height"] = np.nan
frame.to_csv(out / "table.csv", index=False)
frame.to_csv(out / "table.tsv", index=False, sep="\t")
frame.to_json(out / "table.jsonl", orient="records", lines=True)
(out / "table.csv.gz").write_bytes(gz(frame.to_csv(index=False).encode()))
labelled = frame.drop(columns="name").rename(columns={"species": "label"})
labelled.to_csv(out / "labelled.csv", index=False)
labelled.to_json(out / "labelled.jsonl", orient="records", lines=True)
(out / "labelled.csv.gz").write_bytes(gz(labelled.to_csv(index=False).encode()))
for codec in ["snappy", "zstd", "gzip", "lz4", "none"]:
    frame.to_parquet(out / f"table-{codec}.parquet", index=False, compression=codec)
pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), out / "table-groups.parquet", row_group_size=5, use_dictionary=False, data_page_version="2.0")
# Row groups without rows, as Arrow writes for an empty table: first, between others and last.
whole = pa.Table.from_pandas(frame, preserve_index=False)
with pq.ParquetWriter(out / "table-empty-groups.parquet", whole.schema) as writer:
    for part in [whole.slice(0, 0), whole.slice(0, 5), whole.slice(0, 0), whole.slice(5), whole.slice(0, 0)]:
        writer.write_table(part)

# NPY and NPZ: 8 rows of 3 columns; element (5, 2) is -7.5. Fortran order, half precision and big-endian besides.
x = (np.arange(24, dtype=np.float64) / 8).reshape(8, 3)
x[5, 2] = -7.5
y = np.array([0, 1] * 4)
np.save(out / "x.npy", x.astype(np.float32))
np.save(out / "y.npy", y)
np.save(out / "fortran.npy", np.asfortranarray(x))
np.save(out / "half.npy", x.astype(np.float16))
np.save(out / "big-endian.npy", x.astype(">f8"))
np.save(out / "words.npy", np.array(["no", "yes"] * 4))
np.savez(out / "arrays.npz", x=x, y=y)
np.savez_compressed(out / "arrays-compressed.npz", x_train=x, y_train=np.array(["no", "yes"] * 4), x_test=x[:2], y_test=np.array(["yes", "no"]))
pictures = np.zeros((4, 2, 3, 3), np.uint8)  # rows, height, width, channels
pictures[2, 1, 2] = [10, 20, 30]
np.savez(out / "pictures.npz", images=pictures, labels=np.array([0, 1, 0, 1]))

# Pictures: two classes, 2 high and 3 wide, one red pixel in the lower right corner of cat/a.png; dog/b.png is grey.
red = Image.new("RGB", (3, 2))
red.putpixel((2, 1), (250, 0, 0))
grey = Image.new("L", (3, 2))
grey.putpixel((0, 1), 90)
folder = out / "folder"
files = {"cat/a.png": red, "cat/b.png": red, "dog/a.png": red, "dog/b.png": grey}
for name, image in files.items():
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)
noise = np.random.default_rng(0).integers(0, 255, (16, 16, 3), np.uint8)
Image.fromarray(noise).save(out / "noise.jpg", quality=80)
Image.fromarray(noise).save(out / "noise.webp")
Image.fromarray(noise).save(out / "noise.gif")
Image.fromarray(noise).save(out / "noise.bmp")
with tarfile.open(out / "folder.tar.gz", "w:gz") as tar:
    for name in files:
        tar.add(folder / name, f"pictures/{name}")
with tarfile.open(out / "folder.tar", "w") as tar:
    for name in files:
        tar.add(folder / name, f"pictures/{name}")
with zipfile.ZipFile(out / "folder.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    for name in files:
        archive.write(folder / name, f"pictures/{name}")


# Hugging Face: a structure of bytes and path, numbered labels whose names are in the metadata.
def png(image):
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


rows = [{"bytes": png(image), "path": name.replace("/", "-")} for name, image in files.items()]
features = {"image": {"_type": "Image"}, "label": {"names": ["cat", "dog", "unused"], "_type": "ClassLabel"}}
table = pa.table({"image": pa.array(rows, pa.struct([("bytes", pa.binary()), ("path", pa.string())])), "label": pa.array([0, 0, 1, 1], pa.int64())})
table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
pq.write_table(table, out / "pictures.parquet")

# CIFAR-N as PyTorch saves it: a zip archive with a pickle of arrays (protocol 2) and of lists.
human = {"clean_label": np.array([9, 4, 0]), "aggre_label": np.array([9, 4, 1]), "worse_label": [9, 3, 1]}
with zipfile.ZipFile(out / "human.pt", "w") as archive:
    archive.writestr("archive/data.pkl", pickle.dumps(human, protocol=2))
    archive.writestr("archive/version", "3\n")
(out / "human.csv").write_text("index,clean_label,aggre_label,worse_label\n0,9,9,9\n1,4,4,3\n2,0,1,1\n")

# Columns that need special rules: unsigned numbers above the sign bit, decimals of both lengths, lists, bytes, a
# date, a pandas index that is stored, and whole numbers that a 64-bit float cannot hold.
odd = pd.DataFrame(
    {
        "u32": np.array([4_000_000_000 if i == 7 else i for i in range(12)], np.uint32),
        "u64": np.array([2**63 + 2048 if i == 7 else i for i in range(12)], np.uint64),
        "price": [Decimal("-12.25") if i == 7 else Decimal(i) / 4 for i in range(12)],
        "mass": [Decimal("-123456789012345678901.5") if i == 7 else Decimal(i) / 2 for i in range(12)],
        "tags": [["a", "b"][: i % 3] for i in range(12)],
        "embedding": [[0.5, float(i)] for i in range(12)],
        "blob": [b"\x00\xff"] * 12,
        "day": [datetime.date(1970, 1, 1 + i) for i in range(12)],
        "code": [9_007_199_254_740_993 + i for i in range(12)],
        "species": ["ant", "bee"] * 6,
    },
    index=[17 * i % 101 for i in range(12)],
)
fields = [
    pa.field("u32", pa.uint32()),
    pa.field("u64", pa.uint64()),
    pa.field("price", pa.decimal128(9, 2)),
    pa.field("mass", pa.decimal128(30, 3)),
    pa.field("tags", pa.list_(pa.string())),
    pa.field("embedding", pa.list_(pa.float32())),
    pa.field("blob", pa.binary()),
    pa.field("day", pa.date32()),
    pa.field("code", pa.int64()),
    pa.field("species", pa.string()),
    pa.field("__index_level_0__", pa.int64()),
]
table = pa.Table.from_pandas(odd, schema=pa.schema(fields))
pq.write_table(table, out / "odd-columns.parquet", compression="snappy", store_decimal_as_integer=True)
