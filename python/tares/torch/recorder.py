"""Records a network's margins for every training row over the epochs: a wrong label keeps a low margin, because the other rows of the true
class pull the network away from it (the area under the margin, Pleiss et al. 2020)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from tares import _tares
from tares._inputs import as_values
from tares._table import Table

from .margin_losses import margin
from .sample_loss import at_least_single, check_batch


class Recorder(nn.Module):
    """Collects margins and times kept per training row, on the device of the logits; nothing is read back to the host before you ask.

    Its records are buffers: they move with ``.to(device)`` and are part of ``state_dict``, so a resumed run continues to count.

    Parameters
    ----------
    rows : int
        Size of the training set.

    Examples
    --------
    >>> import torch
    >>> recorder = Recorder(rows=4)
    >>> index, targets = torch.tensor([2, 0]), torch.tensor([1, 0])
    >>> recorder.see(index, torch.tensor([[3.0, 1.0], [2.0, 0.5]]), targets, kept=torch.tensor([False, True]))
    >>> recorder.mean_margin
    tensor([ 1.5000,     nan, -2.0000,     nan])
    >>> recorder.times_kept
    tensor([1, 0, 0, 0])
    """

    margin_sum: Tensor
    times_seen: Tensor
    times_kept: Tensor
    answer: Tensor

    def __init__(self, rows: int) -> None:
        super().__init__()
        if rows < 1:
            raise ValueError(f"rows must be at least 1, got {rows}")
        self.register_buffer("margin_sum", torch.zeros(rows))
        for counter in ("times_seen", "times_kept", "answer"):
            self.register_buffer(counter, torch.zeros(rows, dtype=torch.int64))

    @torch.no_grad()
    def see(self, index: Tensor, logits: Tensor, targets: Tensor, kept: Tensor | None = None) -> None:
        """Record one batch.

        Parameters
        ----------
        index : Tensor
            ``[batch]``, which rows of the training set these are, each at most once.
        logits, targets : Tensor
            ``[batch, K]`` and ``[batch]``, as the loss gets them.
        kept : Tensor, optional
            ``[batch]``, which of them were trained on: ``criterion.kept.mask``. Without it all were.
        """
        check_batch(logits, targets)
        if index.shape != targets.shape:
            raise ValueError(f"index must have shape {tuple(targets.shape)}, one per target, got {tuple(index.shape)}")
        ones = torch.ones_like(index)
        margins = margin(at_least_single(logits), targets)
        self.margin_sum.index_add_(0, index, margins.to(self.margin_sum.dtype))
        self.times_seen.index_add_(0, index, ones)
        self.times_kept.index_add_(0, index, ones if kept is None else kept.to(ones.dtype))
        self.answer.index_copy_(0, index, logits.argmax(1))

    def forward(self, index: Tensor, logits: Tensor, targets: Tensor, kept: Tensor | None = None) -> None:
        """:meth:`see`."""
        self.see(index, logits, targets, kept)

    @property
    def mean_margin(self) -> Tensor:
        """The mean margin of every row (AUM); NaN for rows never seen."""
        return self.margin_sum / self.times_seen

    def audit(self, labels: Any) -> HistoryAudit:
        """Finds the wrong labels by what was recorded; ``labels`` are in the order of the training set.

        Parameters
        ----------
        labels
            The given labels as class numbers: a list, array or tensor with one entry per row.
        """
        given = as_values(labels)
        if given.dtype.kind == "U":
            raise TypeError(f"labels must be class numbers, as the targets were, got names such as {str(given[0])!r}")
        if len(given) != len(self.margin_sum):
            raise ValueError(f"labels must have {len(self.margin_sum)} entries, one per row, got {len(given)}")
        return HistoryAudit(
            given.astype(np.int64),
            self.answer.cpu().numpy(),
            self.mean_margin.double().cpu().numpy(),
            self.times_seen.cpu().numpy(),
            self.times_kept.cpu().numpy(),
        )


class HistoryAudit:
    """Wrong labels by the margins of a training history, as in ``tares audit`` of a finished run. Rows never seen are left out."""

    def __init__(
        self,
        given: npt.NDArray[Any],
        answer: npt.NDArray[np.int64],
        mean_margin: npt.NDArray[np.float64],
        seen: npt.NDArray[np.int64],
        kept: npt.NDArray[np.int64],
    ) -> None:
        self._given, self._answer, self._seen, self._kept, self._margin = given, answer, seen, kept, mean_margin
        self._rows = np.flatnonzero(seen)
        self._rate, self._interval, self._wrong, self._score = _tares.from_margins(mean_margin[self._rows])

    @property
    def noise_rate(self) -> float:
        """The estimated share of wrong labels."""
        return self._rate

    @property
    def noise_rate_interval(self) -> tuple[float, float]:
        """The interval in which the share most likely lies."""
        return self._interval

    @cached_property
    def suspects(self) -> Table:
        """The labels that are probably wrong, worst first: the network learnt them late or never, and predicts another class.

        Columns: ``row``, ``given``, ``suggested`` (the network's last answer), ``score`` (0 is certainly wrong), ``mean_margin``,
        ``times_kept``, ``times_seen``.
        """
        rows = self._rows
        found = np.flatnonzero((self._wrong >= 0.5) & (self._answer[rows] != self._given[rows]))
        found = found[np.argsort(self._margin[rows[found]], kind="stable")]
        row = rows[found]
        return Table(
            {
                "row": row,
                "given": self._given[row],
                "suggested": self._answer[row],
                "score": self._score[found],
                "mean_margin": self._margin[row],
                "times_kept": self._kept[row],
                "times_seen": self._seen[row],
            }
        )

    @cached_property
    def is_suspect(self) -> npt.NDArray[np.bool_]:
        """For every row: is its label a suspect?"""
        mask = np.zeros(len(self._given), dtype=np.bool_)
        mask[self.suspects["row"]] = True
        return mask

    @cached_property
    def corrected(self) -> npt.NDArray[np.int64]:
        """The labels, with all suggestions taken."""
        corrected = self._given.copy()
        corrected[self.suspects["row"]] = self.suspects["suggested"]
        return corrected

    def to_pandas(self) -> Any:
        """The suspects as a pandas frame."""
        return self.suspects.to_pandas()

    def to_polars(self) -> Any:
        """The suspects as a polars frame."""
        return self.suspects.to_polars()

    def to_arrow(self) -> Any:
        """The suspects as an Arrow table."""
        return self.suspects.to_arrow()

    def __len__(self) -> int:
        return len(self.suspects)

    def __repr__(self) -> str:
        low, high = self._interval
        return (
            f"HistoryAudit({len(self._rows)} rows, {len(self.suspects)} suspects, "
            f"noise rate {self._rate:.3f} [{low:.3f}, {high:.3f}])"
        )
