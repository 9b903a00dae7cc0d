"""Learn from labels you cannot trust.

>>> import tares
>>> found = tares.audit([0, 0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.95, 0.05]], method="argmax")
>>> found.suspects["row"]                   # which labels are wrong, worst first
array([3])
>>> found.corrected                         # your labels, with the suggestions taken
array([0, 0, 1, 0])

Labels are integers or names; probabilities come from a model that was *not* trained on the row.

``tares.audit`` finds wrong labels, ``tares.consensus`` combines several people's labels, ``tares.RobustClassifier`` and ``tares.clean`` train
in spite of wrong labels (scikit-learn), ``tares.torch`` has the losses for PyTorch, ``tares.corrupt`` makes labels wrong on purpose,
``tares.metrics`` has the metrics, ``tares.compat`` the functions of cleanlab.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tares import compat, metrics
from tares._audit import AgainstTruth, Audit, audit, scores
from tares._clean import Cleaned, clean
from tares._consensus import Consensus, consensus
from tares._corrupt import corrupt
from tares._optional import needed
from tares._table import Table
from tares._tares import __version__

if TYPE_CHECKING:
    from tares import spark as spark
    from tares import torch as torch
    from tares._classifier import RobustClassifier

__all__ = [
    "AgainstTruth",
    "Audit",
    "Cleaned",
    "Consensus",
    "RobustClassifier",
    "Table",
    "__version__",
    "audit",
    "clean",
    "compat",
    "consensus",
    "corrupt",
    "metrics",
    "scores",
]


def __getattr__(name: str) -> Any:
    """Imported when it is first used, because not everybody has scikit-learn, PyTorch or Spark."""
    if name in ("spark", "torch"):
        return import_module(f"tares.{name}")
    if name == "RobustClassifier":
        needed("sklearn", "tares.RobustClassifier")
        from tares._classifier import RobustClassifier

        return RobustClassifier
    raise AttributeError(f"module 'tares' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "spark", "torch"})
