"""The loss of the method ``tares``: cross-entropy against labels that are corrected by a memory of the network's own predictions."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .sample_loss import at_least_single

#: Answers are kept this far from 0, so that no class becomes impossible.
LEAST = 1e-4
#: Labels are memorised when more than this part, times 1 - 1/K, of what was learnt about the visible labels is not known about the hidden
#: ones (the more classes, the more wrong labels a poor network can see in its own mistakes) ...
MEMORISED = 0.6
#: ... and the difference exceeds this many standard errors.
ERRORS = 3.0
#: Unless labels are memorised, none is corrected by a network that knows less than this (0: chance, 1: all) about its unsure rows.
LEAST_KNOWN = 0.25
#: Fewer hidden rows per class than these tell nothing.
FEWEST = 10
#: The parts of the sure rows that may disagree less than all of them ...
SURER = (0.5, 0.2, 0.1)
#: ... by so many standard errors.
LOWER = 2.5


class MemoryLoss(nn.Module):
    """``mean_i -sum_c q_i(c) log p_i(c)`` with ``q_i(c) ~ t_i(c)^sharpness T[c][y_i]``: labels are corrected by remembered predictions.

    ``t_i`` is the moving average of the network's answers to row i. ``T[c][y]`` is the share of label y among the rows that the memory is
    surest are c, counted by :meth:`set_epoch`. In the burn-in all labels are believed, except that a tenth of the rows is not learnt from.
    Their labels tell when the network begins to memorise and whether it knows enough to correct labels, which both end the burn-in, and
    how often labels are wrong (``T`` is scaled to that). If neither is seen within ``decide`` of the epochs, or with fewer than ten such
    rows per class, labels are believed to the end: plain cross-entropy. The noise rate need not be known: with right labels this is plain
    cross-entropy, and rows whose label is rejected are trained on the remembered answer. Memory and ``T`` are buffers: they move with ``.to(device)`` and are part
    of ``state_dict``. In ``eval()`` the memory is not changed.

    Parameters
    ----------
    labels : Tensor
        ``[rows]``, the given label of every row of the training set.
    classes : int
        How many classes there are.
    epochs : int
        How many epochs will be trained.
    beta : float
        How long answers are remembered, in [0, 1).
    sharpness : float
        How much a remembered answer counts against a label in the end, at least 1.
    surest : float
        The fraction of each class's rows, surest first, on which mistakes are counted, in (0, 1].
    burn_in : float
        The fraction of the epochs after which the burn-in ends if the network knows enough, at least one epoch.
    known : float
        The part of what the network knows, above chance, about its surer hidden rows that it must know about the others.
    decide : float
        The fraction of the epochs after which a burn-in that has not ended lasts to the end, and hidden rows are learnt from.
    rise : float
        The fraction of the epochs, after the burn-in, in which the sharpness rises from 1.
    hidden : float
        The fraction of the rows, rounded down, that is not learnt from in the burn-in, in [0, 1). With 0 the burn-in lasts for
        ``burn_in`` of the epochs, whatever is known.
    seed : int
        Which rows are hidden.

    Examples
    --------
    >>> import torch
    >>> labels = torch.tensor([0, 0, 0, 1, 1, 1, 1])     # row 3 looks like class 0: its label is wrong
    >>> criterion = MemoryLoss(labels, classes=2, epochs=3, hidden=0.0)     # too few rows to hide some; the first epoch is the burn-in
    >>> logits = torch.tensor([[3.0, 0.0]] * 4 + [[0.0, 3.0]] * 3)
    >>> for epoch in range(3):
    ...     criterion.set_epoch(epoch)
    ...     loss = criterion(logits, torch.arange(7))
    >>> criterion.wrong().tolist()
    [False, False, False, True, False, False, False]
    """

    labels: Tensor
    memory: Tensor
    mistakes: Tensor
    gamma: Tensor
    hidden: Tensor
    burnt_in: Tensor
    disagreement: Tensor
    undecided: Tensor

    def __init__(
        self,
        labels: Tensor,
        classes: int,
        epochs: int,
        beta: float = 0.7,
        sharpness: float = 2.0,
        surest: float = 0.5,
        burn_in: float = 0.3,
        known: float = 0.5,
        decide: float = 0.6,
        rise: float = 0.3,
        hidden: float = 0.1,
        seed: int = 1,
    ) -> None:
        super().__init__()
        if not 0 <= beta < 1:
            raise ValueError(f"beta of a memory must be in [0, 1), got {beta}")
        if not (sharpness >= 1 and math.isfinite(sharpness)):
            raise ValueError(f"sharpness of a memory must be at least 1, got {sharpness}")
        if not 0 < surest <= 1:
            raise ValueError(f"surest of a memory must be in (0, 1], got {surest}")
        if epochs < 1:
            raise ValueError(f"epochs of a memory must be at least 1, got {epochs}")
        if not 0 <= hidden < 1:
            raise ValueError(f"hidden of a memory must be in [0, 1), got {hidden}")
        for name, part in (("burn_in", burn_in), ("known", known), ("decide", decide), ("rise", rise)):
            if not 0 <= part <= 1:
                raise ValueError(f"{name} of a memory must be in [0, 1], got {part}")
        if labels.dim() != 1 or labels.numel() == 0 or labels.is_floating_point():
            raise ValueError(f"labels must be a list of class numbers, got {tuple(labels.shape)} of {labels.dtype}")
        if classes < 2 or int(labels.min()) < 0 or int(labels.max()) >= classes:
            raise ValueError(f"labels must be in 0..{classes}, got {int(labels.min())} to {int(labels.max())}")
        self.epochs: int = int(epochs)
        self.beta: float = float(beta)
        self.sharpness: float = float(sharpness)
        self.surest: float = float(surest)
        self.burn_in: float = float(burn_in)
        self.known: float = float(known)
        self.decide: float = float(decide)
        self.rise: float = float(rise)
        self.hides: bool = hidden > 0
        self.register_buffer("labels", labels.detach().clone().long())
        self.register_buffer("memory", torch.zeros(labels.numel(), classes))
        #: T[true][given]; all NaN in the burn-in.
        self.register_buffer("mistakes", torch.full((classes, classes), math.nan))
        #: The sharpness of this epoch.
        self.register_buffer("gamma", torch.ones(()))
        order = torch.randperm(labels.numel(), generator=torch.Generator().manual_seed(seed))
        count = int(hidden * labels.numel())
        #: The rows that are not learnt from while it is undecided whether labels are corrected; none if they would tell nothing.
        self.register_buffer("hidden", (order < (count if count >= FEWEST * classes else 0)).to(labels.device))
        #: Whether hidden rows are not learnt from at present.
        self.register_buffer("undecided", torch.tensor(True))
        #: The epochs of the burn-in; -1 while it lasts.
        self.register_buffer("burnt_in", torch.tensor(-1))
        #: How often sure answers to hidden rows differed from their labels at its end.
        self.register_buffer("disagreement", torch.zeros(()))

    def set_epoch(self, epoch: int) -> None:
        """Ends the burn-in if there is a reason and counts anew how labels are mistaken; call it before every epoch, from 0."""
        if self.burnt_in < 0 and epoch > 0 and (disagreement := self._reason(epoch)) is not None:
            self.burnt_in.fill_(epoch)
            self.disagreement.fill_(disagreement)
        self.undecided.fill_(bool(self.burnt_in < 0) and epoch < self._after(self.decide))
        if self.burnt_in < 0:
            self.mistakes.fill_(math.nan)
            return
        risen = max(0, epoch - int(self.burnt_in)) / max(1.0, self.rise * self.epochs)
        self.gamma.fill_(1 + (self.sharpness - 1) * min(1.0, risen))
        classes = self.memory.shape[1]
        counts = torch.full_like(self.mistakes, 1 / classes) + torch.eye(classes, device=self.memory.device, dtype=self.memory.dtype)
        surest = self._surest(torch.ones_like(self.hidden))
        for truth, rows in enumerate(surest):
            counts[truth] += torch.bincount(self.labels[rows], minlength=classes)
        mistakes = counts / counts.sum(1, keepdim=True)
        # The same mistakes, as often as the hidden rows showed, but a label never says less than a guess.
        wrong = 1 - mistakes.diagonal()
        factor = float(self.disagreement) / self._disagreement(surest) if self.disagreement > 0 else 1.0
        more = torch.minimum(wrong * factor, wrong.clamp(min=1 - 1 / classes))
        mistakes = mistakes * (more / wrong)[:, None]
        self.mistakes.copy_(mistakes - torch.diag(mistakes.diagonal()) + torch.diag(1 - more))

    def forward(self, logits: Tensor, index: Tensor) -> Tensor:
        """The loss of a batch; remembers the answers.

        Parameters
        ----------
        logits : Tensor
            ``[batch, K]``.
        index : Tensor
            ``[batch]``, which rows of the training set these are, each at most once.
        """
        expected = (index.shape[0], self.memory.shape[1])
        if logits.shape != expected:
            raise ValueError(f"logits must have shape {expected}, one row per index and one column per class, got {tuple(logits.shape)}")
        logits = at_least_single(logits)
        with torch.no_grad():
            if self.training:
                answers = logits.softmax(1).clamp(min=LEAST).to(self.memory.dtype)
                answers = answers / answers.sum(1, keepdim=True)
                self.memory.index_copy_(0, index, self.beta * self.memory[index] + (1 - self.beta) * answers)
            beliefs = self.beliefs(index).to(logits.dtype)
            if self.undecided:  # q = p has no gradient
                beliefs = torch.where(self.hidden[index, None], logits.softmax(1), beliefs)
        return -(beliefs * logits.log_softmax(1)).sum(1).mean()

    def beliefs(self, index: Tensor | None = None) -> Tensor:
        """``[rows, K]``: what is believed about the true class of these rows (all, if none are named). In the burn-in, their labels."""
        rows = slice(None) if index is None else index
        labels = self.labels[rows]
        if self.mistakes.isnan().any():
            return nn.functional.one_hot(labels, self.memory.shape[1]).to(self.memory.dtype)
        likely = self._answers(rows).clamp(min=LEAST) ** self.gamma * self.mistakes.T[labels]
        return likely / likely.sum(1, keepdim=True)

    def wrong(self) -> Tensor:
        """``[rows]``: the labels that are more likely wrong than right."""
        return self.beliefs().gather(1, self.labels[:, None]).squeeze(1) < 0.5

    def rate(self) -> float:
        """The estimated noise rate: the mean belief that a label is wrong."""
        return float(1 - self.beliefs().gather(1, self.labels[:, None]).mean())

    def _answers(self, rows: slice | Tensor) -> Tensor:
        memory = self.memory[rows]
        total = memory.sum(1, keepdim=True)
        return torch.where(total > 0, memory / total.clamp(min=1e-30), torch.full_like(memory, 1 / memory.shape[1]))

    def _after(self, part: float) -> int:
        """So many of the epochs, at least one."""
        return max(1, math.floor(part * self.epochs + 0.5))

    def _reason(self, epoch: int) -> float | None:
        """If there is a reason to correct labels from this epoch on: how often they are wrong, as far as hidden rows tell (0 without them)."""
        burnt_in = self._after(self.burn_in)
        if not self.hides:
            return 0.0 if epoch >= burnt_in else None
        if epoch > self._after(self.decide) or not self.hidden.any():
            return None
        if self._memorises():
            return self._disagreement(self._surest(self.hidden))
        if epoch == burnt_in and self._knows():
            return self._least_disagreement()
        return None

    def _memorises(self) -> bool:
        """Whether visible labels are known much better than hidden ones."""
        known = self._answers(slice(None)).gather(1, self.labels[:, None]).squeeze(1)
        visible, hidden = known[~self.hidden], known[self.hidden]
        if min(len(visible), len(hidden)) < 2:
            return False
        gap = visible.mean() - hidden.mean()
        error = (visible.var(correction=0) / len(visible) + hidden.var(correction=0) / len(hidden)).sqrt()
        share = gap / (visible.mean() - self._chance()).clamp(min=1e-9)
        enough = MEMORISED * (1 - 1 / self.memory.shape[1])
        return bool(share > enough) and bool(gap > ERRORS * error.clamp(min=1e-9))

    def _chance(self) -> float:
        """How often a label drawn at random is the right guess of another."""
        shares = torch.bincount(self.labels, minlength=self.memory.shape[1]).double() / len(self.labels)
        return float(shares.square().sum())

    def _knows(self) -> bool:
        """Whether disagreement with labels means wrong labels, and not rows that are too hard for the network."""
        halves = [(rows[: (len(rows) + 1) // 2], rows[(len(rows) + 1) // 2 :]) for rows in self._surest(self.hidden, 1.0)]
        shares, squares = [], []
        for half in zip(*halves):
            right = sum(int((self.labels[rows] == truth).sum()) for truth, rows in enumerate(half))
            count = sum(len(rows) for rows in half) + 1
            share = (right + 0.5) / count
            shares.append(share)
            squares.append(share * (1 - share) / count)
        left = max(1 - self._chance(), 1e-9)
        sure, unsure = ((share - self._chance()) / left for share in shares)
        error = math.sqrt(squares[1] + self.known**2 * squares[0]) / left
        return unsure >= LEAST_KNOWN and sure > 0 and unsure - self.known * sure >= error

    def _least_disagreement(self) -> float:
        """The disagreement of the surest hidden rows, or of fewer of them that surely disagree less: hard rows are not wrong labels."""
        surest = self._surest(self.hidden)
        whole = least = self._disagreement(surest)
        rows = sum(map(len, surest))
        for part in SURER:
            surer = self._surest(self.hidden, self.surest * part)
            rate, count = self._disagreement(surer), sum(map(len, surer))
            if rate < whole - LOWER * math.sqrt(rate * (1 - rate) / (count + 1) * (1 - count / max(1, rows))):
                least = min(least, rate)
        return least

    def _surest(self, among: Tensor, part: float | None = None) -> list[Tensor]:
        """Per class, the surest rows that are remembered as it."""
        part = self.surest if part is None else part
        sure, best = self._answers(slice(None)).max(1)
        surest = []
        for truth in range(self.memory.shape[1]):
            rows = ((best == truth) & among).nonzero().squeeze(1)
            order = sure[rows].sort(descending=True, stable=True).indices[: math.ceil(part * len(rows))]
            surest.append(rows[order])
        return surest

    def _disagreement(self, surest: list[Tensor]) -> float:
        """How often labels differ from what is remembered; half a mistake in one row to begin with."""
        wrong = sum(int((self.labels[rows] != truth).sum()) for truth, rows in enumerate(surest))
        return (wrong + 0.5) / (sum(len(rows) for rows in surest) + 1)

    def extra_repr(self) -> str:
        """How it was made."""
        rows, classes = self.memory.shape
        return (
            f"rows={rows}, classes={classes}, epochs={self.epochs}, beta={self.beta}, sharpness={self.sharpness}, surest={self.surest}, "
            f"burn_in={self.burn_in}, known={self.known}, decide={self.decide}, rise={self.rise}, hidden={int(self.hidden.sum())}"
        )
