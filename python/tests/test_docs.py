"""Every example runs: in docstrings, in docs/python.md, in the notebook."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tares

ROOT = Path(__file__).parents[2]
MODULES = ["tares", *(found.name for found in pkgutil.walk_packages(tares.__path__, "tares.") if not found.name.endswith("_tares"))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name.startswith("tares.spark"):
        pytest.importorskip("pyspark")
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    names = {"np": np, "tares": tares, "getfixture": {"tmp_path": tmp_path}.get}
    found = doctest.testmod(module, extraglobs=names, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL)
    assert found.failed == 0


def test_public_names_have_docs_and_those_of_tares_examples() -> None:
    for name in tares.__all__:
        value = getattr(tares, name)
        assert name == "__version__" or (value.__doc__ or "").strip(), name
    for value in (tares.audit, tares.scores, tares.clean, tares.corrupt, tares.RobustClassifier, tares.Table):
        assert ">>>" in (value.__doc__ or ""), value


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "python.md").read_text(), re.S | re.M)
    assert len(blocks) >= 6
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert (tmp_path / "audit" / "audit.html").is_file()
    assert (names["better"] == names["truth"]).mean() > (names["labels"] == names["truth"]).mean() + 0.05
    assert names["robust"].score(names["X"], names["truth"]) > 0.95
    assert "labels are suspects" in capsys.readouterr().out


README_NAMES = """
import numpy as np, pandas as pd
draw = np.random.default_rng(0)
labels = y = draw.integers(0, 2, 60)
X = draw.normal(size=(60, 2)) + 3 * y[:, None]
probs = np.column_stack([1 - 0.1 - 0.8 * y, 0.1 + 0.8 * y])
frame = pd.DataFrame(X, columns=["length", "width"]).assign(species=np.array(["rose", "tulip"])[y])
"""


@pytest.mark.parametrize("page", ["README.md", "python/README.md"])
def test_the_readmes_run(page: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.S | re.M)
    assert blocks
    for block in blocks:
        # A process of its own: here other tests have imported what the page leaves to tares.
        done = subprocess.run([sys.executable, "-c", README_NAMES + block], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_what_is_imported_late_is_listed() -> None:
    assert {"torch", "spark", "RobustClassifier", "audit"} <= set(dir(tares))
    assert tares.torch.CurriculumLoss is importlib.import_module("tares.torch").CurriculumLoss
    with pytest.raises(AttributeError, match="no attribute 'tensorflow'"):
        tares.tensorflow  # noqa: B018


def test_every_function_in_the_table_for_cleanlab_users_is_there() -> None:
    import cleanlab.classification
    import cleanlab.count
    import cleanlab.dataset
    import cleanlab.filter
    import cleanlab.rank

    table = [line for line in (ROOT / "docs" / "python.md").read_text().splitlines() if line.startswith("| `")]
    assert len(table) >= 10
    for line in table:
        theirs, ours = line.split("|")[1:3]
        module, name = re.match(r" `(?:(\w+)\.)?(\w+)", theirs).groups()  # type: ignore[union-attr]
        if module is not None:
            assert hasattr(getattr(cleanlab, module), name), line
        for wanted in re.findall(r"compat\.(\w+)", ours) + ([name] if "same name" in ours else []):
            assert hasattr(tares.compat, wanted), line


def test_the_notebook_runs(tmp_path: Path) -> None:
    import nbclient
    import nbformat

    book = nbformat.read(ROOT / "python" / "examples" / "wrong_labels.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = str([cell.get("outputs") for cell in book.cells])
    assert "labels are suspects" in shown and "<table>" in shown
    assert (tmp_path / "audit" / "audit.html").is_file()
