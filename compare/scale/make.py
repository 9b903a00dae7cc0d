"""compare/scale/make.py FOLDER ROWS [FILES]: made-up labels and out-of-sample probabilities of ten classes, 5 % of the labels wrong.

Writes FOLDER/y.npy (int32), FOLDER/p.npy (ROWS x 10, float32) and FOLDER/lake/part-*.parquet (id, label, p0 to p9; row groups of a million).
A million rows are drawn once and repeated in another order in every row group, which is what matters for time and memory.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CLASSES, GROUP = 10, 1_000_000


def base(rows: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(1)
    truth = draw.integers(0, CLASSES, rows)
    logits = draw.normal(size=(rows, CLASSES)).astype(np.float32)
    logits[np.arange(rows), truth] += draw.uniform(2, 8, rows).astype(np.float32)
    probs = np.exp(logits - logits.max(1, keepdims=True))
    probs /= probs.sum(1, keepdims=True)
    wrong = draw.random(rows) < 0.05
    labels = np.where(wrong, (truth + draw.integers(1, CLASSES, rows)) % CLASSES, truth)
    return labels.astype(np.int32), probs


def main() -> None:
    folder, rows = Path(sys.argv[1]), int(float(sys.argv[2]))
    files = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    (folder / "lake").mkdir(parents=True, exist_ok=True)
    labels, probs = base(min(rows, GROUP))
    given = np.lib.format.open_memmap(folder / "y.npy", "w+", np.int32, (rows,))
    matrix = np.lib.format.open_memmap(folder / "p.npy", "w+", np.float32, (rows, CLASSES))
    schema = pa.schema([("id", pa.int64()), ("label", pa.int32()), *((f"p{k}", pa.float32()) for k in range(CLASSES))])
    draw, writer, per_file = np.random.default_rng(2), None, -(-rows // files)
    for first in range(0, rows, GROUP):
        order = draw.permutation(len(labels))[: rows - first]
        part, values = labels[order], probs[order]
        given[first : first + len(part)] = part
        matrix[first : first + len(part)] = values
        if first % per_file < GROUP:
            if writer is not None:
                writer.close()
            writer = pq.ParquetWriter(folder / "lake" / f"part-{first // per_file:04}.parquet", schema)
        columns = [pa.array(np.arange(first, first + len(part))), pa.array(part)]
        columns += [pa.array(np.ascontiguousarray(values[:, k])) for k in range(CLASSES)]
        writer.write_table(pa.table(columns, schema=schema), row_group_size=GROUP)
    writer.close()


if __name__ == "__main__":
    main()
