"""What a :class:`~tares.torch.CurriculumLoss` kept of its last batch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Kept:
    """What was kept of one batch. All are tensors on the device of the batch: reading a number from them waits for the device.

    Attributes
    ----------
    mask : Tensor
        ``[m]``, true for the kept samples; with the extra one if there is one.
    margins : Tensor
        ``[m]``, logit of the target minus the largest other one.
    count : Tensor
        T: how many Algorithm 1 keeps, without the extra ones; all in the burn-in.
    extra : Tensor
        Whether the T+1 rule added one (in the balanced form: to any class).
    misclassified : Tensor
        e: how many of the batch have a negative margin.
    sum : Tensor
        The sum of the ranking losses of the T samples.
    objective : Tensor
        ``max(L_T, C - T)``, the bound of the number of misclassified samples; in the burn-in the plain sum of ranking losses.
    starved : Tensor
        Whether the batch teaches nothing: nothing is kept, or the base loss trained has zero gradient on all of it.

    With ``scope="global"`` the mask, margins and ``starved`` are of this process's samples, the numbers of all processes' samples.
    """

    mask: Tensor
    margins: Tensor
    count: Tensor
    extra: Tensor
    misclassified: Tensor
    sum: Tensor
    objective: Tensor
    starved: Tensor

    @property
    def positions(self) -> Tensor:
        """Positions of the kept samples in the batch, ascending. Waits for the device."""
        return torch.nonzero(self.mask).squeeze(1)
