"""ELR, early-learning regularisation (Liu et al., 2020): the network is held to its early predictions, against the labels."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .sample_loss import at_least_single

#: Answers are kept this far from 0 and 1, so that the logarithm stays finite.
EDGE = 1e-4


class EarlyLearningRegulariser(nn.Module):
    """``lambda * mean log(1 - <t_i, p>)`` with ``t_i <- beta t_i + (1 - beta) p``: add it to the cross-entropy of the batch.

    ``t_i`` is the running target of sample i, a buffer: it moves with ``.to(device)`` and is part of ``state_dict``. No gradient flows
    through it. In ``eval()`` the targets stay as they are.

    Parameters
    ----------
    rows, classes : int
        Size of the training set.
    beta : float
        How long answers are remembered, in [0, 1): 0.7 on CIFAR-10, 0.9 on CIFAR-100.
    weight : float
        lambda, how much they count: 3 on CIFAR-10, 7 on CIFAR-100.

    Examples
    --------
    >>> import torch
    >>> regulariser = EarlyLearningRegulariser(rows=100, classes=2)
    >>> logits = torch.tensor([[0.8, 0.2]]).log().requires_grad_()
    >>> loss = torch.nn.functional.cross_entropy(logits, torch.tensor([1])) + regulariser(logits, torch.tensor([7]))
    >>> regulariser.targets[7]
    tensor([0.2400, 0.0600])
    """

    targets: Tensor

    def __init__(self, rows: int, classes: int, beta: float = 0.7, weight: float = 3.0) -> None:
        super().__init__()
        if not 0 <= beta < 1:
            raise ValueError(f"beta of elr must be in [0, 1), got {beta}")
        if not (weight >= 0 and math.isfinite(weight)):
            raise ValueError(f"weight of elr must be at least 0, got {weight}")
        if rows < 1 or classes < 2:
            raise ValueError(f"elr needs at least 1 row and 2 classes, got {rows} rows and {classes} classes")
        self.beta: float = float(beta)
        self.weight: float = float(weight)
        self.register_buffer("targets", torch.zeros(rows, classes))

    def forward(self, logits: Tensor, index: Tensor) -> Tensor:
        """The regulariser of a batch.

        Parameters
        ----------
        logits : Tensor
            ``[batch, K]``.
        index : Tensor
            ``[batch]``, which rows of the training set these are, each at most once.
        """
        if logits.shape != (index.shape[0], self.targets.shape[1]):
            expected = (index.shape[0], self.targets.shape[1])
            raise ValueError(f"logits must have shape {expected}, one row per index and one column per class, got {tuple(logits.shape)}")
        answers = at_least_single(logits).softmax(1).clamp(EDGE, 1 - EDGE)
        with torch.no_grad():
            current = self.targets[index]
            if self.training:
                share = (answers / answers.sum(1, keepdim=True)).to(current.dtype)
                current = self.beta * current + (1 - self.beta) * share
                self.targets.index_copy_(0, index, current)
        # 1 - <t, p> can round to below 0 when both are sure of the same class.
        doubt = (1 - (answers * current).sum(1)).clamp(min=EDGE)
        return self.weight * doubt.log().mean()

    def extra_repr(self) -> str:
        """How it was made."""
        rows, classes = self.targets.shape
        return f"rows={rows}, classes={classes}, beta={self.beta}, weight={self.weight}"
