"""What the comparisons write: figures as CSV, with the machine they come from."""

from __future__ import annotations

import csv
import os
import platform
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """Columns that describe the machine."""
    return {"cores": os.cpu_count(), "load": f"{os.getloadavg()[0]:.1f}", "python": platform.python_version()}


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    """One line per figure, with the keys of the first as the header."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
