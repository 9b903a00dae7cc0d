"""The examples of `python/examples` reach what their first lines say; the docstrings' examples and types hold."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import tares  # noqa: E402
import tares.torch  # noqa: E402

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


@pytest.mark.parametrize("module", [module.name for module in pkgutil.iter_modules(tares.torch.__path__)])
def test_the_examples_in_the_docs_run(module: str) -> None:
    found = doctest.testmod(importlib.import_module(f"tares.torch.{module}"), optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert found.failed == 0


def test_the_types_hold() -> None:
    pytest.importorskip("mypy")
    for arguments, folder in ((["-p", "tares.torch"], Path(tares.__file__).parents[1]), (["."], EXAMPLES)):
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, *arguments]
        found = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        ours = [line for line in found.stdout.splitlines() if "torch" in line and ": error:" in line]
        assert not ours and found.returncode in (0, 1), found.stdout + found.stderr
