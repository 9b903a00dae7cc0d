"""The batches of all processes of a distributed run as one: what a selection needs, gathered in one small message."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor


def world() -> int:
    """How many processes train together; 1 without ``torch.distributed``."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def gather(columns: list[Tensor]) -> tuple[list[Tensor], int]:
    """Columns ``[m]`` of this process -> columns ``[world * m]`` of all, rank after rank; and where this process's part begins.

    One message of ``8 m`` bytes per column and process. Every process must have the same number of samples, which
    ``DistributedSampler`` ensures.
    """
    mine = torch.stack(columns)  # [columns, m]
    samples = mine.shape[1]
    # all_gather_into_tensor joins along the first dimension
    everyone = torch.empty((world() * mine.shape[0], samples), dtype=mine.dtype, device=mine.device)
    dist.all_gather_into_tensor(everyone, mine)
    everyone = everyone.view(world(), mine.shape[0], samples).transpose(0, 1).reshape(mine.shape[0], -1)
    return list(everyone), dist.get_rank() * samples
