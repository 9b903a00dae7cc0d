"""python cut.py TABLE.csv.gz ROWS OUT.csv.gz: the header and at most ROWS lines of a table, drawn with a fixed seed, in their order. No line may be broken inside quotes."""
import gzip, random, sys

table, rows, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with gzip.open(table, "rt", encoding="utf-8-sig", newline="") as file:
    header, *lines = file.read().splitlines(keepends=True)
chosen = sorted(random.Random(1).sample(range(len(lines)), min(rows, len(lines))))
with gzip.GzipFile(out, "wb", mtime=0) as file:
    file.write("".join([header, *(lines[i] for i in chosen)]).encode())
