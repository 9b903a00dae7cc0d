"""Types: mypy --strict on the package and its examples; pyright knows every public type."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("part", ["python/examples", "python/tares"])
def test_mypy_is_content(part: str) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml", part]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


#: Public names whose type cannot be known, each with the reason.
WHY = "its base classes are scikit-learn's, which have no types"
UNKNOWN = {"tares.RobustClassifier": WHY, "tares._classifier.RobustClassifier": WHY}


def test_pyright_knows_the_type_of_every_public_name(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pyright", "--verifytypes", "tares", "--ignoreexternal", "--outputjson"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    found = json.loads(done.stdout)["typeCompleteness"]
    unknown = {
        symbol["name"]: [text["message"] for text in symbol["diagnostics"]]
        for symbol in found["symbols"]
        if symbol["isExported"] and not symbol["isTypeKnown"] and symbol["name"] not in UNKNOWN
    }
    assert not unknown, unknown
    assert len(found["symbols"]) > 200
