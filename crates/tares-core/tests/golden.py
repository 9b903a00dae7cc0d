#!/usr/bin/env python3
"""Golden values of tests/golden.rs, from the formulas alone (plain Python, 50-digit decimals; no code shared with Rust).

python3 tests/golden.py prints what the test expects.
"""
from decimal import Decimal as D, getcontext

getcontext().prec = 50

LOGITS = [["3", "0", "0"], ["2", "1", "0"], ["1", ".5", "0"], ["0", "2", "0"],
          ["0", "0", "1.5"], ["2.5", "0", "0"], [".2", ".1", "0"], ["0", "3", "1"]]
LABELS = [0, 0, 0, 0, 2, 1, 1, 1]
t = [[D(x) for x in row] for row in LOGITS]


def margin(row, y):
    return row[y] - max(x for i, x in enumerate(row) if i != y)


def hinge(row, y):
    return max(D(0), 1 - margin(row, y))


def soft_hinge(row, y):
    if margin(row, y) >= 0:
        return hinge(row, y)
    return 1 - row[y] + sum(x.exp() for x in row).ln()


BASE = {
    "hinge": hinge,
    "soft-hinge": soft_hinge,
    "weighted:0.3": lambda r, y: D("0.3") * soft_hinge(r, y) + D("0.7") * hinge(r, y),
    "squared-hinge": lambda r, y: hinge(r, y) ** 2,
    "logistic": lambda r, y: (1 + (-margin(r, y)).exp()).ln() / D(2).ln(),
    "sigmoid": lambda r, y: 2 / (1 + margin(r, y).exp()),
    "savage": lambda r, y: 4 / (1 + margin(r, y).exp()) ** 2,
    "truncated-hinge:2": lambda r, y: min(hinge(r, y), D(2)),
}


def select(losses, c, extra):
    order = sorted(range(len(losses)), key=lambda i: (losses[i], i))
    total, kept = D(0), []
    for i, place in enumerate(order, 1):
        if total + losses[place] > c + 1 - i:
            break
        total += losses[place]
        kept.append(place)
    size = len(kept)
    if extra and total <= c - size and size < len(order):
        kept.append(order[size])
    return sorted(kept), size, total, max(total, c - size)


hard = [hinge(row, y) for row, y in zip(t, LABELS)]
soft = [soft_hinge(row, y) for row, y in zip(t, LABELS)]
wrong = sum(margin(row, y) < 0 for row, y in zip(t, LABELS))
for name, loss in BASE.items():
    print(f'    ("{name}", [{", ".join(f"{loss(r, y):.10f}" for r, y in zip(t, LABELS))}]),')
for rate in ["0", "0.25", "0.5"]:
    r = D(rate)
    c = (1 - r) ** 2 * 8 + (1 - r) * wrong
    kept, size, total, objective = select(hard, c, extra=True)
    mean = sum(soft[i] for i in kept) / len(kept)
    print(f"    ({rate}, {c}, {size}, {len(kept)}, {mean:.10f}, {objective:.10f}),")
print(f"burn-in {sum(soft) / 8:.10f}")
for name, loss in BASE.items():
    values = [loss(row, y) for row, y in zip(t, LABELS)]
    e, q = select(values, D(8), False)[3], select(values, D(8 + wrong), False)[3]
    fixed = select(values, D(8) * D("0.75"), False)[3]
    print(f'    ("{name}", {e:.10f}, {q:.10f}, {fixed:.10f}),')
