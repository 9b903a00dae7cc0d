"""Makes the files of one case: DIR/CASE.p.npy (float32, N x K) and DIR/CASE.y.npy, unless they are there."""
import os, sys
import numpy as np

CASES = {"million": (1_000_000, 10), "thousand-classes": (200_000, 1000), "large": (50_000_000, 10)}
case, folder = sys.argv[1:3]
rows, classes = CASES[case]
p_path, y_path = f"{folder}/{case}.p.npy", f"{folder}/{case}.y.npy"
if os.path.exists(p_path) and os.path.exists(y_path):
    sys.exit()
draw = np.random.default_rng(1)
p = np.lib.format.open_memmap(p_path + ".part", "w+", np.float32, (rows, classes))
y = np.empty(rows, np.int32)
step = max(1, 20_000_000 // classes)
for first in range(0, rows, step):
    n = min(step, rows - first)
    truth = draw.integers(0, classes, n)
    z = draw.standard_normal((n, classes), np.float32)
    z[np.arange(n), truth] += 4 if classes < 100 else 7
    np.exp(z * 1.5, out=z)
    p[first:first + n] = z / z.sum(1, keepdims=True)
    flip = draw.random(n) < 0.1
    y[first:first + n] = np.where(flip, draw.integers(0, classes, n), truth)
p.flush()
os.rename(p_path + ".part", p_path)
np.save(y_path, y)
