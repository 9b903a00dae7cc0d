"""How far two versions of the detector differ: the results of `cargo run --release -p tares-core --example audit_settings -- OUT`.

    python compare/estimate/differences.py OLD NEW

Prints the settings that differ most, then the mean and the largest difference of the estimated rate, of the ends of its interval, of F1,
and of the sets of suspects (rows in one set alone, as a share of both).
"""
import csv, sys
from pathlib import Path

import numpy as np

old, new = (list(csv.DictReader((Path(folder) / "settings.csv").open())) for folder in sys.argv[1:3])
lines = []
for a, b in zip(old, new, strict=True):
    rows = [set(np.fromfile(f"{folder}/{a['setting']}.rows", "<u4").tolist()) for folder in sys.argv[1:3]]
    gap = lambda name: abs(float(a[name]) - float(b[name]))
    lines.append((gap("estimated"), gap("low"), gap("high"), float(b["f1"]) - float(a["f1"]), len(rows[0] ^ rows[1]) / max(1, len(rows[0] | rows[1])), a, b))
for rate, low, high, f1, sets, a, b in sorted(lines, key=lambda line: -line[0])[:6] + sorted(lines, key=lambda line: -abs(line[3]))[:4]:
    print(f"{a['setting']:>3} {a['rows']:>6} x {a['classes']:<4} {a['noise']:<9} {a['rate']}: rate {a['estimated']} -> {b['estimated']}, F1 {a['f1']} -> {b['f1']}, suspects differ {sets:.4f}")
for name, values in zip(("rate", "low", "high", "F1", "suspects"), zip(*(line[:5] for line in lines))):
    values = np.array(values)
    print(f"{name:<9} mean {values.mean():+.6f}  median {np.median(np.abs(values)):.6f}  largest {np.abs(values).max():.6f}")
