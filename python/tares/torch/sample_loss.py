"""The base class of all losses here: logits ``[batch, K]`` and targets ``[batch]`` in, one number per sample, then a reduction."""

from __future__ import annotations

import torch
from torch import Tensor, nn

REDUCTIONS = ("mean", "sum", "none")


class SampleLoss(nn.Module):
    """A loss per sample. Your own loss derives from this and implements :meth:`per_sample`.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        What is returned: the mean or the sum over the batch, or one number per sample.

    Examples
    --------
    >>> import torch
    >>> class Squared(SampleLoss):
    ...     def per_sample(self, logits, targets):
    ...         return (1 - logits.softmax(1).gather(1, targets[:, None]).squeeze(1)) ** 2
    >>> Squared()(torch.zeros(3, 2), torch.tensor([0, 1, 1]))
    tensor(0.2500)
    """

    #: How the program and its files write this loss; with numbers after colons. Also the name that error messages use.
    name = "custom"

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in REDUCTIONS:
            raise ValueError(f"reduction must be one of {', '.join(REDUCTIONS)}, got {reduction!r}")
        self.reduction = reduction

    def per_sample(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The loss of every sample: ``[batch, K]`` and ``[batch]`` give ``[batch]``. Numbers of at least 0."""
        raise NotImplementedError("a SampleLoss must implement per_sample")

    def with_rivals(self, logits: Tensor, targets: Tensor, rivals: Tensor) -> Tensor:
        """:meth:`per_sample` for callers that already know the largest other logit's position (:func:`rivals`)."""
        return self.per_sample(logits, targets)

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The reduced loss of a batch."""
        check_batch(logits, targets)
        losses = self.per_sample(at_least_single(logits), targets)
        if self.reduction == "none":
            return losses
        return losses.mean() if self.reduction == "mean" else losses.sum()

    def extra_repr(self) -> str:
        """The name with its numbers."""
        return f"{self.name!r}, reduction={self.reduction!r}"


def check_batch(logits: Tensor, targets: Tensor) -> None:
    """Raises ``ValueError`` or ``TypeError`` unless the shapes and types fit. Reads no value, so no device has to wait."""
    if logits.dim() != 2:
        raise ValueError(f"logits must have 2 dimensions (batch, classes), got shape {tuple(logits.shape)}")
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating-point numbers, got {logits.dtype}")
    if logits.shape[1] < 2:
        raise ValueError(f"number of classes must be at least 2, got {logits.shape[1]}")
    if targets.dim() != 1 or targets.shape[0] != logits.shape[0]:
        raise ValueError(f"targets must have shape ({logits.shape[0]},), one per row of logits, got {tuple(targets.shape)}")
    if targets.dtype != torch.int64:
        raise TypeError(f"targets must be class numbers of type torch.int64, got {targets.dtype}")


def at_least_single(logits: Tensor) -> Tensor:
    """Half-precision logits (autocast) as 32 bits, as PyTorch's own cross-entropy does it; others as they are."""
    return logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits


def widest(values: Tensor) -> Tensor:
    """In 64 bits, as the core computes; Apple's GPUs have only 32."""
    return values.float() if values.device.type == "mps" else values.double()


def written(number: float) -> str:
    """A number as it is written in names: all its digits, ``2`` rather than ``2.0``."""
    return repr(float(number)).removesuffix(".0")
