"""Where Algorithm 1's threshold C comes from: E, Q, NPCL fixed or adaptive, or your own function."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from .name import number, unknown
from .sample_loss import written

#: Your own threshold: from the number of samples m and of misclassified ones e (tensors of one element, or of one per class) to C.
Prior = Callable[[Tensor, Tensor], "Tensor | float"]

KINDS = ("e", "q", "npcl-fixed", "npcl", "custom")


@dataclass(frozen=True)
class Threshold:
    """``C`` of a batch with m samples, e of them misclassified, for the noise rate r.

    ============== ====================================================
    e              ``m``, the paper's E
    q              ``m + e``, the paper's Q ("CL" in its tables)
    npcl-fixed     ``(1 - r) m``
    npcl           ``(1 - r)^2 m + (1 - r) e``, adaptive: the default
    custom         ``c m`` with c in [0, 2], or a function of m and e
    ============== ====================================================
    """

    kind: str
    value: float | None = None
    prior: Prior | None = None

    @staticmethod
    def read(threshold: str | float | Prior, rate: float | None) -> Threshold:
        """The threshold of :class:`CurriculumLoss`'s arguments."""
        if callable(threshold):
            return Threshold("custom", prior=threshold)._without(rate)
        if isinstance(threshold, (int, float)) and not isinstance(threshold, bool):
            return Threshold("custom", float(threshold)).check()._without(rate)
        if not isinstance(threshold, str):
            raise TypeError(f"threshold must be a name, a number or a function of m and e, got {type(threshold).__name__}")
        kind, _, text = threshold.strip().partition(":")
        if kind not in KINDS:
            raise ValueError(unknown("threshold", kind, list(KINDS)))
        value = number(text, threshold) if text else None
        if kind in ("e", "q"):
            if value is not None:
                raise ValueError(f"threshold {kind} must be written without a parameter, got {text}")
            return Threshold(kind)._without(rate)
        if kind == "custom":
            if value is None:
                raise ValueError("parameter of threshold custom must be a number, as in custom:0.5, got none")
            return Threshold(kind, value).check()._without(rate)
        if value is not None and rate is not None:
            raise ValueError(f"the noise rate must be given once, got {threshold!r} and rate={rate}")
        if value is None and rate is None:
            raise ValueError(f"threshold {kind} needs the noise rate: CurriculumLoss({kind!r}, rate=0.2)")
        return Threshold(kind, float(rate) if rate is not None else value).check()

    def _without(self, rate: float | None) -> Threshold:
        if rate is not None:
            raise ValueError(f"threshold {self.kind} takes no noise rate, got rate={rate}")
        return self

    def check(self) -> Threshold:
        """Checks its number and returns itself."""
        value = math.nan if self.value is None else self.value
        if self.has_rate and not 0 <= value <= 1:
            raise ValueError(f"noise rate must be in [0, 1], got {written(value)}")
        if self.kind == "custom" and self.prior is None and not 0 <= value <= 2:
            raise ValueError(f"custom threshold per sample must be in [0, 2], got {written(value)}")
        return self

    @property
    def has_rate(self) -> bool:
        """Whether it depends on the noise rate."""
        return self.kind in ("npcl", "npcl-fixed")

    @property
    def slopes(self) -> tuple[float, float]:
        """``(a, b)`` with ``C = a m + b e``: every named threshold has this form."""
        left = 1 - (self.value or 0.0)
        if self.kind == "npcl":
            return left * left, left
        if self.kind == "npcl-fixed":
            return left, 0.0
        return (1.0, float(self.kind == "q")) if self.kind in ("e", "q") else (self.value or 0.0, 0.0)

    def __str__(self) -> str:
        """As files write it."""
        return self.kind if self.value is None else f"{self.kind}:{written(self.value)}"
