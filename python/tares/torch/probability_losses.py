"""Cross-entropy and its robust relatives: functions of the probability ``p_y`` of the target. They don't bound the 0-1 loss."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from .margin_losses import capped
from .sample_loss import SampleLoss, written


class CrossEntropyLoss(SampleLoss):
    """``-log p_y``: PyTorch's own, for use by name."""

    name = "cross-entropy"

    def per_sample(self, logits: Tensor, targets: Tensor) -> Tensor:
        """``-log p_y``."""
        return F.cross_entropy(logits, targets, reduction="none")


class GCELoss(SampleLoss):
    """Generalised cross-entropy (Zhang & Sabuncu 2018): ``(1 - p_y^q) / q``, q in (0, 1].

    ``q -> 0`` is cross-entropy, ``q = 1`` is half of the mean absolute error.

    Examples
    --------
    >>> import torch
    >>> GCELoss(q=1.0)(torch.zeros(4, 2), torch.tensor([0, 1, 0, 1]))
    tensor(0.5000)
    """

    def __init__(self, q: float = 0.7, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if not 0 < q <= 1:
            raise ValueError(f"q of gce must be in (0, 1], got {q}")
        self.q: float = float(q)
        self.name: str = f"gce:{written(q)}"

    def per_sample(self, logits: Tensor, targets: Tensor) -> Tensor:
        """``(1 - p_y^q) / q``."""
        return generalised(logits, targets, self.q)


class TruncatedGCELoss(SampleLoss):
    """:class:`GCELoss` that stays at its value for ``p_y = k`` wherever ``p_y <= k``: such samples have no gradient."""

    def __init__(self, q: float = 0.7, k: float = 0.5, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if not 0 < q <= 1:
            raise ValueError(f"q of truncated-gce must be in (0, 1], got {q}")
        if not 0 < k < 1:
            raise ValueError(f"k of truncated-gce must be in (0, 1), got {k}")
        self.q: float = float(q)
        self.k: float = float(k)
        self.name: str = f"truncated-gce:{written(q)}:{written(k)}"

    def per_sample(self, logits: Tensor, targets: Tensor) -> Tensor:
        """``(1 - max(p_y, k)^q) / q``."""
        return capped(generalised(logits, targets, self.q), (1 - self.k**self.q) / self.q)


class MAELoss(SampleLoss):
    """Mean absolute error between probabilities and the one-hot target: ``2 (1 - p_y)``."""

    name = "mae"

    def per_sample(self, logits: Tensor, targets: Tensor) -> Tensor:
        """``2 (1 - p_y)``."""
        return -2 * torch.expm1(-F.cross_entropy(logits, targets, reduction="none"))


class SymmetricCELoss(SampleLoss):
    """Symmetric cross-entropy (Wang et al. 2019): ``alpha CE + beta RCE`` with ``RCE = 4 (1 - p_y)``.

    ``log 0`` counts as -4, as in the authors' experiments. They use alpha = 0.1, beta = 1 on CIFAR-10 and alpha = 6, beta = 0.1 on
    CIFAR-100.
    """

    def __init__(self, alpha: float = 0.1, beta: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        for what, weight in (("alpha", alpha), ("beta", beta)):
            if not (weight >= 0 and math.isfinite(weight)):
                raise ValueError(f"{what} of symmetric-ce must be a number >= 0, got {weight}")
        self.alpha: float = float(alpha)
        self.beta: float = float(beta)
        self.name: str = f"symmetric-ce:{written(alpha)}:{written(beta)}"

    def per_sample(self, logits: Tensor, targets: Tensor) -> Tensor:
        """``alpha CE + beta RCE``."""
        forward = F.cross_entropy(logits, targets, reduction="none")
        return self.alpha * forward - 4 * self.beta * torch.expm1(-forward)


def generalised(logits: Tensor, targets: Tensor, q: float) -> Tensor:
    """``(1 - p_y^q) / q`` from ``log p_y``: differentiating ``p_y^q`` itself gives NaN once ``p_y`` underflows."""
    return torch.expm1(-q * F.cross_entropy(logits, targets, reduction="none")) / -q
