"""Losses by name, as the program and its files write them: ``hinge``, ``weighted:0.3``, ``gce:0.7``, ``truncated-gce:0.7:0.5``."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from .margin_losses import (
    HingeLoss,
    LogisticLoss,
    SavageLoss,
    SigmoidLoss,
    SoftHingeLoss,
    SquaredHingeLoss,
    TruncatedHingeLoss,
    WeightedHingeLoss,
)
from .probability_losses import CrossEntropyLoss, GCELoss, MAELoss, SymmetricCELoss, TruncatedGCELoss
from .sample_loss import SampleLoss

# Name -> class, and how many numbers may follow the name.
LOSSES: dict[str, tuple[Callable[..., SampleLoss], tuple[int, ...]]] = {
    "hinge": (HingeLoss, (0,)),
    "soft-hinge": (SoftHingeLoss, (0,)),
    "weighted": (WeightedHingeLoss, (1,)),
    "squared-hinge": (SquaredHingeLoss, (0,)),
    "logistic": (LogisticLoss, (0,)),
    "sigmoid": (SigmoidLoss, (0,)),
    "savage": (SavageLoss, (0,)),
    "truncated-hinge": (TruncatedHingeLoss, (0, 1)),
    "cross-entropy": (CrossEntropyLoss, (0,)),
    "gce": (GCELoss, (0, 1)),
    "truncated-gce": (TruncatedGCELoss, (0, 2)),
    "mae": (MAELoss, (0,)),
    "symmetric-ce": (SymmetricCELoss, (0, 2)),
}

#: Those that the compiled core can rank by and train: its base losses.
IN_THE_CORE = frozenset(
    ("hinge", "soft-hinge", "weighted", "squared-hinge", "logistic", "sigmoid", "savage", "truncated-hinge")
)


def sample_loss(loss: str | SampleLoss, reduction: str = "mean") -> SampleLoss:
    """The loss with this name; a loss that is a :class:`SampleLoss` already is returned as it is.

    Examples
    --------
    >>> sample_loss("gce:0.5")
    GCELoss('gce:0.5', reduction='mean')
    >>> sample_loss("hinges")
    Traceback (most recent call last):
    ValueError: unknown loss 'hinges': did you mean hinge?
    """
    if isinstance(loss, SampleLoss):
        return loss
    if not isinstance(loss, str):
        raise TypeError(f"a loss must be a name or a tares.torch.SampleLoss, got {type(loss).__name__}")
    name, *parts = loss.strip().split(":")
    if name not in LOSSES:
        raise ValueError(unknown("loss", name, list(LOSSES)))
    kind, numbers_allowed = LOSSES[name]
    numbers = [number(part, loss) for part in parts]
    if len(numbers) not in numbers_allowed:
        many = " or ".join(str(count) for count in numbers_allowed)
        raise ValueError(f"numbers of loss '{name}' must be {many}, as in {example(name)}, got {loss!r}")
    return kind(*numbers, reduction=reduction)


def number(text: str, whole: str) -> float:
    """A number out of a name, or an error that shows both."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"number in '{whole}' must be like 0.7, got {text!r}") from None


def unknown(what: str, name: str, known: list[str]) -> str:
    """The message about an unknown name."""
    near = difflib.get_close_matches(name, known, 1)
    return f"unknown {what} '{name}': " + (f"did you mean {near[0]}?" if near else f"one of {', '.join(known)}")


def example(name: str) -> str:
    """A name as it is written with its numbers."""
    most = LOSSES[name][1][-1]
    return ":".join([name, *("2" if name == "truncated-hinge" else "0.5" for _ in range(most))])
