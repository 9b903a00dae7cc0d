"""The curriculum loss on the CPU through the compiled core: one call per batch instead of some twenty tensor operations.

Called directly, or, under ``torch.compile``, as the operation ``tares::curriculum``, which is one node of the compiled graph.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.compiler import is_compiling

from tares._tares import HostLoss, HostStep

from .name import IN_THE_CORE, LOSSES
from .sample_loss import SampleLoss, check_batch
from .threshold import Threshold

if TYPE_CHECKING:
    from .curriculum import CurriculumLoss


def recipe(threshold: Threshold, rank: SampleLoss, train: SampleLoss, extra: bool, balanced: bool) -> str | None:
    """The same loss for the core, in words, without the number of its threshold; ``None`` if the core does not know a part of it.

    One text, because a compiled graph compares and passes on every part at every call.
    """
    for loss in (rank, train):
        name = loss.name.partition(":")[0]
        # A subclass may compute something else under the same name.
        if name not in IN_THE_CORE or type(loss) is not LOSSES[name][0]:
            return None
    if threshold.prior is not None:
        return None
    return " ".join((threshold.kind, rank.name, train.name, *["extra"] * extra, *["balanced"] * balanced))


@lru_cache(maxsize=64)
def host_loss(recipe: str, number: float) -> HostLoss:
    """The loss of the core. It has no state, so one serves all."""
    kind, rank, train, *rest = recipe.split()
    threshold = Threshold(kind) if kind in ("e", "q") else Threshold(kind, number)
    return HostLoss(str(threshold), rank, train, "extra" in rest, "balanced" in rest)


def readable(logits: Tensor, targets: Tensor) -> bool:
    """Whether the core can read such tensors: on the CPU, logits in 32 bits."""
    return logits.is_cpu and logits.dtype is torch.float32 and targets.dtype is torch.int64


def has_values(logits: Tensor) -> bool:
    """Whether these are numbers in memory, not a stand-in for them (subclasses, torch.func)."""
    return type(logits) in _PLAIN and not _transformed()


_PLAIN = (torch.Tensor, torch.nn.Parameter)
_transformed = torch._C._are_functorch_transforms_active
# Older versions do not say whether a graph is differentiated once more; then assume it.
_graph_is_kept = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", lambda: True)


def step(host: HostLoss, logits: Tensor, targets: Tensor, selects: bool) -> tuple[HostStep, Tensor]:
    """The core's result for a batch, and the derivatives of the loss."""
    slopes = np.empty(logits.shape, np.float32)
    try:
        found = host.step(logits.numpy(), targets.numpy(), slopes, selects)
    except (TypeError, ValueError):
        check_batch(logits, targets)  # its error names tensors, if shapes or types are wrong
        found = host.step(logits.contiguous().numpy(), targets.contiguous().numpy(), slopes, selects)
    return found, torch.from_numpy(slopes)


class CoreLoss(torch.autograd.Function):
    """The value that the core computed, with the derivatives that it computed with it."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, slopes: Tensor, value: float, again: tuple[CurriculumLoss, Tensor]) -> Tensor:
        ctx.save_for_backward(logits, slopes)
        ctx.again = again
        return torch.scalar_tensor(value)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        logits, slopes = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph: tensor operations can be differentiated again
            owner, targets = ctx.again
            (slopes,) = torch.autograd.grad(owner.forward_tensors(logits, targets), logits, create_graph=True)
        elif not (is_compiling() or _graph_is_kept()) and _is_one(upstream):
            return slopes, None, None, None  # loss.backward(): nothing to multiply, and nobody else needs the tensor
        return slopes * upstream, None, None, None


def _is_one(number: Tensor) -> bool:
    try:
        return number.item() == 1
    except RuntimeError:  # a stand-in for many numbers: is_grads_batched
        return False


# ---- the same as an operation of PyTorch, for compiled graphs

_OPERATIONS = torch.library.Library("tares", "DEF")  # type: ignore[no-untyped-call]  # operations live as long as this does
_OPERATIONS.define(  # type: ignore[no-untyped-call]
    "curriculum(Tensor logits, Tensor targets, Tensor numbers, str recipe, bool selects) -> (Tensor value, Tensor slopes, Tensor samples)"
)


def _on_cpu(logits: Tensor, targets: Tensor, numbers: Tensor, recipe: str, selects: bool) -> tuple[Tensor, Tensor, Tensor]:
    found, slopes = step(host_loss(recipe, numbers.tolist()[-1]), logits, targets, selects)
    return torch.scalar_tensor(found.value), slopes, torch.from_numpy(found.samples())


def _shapes(logits: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
    slopes = torch.empty_like(logits, memory_format=torch.contiguous_format)
    return logits.new_empty(()), slopes, logits.new_empty((2 * logits.shape[0],), dtype=torch.float64)


_OPERATIONS.impl("curriculum", _on_cpu, "CPU")  # type: ignore[no-untyped-call]
torch.library.register_fake("tares::curriculum", _shapes, lib=_OPERATIONS)


class CompiledLoss(torch.autograd.Function):
    """:class:`CoreLoss` in a compiled graph, which can be differentiated once: the value, and what the core saw."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, numbers: Tensor, recipe: str, selects: bool) -> tuple[Tensor, Tensor]:
        value, slopes, samples = torch.ops.tares.curriculum(logits, targets, numbers, recipe, selects)
        ctx.save_for_backward(slopes)
        ctx.mark_non_differentiable(samples)
        return value, samples

    @staticmethod
    def backward(ctx: Any, upstream: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        (slopes,) = ctx.saved_tensors
        return slopes * upstream, None, None, None, None
