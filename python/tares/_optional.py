"""Optional dependencies: imported when they are used, with a message that says what to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: The name of a module's package for `pip install`, where it differs.
PACKAGES = {"sklearn": "scikit-learn"}


def needed(module: str, what: str) -> Any:
    """The module, or an error that says what needs it and how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        package = PACKAGES.get(module.partition(".")[0], module.partition(".")[0])
        raise ImportError(f"{what} needs {package}, which is not installed: pip install {package}", name=error.name) from error
