"""`python/examples/ray_shards.py` with two local workers. Needs ray and the program; skipped without them."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray")
PROGRAM = Path(os.environ.get("TARES_PROGRAM", Path(__file__).parents[2] / "target/release/tares"))
EXAMPLE = Path(__file__).parents[1] / "examples/ray_shards.py"


@pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built")
def test_two_workers_share_the_runs_of_a_comparison(tmp_path: Path) -> None:
    compare = "compare --data digits --noise symmetric:0.5 --methods standard,npcl --network mlp:32 --epochs 2 --seeds 2 --out"
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    out = str(tmp_path / "table")
    command = [sys.executable, str(EXAMPLE), "2", *compare.split(), out]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "table/summary.csv") as file:
        rows = list(csv.DictReader(file))
    assert sorted((row["method"], row["seed"]) for row in rows) == [(m, s) for m in ("npcl", "standard") for s in ("1", "2")]
