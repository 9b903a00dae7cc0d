"""The curriculum loss: the paper's loss as a plug-in for any PyTorch training loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.compiler import is_compiling

from tares._tares import HostStep

from . import native, ranks
from .kept import Kept
from .margin_losses import MarginLoss, WeightedHingeLoss, margin_to, rivals
from .name import sample_loss
from .sample_loss import SampleLoss, at_least_single, check_batch, widest, written
from .select import Groups, select, select_by_class
from .threshold import Prior, Threshold

SCOPES = ("batch", "global")


class CurriculumLoss(nn.Module):
    """The mean training loss over the samples that Algorithm 1 keeps (Lyu & Tsang, ICLR 2020).

    ::

        kept = prefix of the batch by ranking loss l: keep the i-th smallest iff  L_i <= C + 1 - i     (L_i: prefix sums)
        loss = mean over kept of the training loss

    Samples that are not kept get exactly zero gradient. If nothing is kept, the loss is 0 with zero gradient. NaN logits give a NaN
    loss, as with every loss of PyTorch.

    Parameters
    ----------
    threshold : str, float or callable
        Where C comes from, for a batch of m samples of which e are misclassified and the noise rate r: ``"npcl"``
        ``(1-r)^2 m + (1-r) e``, ``"npcl-fixed"`` ``(1-r) m``, ``"q"`` ``m + e``, ``"e"`` ``m``; a number c in [0, 2] for ``c m``; a
        function of m and e (tensors) that returns C.
    rate : float, optional
        The share of wrong labels r, in [0, 1]; only for ``"npcl"`` and ``"npcl-fixed"``. May be changed later: ``loss.rate = 0.2``.
    rank, train : str or SampleLoss
        The loss samples are ranked by and the one that is trained, by name (``"hinge"``, ``"gce:0.7"``) or as a module.
    extra : bool
        Keep one more sample if ``L_T <= C - T`` (the T+1 rule).
    balanced : bool
        One selection per class (of the given labels), so that no class is left out.
    burn_in : int
        Epochs at the start in which everything is kept (the paper: 5 on MNIST, 10 on CIFAR). The loss must be told the epoch:
        :meth:`set_epoch`.
    scope : {"batch", "global"}
        Which samples are selected from: this process's batch, as the paper does it, or the batches of all processes of a distributed
        run together, at the price of one small ``all_gather``. ``"global"`` returns the loss such that the mean over processes, which
        DistributedDataParallel takes of the gradients, is the mean over all kept samples.

    Examples
    --------
    Change one line of a training loop, and tell the loss the epoch:

    >>> import torch
    >>> criterion = CurriculumLoss("npcl", rate=0.25, burn_in=0)  # instead of nn.CrossEntropyLoss()
    >>> logits = torch.tensor([[3.0, 0.0], [0.0, 0.5], [0.2, 0.1], [4.0, 0.0]], requires_grad=True)
    >>> targets = torch.tensor([0, 1, 0, 1])  # the last label is wrong
    >>> criterion(logits, targets).backward()
    >>> criterion.kept.positions
    tensor([0, 1, 2])
    >>> logits.grad[3]
    tensor([0., 0.])
    """

    def __init__(
        self,
        threshold: str | float | Prior = "npcl",
        rate: float | None = None,
        rank: str | SampleLoss = "hinge",
        train: str | SampleLoss = "soft-hinge",
        extra: bool = True,
        balanced: bool = False,
        burn_in: int = 5,
        scope: str = "batch",
    ) -> None:
        super().__init__()
        if isinstance(burn_in, bool) or not isinstance(burn_in, int) or burn_in < 0:
            raise ValueError(f"burn_in must be a number of epochs >= 0, got {burn_in!r}")
        if scope not in SCOPES:
            raise ValueError(f"scope must be one of {', '.join(SCOPES)}, got {scope!r}")
        self._ranking = sample_loss(rank)
        self._training = sample_loss(train)
        self._extra = bool(extra)
        self._balanced = bool(balanced)
        self.burn_in = burn_in
        self._scope = scope
        self._selects: bool | None = None if burn_in > 0 else True
        # The last batch, in a list: a module's own way to set an attribute takes microseconds.
        self._last: list[Seen | FromGraph | HostStep | None] = [None]
        self._set(Threshold.read(threshold, rate))

    def _set(self, threshold: Threshold) -> None:
        self._threshold = threshold
        # For compiled graphs: a number would be compiled in, and every new rate would mean a new compilation.
        self._numbers = torch.tensor([*threshold.slopes, threshold.value or 0.0], dtype=torch.float64)
        self._recipe = self._make_recipe()

    def _make_recipe(self) -> str | None:
        if self._scope == "global":
            return None
        return native.recipe(self._threshold, self._ranking, self._training, self._extra, self._balanced)

    # ---- what changes over the epochs

    def set_epoch(self, epoch: int) -> None:
        """Say at the start of every epoch which one it is (from 0): in the first ``burn_in`` epochs everything is kept."""
        if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 0:
            raise ValueError(f"epoch must be a whole number >= 0, got {epoch!r}")
        self._selects = epoch >= self.burn_in

    @property
    def selects(self) -> bool:
        """Whether samples are left out: false in the burn-in."""
        if self._selects is None:
            raise RuntimeError(
                f"CurriculumLoss keeps everything in the first {self.burn_in} epochs (burn_in) but was not told the epoch: "
                "call set_epoch(epoch) at the start of every epoch, or make it with burn_in=0"
            )
        return self._selects

    @property
    def threshold(self) -> Threshold:
        """Where C comes from."""
        return self._threshold

    @property
    def rate(self) -> float | None:
        """The noise rate; ``None`` for thresholds without one."""
        return self._threshold.value if self._threshold.has_rate else None

    @rate.setter
    def rate(self, rate: float) -> None:
        if not self._threshold.has_rate:
            raise ValueError(f"threshold {self._threshold} takes no noise rate, got rate={rate}")
        self._set(Threshold(self._threshold.kind, float(rate)).check())

    # ---- the loss

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The loss of a batch.

        Parameters
        ----------
        logits : Tensor
            ``[batch, K]``, of any floating-point type; half precision is computed in 32 bits.
        targets : Tensor
            ``[batch]``, the given labels in 0..K.

        Returns
        -------
        Tensor
            A number: ``[]``.
        """
        if logits.dtype is not torch.float32:
            logits = at_least_single(logits)
        if self._recipe is None or not native.readable(logits, targets):
            return self.forward_tensors(logits, targets)
        if is_compiling():  # the operation checks shapes; a graph would check more at every call
            selects = self.selects
            loss, samples = native.CompiledLoss.apply(logits, targets, self._numbers, self._recipe, selects)
            self._last[0] = (samples, targets, logits.shape[-1], selects)
            return loss  # type: ignore[no-any-return]
        if not native.has_values(logits):
            return self.forward_tensors(logits, targets)
        host = native.host_loss(self._recipe, self._threshold.value or 0.0)
        step, slopes = native.step(host, logits.detach(), targets, self.selects)
        self._last[0] = step
        if not (logits.requires_grad and torch.is_grad_enabled()):
            return torch.scalar_tensor(step.value)
        value: Tensor = native.CoreLoss.apply(logits, slopes, step.value, (self, targets))
        return value

    def forward_tensors(self, logits: Tensor, targets: Tensor) -> Tensor:
        """:meth:`forward` in tensor operations alone: on every device, compiled, differentiable twice.

        On the CPU, :meth:`forward` calls the compiled core instead, which is faster.
        """
        check_batch(logits, targets)
        logits = at_least_single(logits)
        samples = logits.shape[0]
        if samples == 0:
            self._last[0] = None
            return logits.sum()  # 0, with a gradient
        with torch.no_grad():
            fixed = logits.detach()
            rival = rivals(fixed, targets)
            seen = self._see(fixed, targets, rival)
            mask = self._mask(seen, self._extra)
            mask = mask | seen.losses.isnan().any()  # so that NaN is passed on
            kept = mask.sum()
        self._last[0] = seen
        mask = mask[seen.begin : seen.begin + samples]
        # A dropped row may hold infinities, whose gradient would be 0 * inf: keep them out of the training loss.
        rows = torch.where(mask[:, None], logits, 0.0)
        losses = self._training.with_rivals(rows, targets, rival)
        value = torch.where(mask, losses, 0.0).sum() / kept.clamp(min=1)
        return value * ranks.world() if self._scope == "global" else value

    def _see(self, logits: Tensor, targets: Tensor, rival: Tensor) -> Seen:
        margins = margin_to(logits, targets, rival, wide=True)
        rank = self._ranking
        if isinstance(rank, MarginLoss):
            losses = rank.of_margin(margins)
        elif isinstance(rank, WeightedHingeLoss):
            losses = rank.with_rivals(widest(logits), targets, rival)
        else:
            losses = widest(rank.with_rivals(logits, targets, rival))
        if self._scope == "batch" or ranks.world() == 1:
            return Seen(margins, losses, targets, logits.shape[1], 0, logits.shape[0], self.selects)
        (everyones, losses, labels), begin = ranks.gather([margins, losses, targets.to(losses.dtype)])
        return Seen(everyones, losses, labels.to(targets.dtype), logits.shape[1], begin, logits.shape[0], self.selects)

    def _mask(self, seen: Seen, extra: bool) -> Tensor:
        if not seen.selects:
            return torch.ones_like(seen.losses, dtype=torch.bool)
        if self._balanced:
            return select_by_class(seen.losses, self._groups(seen), extra)
        return select(seen.losses, seen.margins < 0, self._bound, extra)

    def _groups(self, seen: Seen) -> Groups:
        wrong = (seen.margins < 0).to(seen.losses.dtype)
        return Groups.of(wrong, seen.labels if self._balanced else None, seen.classes, self._bound)

    def _bound(self, samples: Tensor, misclassified: Tensor) -> Tensor:
        if self._threshold.prior is not None:
            # Outside [0, 2 m] the partial optimisation is not defined.
            bound = torch.as_tensor(self._threshold.prior(samples, misclassified), dtype=samples.dtype, device=samples.device)
            return bound.clamp(min=0).minimum(2 * samples)
        a, b = self._numbers[:2].unbind() if is_compiling() else self._threshold.slopes
        return a * samples + b * misclassified

    # ---- what was kept

    @property
    def kept(self) -> Kept:
        """What was kept of the last batch. Computed when asked for."""
        (last,) = self._last
        if last is None:
            raise RuntimeError("nothing was kept yet: kept describes the last batch that the loss was called with")
        if isinstance(last, HostStep):
            return self._kept_by_core(last)
        return self._kept(Seen.of_graph(*last) if isinstance(last, tuple) else last)

    def _kept_by_core(self, step: HostStep) -> Kept:
        mask, margins = torch.from_numpy(step.kept()), torch.from_numpy(step.margins())
        return Kept(
            mask=mask,
            margins=margins,
            count=torch.tensor(step.count),
            extra=torch.tensor(step.extra),
            misclassified=torch.tensor(step.misclassified),
            sum=torch.tensor(step.sum, dtype=torch.float64),
            objective=torch.tensor(step.objective, dtype=torch.float64),
            starved=~(mask & self._teaches(margins)).any() & (step.objective == step.objective),  # NaN: not starved but broken
        )

    @torch.no_grad()
    def _kept(self, seen: Seen) -> Kept:
        losses = seen.losses
        number = ~losses.isnan().any()
        mask = self._mask(seen, self._extra) & number
        without = self._mask(seen, False) & number
        sums = torch.where(without, losses, 0.0)
        if seen.selects:
            groups = self._groups(seen)
            empty = torch.zeros_like(groups.bounds)
            count = empty.scatter_add(0, groups.labels, without.to(losses.dtype))
            objective = empty.scatter_add(0, groups.labels, sums).maximum(groups.bounds - count).sum()
        else:
            objective = sums.sum()
        mine = slice(seen.begin, seen.begin + seen.samples)
        return Kept(
            mask=mask[mine],
            margins=seen.margins[mine],
            count=without.sum(),
            extra=(mask & ~without).any(),
            misclassified=(seen.margins < 0).sum(),
            sum=sums.sum(),
            objective=torch.where(number, objective, torch.nan),
            starved=number & ~(mask & self._teaches(seen.margins))[mine].any(),
        )

    def _teaches(self, margins: Tensor) -> Tensor:
        """Whether the training loss has a gradient at these margins; losses that are not base losses are assumed to have one everywhere."""
        loss = self._training
        if isinstance(loss, WeightedHingeLoss):
            return margins < 1
        if not isinstance(loss, MarginLoss):
            return torch.ones_like(margins, dtype=torch.bool)
        with torch.enable_grad():
            at = margins.clone().requires_grad_()
            (slope,) = torch.autograd.grad(loss.of_margin(at).sum(), at)
        return slope != 0

    # ---- pickling, copying and printing

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": [None]}  # the last batch is not part of the loss

    def extra_repr(self) -> str:
        """How it was made."""
        threshold = "function" if self._threshold.prior else repr(self._threshold.kind)
        number = "" if self._threshold.value is None else f", {'rate' if self._threshold.has_rate else 'c'}={written(self._threshold.value)}"
        return (
            f"{threshold}{number}, rank={self._ranking.name!r}, train={self._training.name!r}, extra={self._extra}, "
            f"balanced={self._balanced}, burn_in={self.burn_in}, scope={self._scope!r}"
        )


@dataclass(frozen=True)
class Seen:
    """The inputs of a selection; with ``scope="global"`` of all processes."""

    margins: Tensor
    losses: Tensor
    labels: Tensor
    classes: int
    begin: int  #: position of this process's first sample
    samples: int  #: number of this process's samples
    selects: bool

    @staticmethod
    def of_graph(samples: Tensor, labels: Tensor, classes: int, selects: bool) -> Seen:
        """From what a compiled graph leaves behind."""
        margins, losses = samples.view(2, labels.shape[0])
        return Seen(margins, losses, labels, classes, 0, labels.shape[0], selects)


#: The arguments of :meth:`Seen.of_graph`. A compiled graph takes microseconds to make an object of a class, and for every output tensor.
FromGraph = tuple[Tensor, Tensor, int, bool]
