"""The examples of `python/examples` reach what their first lines say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(*command: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment, timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stdout


def right(said: str) -> list[float]:
    return [float(number) for number in re.findall(r": +(0\.\d+)", said)]


def test_the_plain_loop_learns_in_spite_of_the_labels_and_finds_them() -> None:
    pytest.importorskip("sklearn")
    said = run(str(EXAMPLES / "torch_loop.py"))
    plain, robust = right(said)[:2]
    assert robust > 0.9 > plain + 0.1, said
    rate, truth = re.search(r"noise rate (0\.\d+) \(in truth (0\.\d+)\)", said).groups()  # type: ignore[union-attr]
    assert abs(float(rate) - float(truth)) < 0.05, said


def test_the_lightning_example_learns() -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("lightning")
    assert right(run(str(EXAMPLES / "torch_lightning.py")))[0] > 0.9


@pytest.mark.parametrize("scope", ["batch", "global"])
def test_two_processes_learn_as_well_as_one(scope: str) -> None:
    pytest.importorskip("sklearn")
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node")
    found = [right(run(*launcher, number, str(EXAMPLES / "torch_ddp.py"), "--scope", scope))[0] for number in ("1", "2")]
    assert min(found) > 0.88 and abs(found[0] - found[1]) < 0.05, found
