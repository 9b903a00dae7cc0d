"""The wheel: for Python 3.10 and all later ones, typed, with nothing in it that should not be, and not too large."""

from __future__ import annotations

import os
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

WHEEL = os.environ.get("TARES_WHEEL")
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(WHEEL is None, reason="python/test builds the wheel and names it in TARES_WHEEL")


def test_the_wheel_holds_the_package_and_nothing_else() -> None:
    assert WHEEL is not None
    names = zipfile.ZipFile(ROOT / WHEEL).namelist()
    sources = {str(path.relative_to(ROOT / "python")) for path in (ROOT / "python" / "tares").rglob("*") if path.suffix in (".py", ".pyi", ".typed")}
    ours = {name for name in names if ".dist-info/" not in name}
    assert ours == sources | {"tares/_tares.abi3.so"}
    assert "tares/py.typed" in ours and "tares/_tares.pyi" in ours


def test_the_wheel_is_for_every_python_from_3_10_on_and_not_too_large() -> None:
    assert WHEEL is not None
    assert "-cp310-abi3-" in WHEEL
    assert os.path.getsize(ROOT / WHEEL) < 20_000_000
    wheel = zipfile.ZipFile(ROOT / WHEEL)
    name = next(name for name in wheel.namelist() if name.endswith("METADATA"))
    facts = Parser().parsestr(wheel.read(name).decode())
    assert facts["Name"] == "tares" and facts["Requires-Python"] == ">=3.10"
    assert {"torch", "sklearn"} <= set(facts.get_all("Provides-Extra", []))
    needed = [line for line in facts.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert len(needed) == 1 and needed[0].startswith("numpy")
