"""The base losses: functions of the margin ``u = t_y - max_{i != y} t_i`` that lie above the 0-1 loss.

The paper's theorems need this bound. Each loss equals its namesake in the program (``crates/tares-core/src/surrogate``), kinks
included: where a loss has a kink, the gradient is that of the side away from the loss, and of equal rivals the first one gets it.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from .sample_loss import SampleLoss, widest, written


def margin(logits: Tensor, targets: Tensor) -> Tensor:
    """Logit of the target minus the largest other logit, per sample. Negative: misclassified.

    Examples
    --------
    >>> import torch
    >>> margin(torch.tensor([[2.0, 1.0, 0.0], [0.0, 2.0, 0.0]]), torch.tensor([0, 0]))
    tensor([ 1., -2.])
    """
    return margin_to(logits, targets, rivals(logits, targets))


def rivals(logits: Tensor, targets: Tensor) -> Tensor:
    """The class with the largest logit apart from the target, per sample; of equals the first."""
    others = logits.detach().scatter(1, targets[:, None], -math.inf)
    best = others.argmax(1)
    # If all others are -inf, the target's own place ties with them: take the first class that is not the target.
    return torch.where(best == targets, (targets == 0).to(best.dtype), best)


def margin_to(logits: Tensor, targets: Tensor, rivals: Tensor, wide: bool = False) -> Tensor:
    """Logit of the target minus that of the rival, per sample; subtracted in 64 bits if ``wide``, as the core does."""
    both = logits.gather(1, torch.stack((targets, rivals), 1))  # [batch, 2]
    if wide:
        both = widest(both)
    return both[:, 0] - both[:, 1]


class MarginLoss(SampleLoss):
    """A loss that depends on the logits only through the margin: implement :meth:`of_margin`."""

    def of_margin(self, margins: Tensor) -> Tensor:
        """The losses of these margins."""
        raise NotImplementedError("a MarginLoss must implement of_margin")

    def per_sample(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The losses of the logits' margins."""
        return self.with_rivals(logits, targets, rivals(logits, targets))

    def with_rivals(self, logits: Tensor, targets: Tensor, rivals: Tensor) -> Tensor:
        """The losses of the margins to these rivals."""
        return self.of_margin(margin_to(logits, targets, rivals))


class HingeLoss(MarginLoss):
    """``max(0, 1 - u)``: exactly zero, with zero gradient, once ``u >= 1``.

    Examples
    --------
    >>> import torch
    >>> HingeLoss(reduction="none")(torch.tensor([[1.0, 0.5, 0.0], [0.0, 2.0, 0.0]]), torch.tensor([0, 0]))
    tensor([0.5000, 3.0000])
    """

    name = "hinge"

    def of_margin(self, margins: Tensor) -> Tensor:
        """``max(0, 1 - u)``."""
        return torch.relu(1 - margins)


class SquaredHingeLoss(MarginLoss):
    """``max(0, 1 - u)^2``: smooth at ``u = 1``, and harder still on outliers."""

    name = "squared-hinge"

    def of_margin(self, margins: Tensor) -> Tensor:
        """``max(0, 1 - u)^2``."""
        return torch.relu(1 - margins).square()


class TruncatedHingeLoss(MarginLoss):
    """``min(max(0, 1 - u), cap)`` (Wu & Liu 2007), ``cap >= 1``: beyond the cap a sample no longer pulls."""

    def __init__(self, cap: float = 2.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if not (cap >= 1 and math.isfinite(cap)):
            raise ValueError(f"cap of truncated-hinge must be a finite number >= 1, got {cap}")
        self.cap: float = float(cap)
        self.name: str = f"truncated-hinge:{written(cap)}"

    def of_margin(self, margins: Tensor) -> Tensor:
        """``min(max(0, 1 - u), cap)``."""
        return capped(torch.relu(1 - margins), self.cap)


class LogisticLoss(MarginLoss):
    """``log2(1 + exp(-u))``: exactly 1 at ``u = 0``, so it bounds the 0-1 loss."""

    name = "logistic"

    def of_margin(self, margins: Tensor) -> Tensor:
        """``log2(1 + exp(-u))``."""
        return F.logsigmoid(margins) / -math.log(2)


class SigmoidLoss(MarginLoss):
    """``2 / (1 + exp(u))``: bounded by 2, not convex."""

    name = "sigmoid"

    def of_margin(self, margins: Tensor) -> Tensor:
        """``2 / (1 + exp(u))``."""
        return 2 * torch.sigmoid(-margins)


class SavageLoss(MarginLoss):
    """``4 / (1 + exp(u))^2`` (Masnadi-Shirazi & Vasconcelos 2009): bounded by 4, not convex."""

    name = "savage"

    def of_margin(self, margins: Tensor) -> Tensor:
        """``4 / (1 + exp(u))^2``."""
        return (2 * torch.sigmoid(-margins)).square()


class WeightedHingeLoss(SampleLoss):
    """The paper's ``F = beta S + (1 - beta) H`` of soft hinge ``S`` and hinge ``H``, beta in [0, 1].

    ``S`` is the hinge where the sample is right (``u >= 0``) and ``1 - t_y + logsumexp(t)`` where it is wrong: there its
    gradient is that of cross-entropy, which reaches all classes.
    """

    def __init__(self, beta: float = 0.5, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if not 0 <= beta <= 1:
            raise ValueError(f"beta of weighted must be in [0, 1], got {beta}")
        self.beta: float = float(beta)
        self.name: str = f"weighted:{written(beta)}"

    def per_sample(self, logits: Tensor, targets: Tensor) -> Tensor:
        """``beta S + (1 - beta) H``."""
        return self.with_rivals(logits, targets, rivals(logits, targets))

    def with_rivals(self, logits: Tensor, targets: Tensor, rivals: Tensor) -> Tensor:
        """``beta S + (1 - beta) H``, with the margin to these rivals."""
        margins = margin_to(logits, targets, rivals)
        hard = torch.relu(1 - margins)
        soft = torch.where(margins < 0, 1 + F.cross_entropy(logits, targets, reduction="none"), hard)
        return soft if self.beta == 1 else self.beta * soft + (1 - self.beta) * hard


class SoftHingeLoss(WeightedHingeLoss):
    """The paper's soft hinge ``S``: the hinge where the sample is right, 1 + cross-entropy where it is wrong.

    Examples
    --------
    >>> import torch
    >>> SoftHingeLoss(reduction="none")(torch.tensor([[0.0, 0.0, 0.25], [0.75, 0.0, 0.0]]), torch.tensor([0, 0]))
    tensor([2.1891, 0.2500])
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(1.0, reduction)
        self.name: str = "soft-hinge"


def capped(losses: Tensor, cap: float) -> Tensor:
    """``min(loss, cap)`` without gradient from ``cap`` on, the kink included."""
    return torch.where(losses >= cap, cap, losses)
