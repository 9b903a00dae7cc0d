"""Losses for PyTorch that tolerate wrong labels: the paper's curriculum loss as a module, its base losses, and other robust losses.

>>> import torch
>>> from tares.torch import CurriculumLoss
>>> criterion = CurriculumLoss("npcl", rate=0.2)          # instead of torch.nn.CrossEntropyLoss()
>>> for epoch in range(2):
...     criterion.set_epoch(epoch)                        # the first burn_in epochs keep everything
...     for logits, targets in [(torch.randn(8, 3, requires_grad=True), torch.randint(3, (8,)))]:
...         criterion(logits, targets).backward()
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as _error:
    if _error.name != "torch":
        raise
    raise ModuleNotFoundError("tares.torch needs PyTorch: pip install 'tares[torch]'", name="torch") from None

from .curriculum import CurriculumLoss
from .elr import EarlyLearningRegulariser
from .kept import Kept
from .margin_losses import (
    HingeLoss,
    LogisticLoss,
    MarginLoss,
    SavageLoss,
    SigmoidLoss,
    SoftHingeLoss,
    SquaredHingeLoss,
    TruncatedHingeLoss,
    WeightedHingeLoss,
    margin,
)
from .memory import MemoryLoss
from .name import sample_loss
from .probability_losses import CrossEntropyLoss, GCELoss, MAELoss, SymmetricCELoss, TruncatedGCELoss
from .recorder import HistoryAudit, Recorder
from .sample_loss import SampleLoss
from .threshold import Threshold

__all__ = [
    "CrossEntropyLoss",
    "CurriculumLoss",
    "EarlyLearningRegulariser",
    "GCELoss",
    "HingeLoss",
    "HistoryAudit",
    "Kept",
    "LogisticLoss",
    "MAELoss",
    "MarginLoss",
    "MemoryLoss",
    "Recorder",

    "SampleLoss",
    "SavageLoss",
    "SigmoidLoss",
    "SoftHingeLoss",
    "SquaredHingeLoss",
    "SymmetricCELoss",
    "Threshold",
    "TruncatedGCELoss",
    "TruncatedHingeLoss",
    "WeightedHingeLoss",
    "margin",
    "sample_loss",
]
