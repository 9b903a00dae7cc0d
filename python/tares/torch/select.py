"""Algorithm 1 of the paper in tensor operations: which samples of a batch are kept. No loop, no value read back to the host.

With the losses in ascending order (ties by position) and ``L_i`` the sum of the first i, sample i is kept iff ``L_i <= C + 1 - i``.
Let T be how many those are. The T+1 rule keeps one more if ``L_T <= C - T``. Both together need no T:

    sample i is kept  iff  L_{i-1} <= C + 1 - i

because for i <= T the left side is at most L_i, for i = T+1 it is the rule itself, and beyond, L_{i-1} >= L_{T+1} > C - T.
Class-balanced selection is the same with places, sums and C counted within each class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

#: From the number of samples and of misclassified ones (of all, or per class) to C.
Bound = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Groups:
    """Samples in groups (all of them, or class by class), each with its own C."""

    labels: Tensor  #: [m] the group of each sample
    sizes: Tensor  #: [groups] how many samples
    bounds: Tensor  #: [groups] C

    @staticmethod
    def of(wrong: Tensor, labels: Tensor | None, classes: int, bound: Bound) -> Groups:
        """One group per class, or a single one without labels; ``wrong`` marks misclassified samples, in the type of the losses."""
        groups = 1 if labels is None else classes
        if labels is None:
            labels = torch.zeros_like(wrong, dtype=torch.int64)
        empty = torch.zeros(groups, dtype=wrong.dtype, device=wrong.device)
        sizes = empty.scatter_add(0, labels, torch.ones_like(wrong))
        return Groups(labels, sizes, bound(sizes, empty.scatter_add(0, labels, wrong)))


def select(losses: Tensor, wrong: Tensor, bound: Bound, extra: bool) -> Tensor:
    """The samples that one selection over the whole batch keeps, as a mask ``[m]``.

    Examples
    --------
    >>> import torch
    >>> losses = torch.tensor([3.0, 0.0, 0.5, 0.25], dtype=torch.float64)
    >>> select(losses, losses > 1, lambda m, e: m, extra=False)  # C = m: the paper's E
    tensor([False,  True,  True,  True])
    """
    samples = losses.shape[0]
    ordered, order = losses.sort(stable=True)
    # C + 1 - i for i = 1, 2, ...
    room = bound(losses.new_full((), samples), wrong.sum(dtype=losses.dtype)) - torch.arange(
        samples, dtype=losses.dtype, device=losses.device
    )
    return torch.zeros_like(wrong).scatter(0, order, fits(sums_to(ordered, samples, extra), room, ordered))


def select_by_class(losses: Tensor, groups: Groups, extra: bool) -> Tensor:
    """The samples that one selection per group keeps, as a mask ``[m]``."""
    samples = losses.shape[0]
    by_loss = losses.argsort(stable=True)
    order = by_loss[groups.labels[by_loss].argsort(stable=True)]  # group after group, each in ascending order of losses
    ordered, label = losses[order], groups.labels[order]
    start = (groups.sizes.cumsum(0) - groups.sizes)[label]  # [m] where the sample's group begins
    before = F.pad(sums_to(ordered, samples, extra=False), (1, 0))[start.long()]  # the sum of all groups before it
    place = torch.arange(samples, dtype=losses.dtype, device=losses.device) - start
    sums = sums_to(ordered, samples, extra) - before
    kept = fits(sums, groups.bounds[label] - place, ordered)
    return torch.zeros_like(kept).scatter(0, order, kept)


def sums_to(ordered: Tensor, samples: int, extra: bool) -> Tensor:
    """``L_i``, or ``L_{i-1}`` with the extra sample.

    A loss above 2 m + 1 is never kept, so losses are cut off there; this keeps infinities out of the sums.
    """
    ordered = ordered.clamp(max=2.0 * samples + 2)
    return (F.pad(ordered[:-1], (1, 0)) if extra else ordered).cumsum(0)


def fits(sums: Tensor, room: Tensor, ordered: Tensor) -> Tensor:
    """Whether a sample is kept; one with an infinite or NaN loss never is."""
    return (sums <= room) & (ordered < torch.inf)
