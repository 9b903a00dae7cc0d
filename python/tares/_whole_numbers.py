"""Arguments that are whole numbers, checked before the core is called."""

from __future__ import annotations

from numbers import Integral
from typing import Any


def whole_number(value: Any, what: str, least: int, most: int = 2**32 - 1) -> int:
    """The number, or an error that says what is allowed and what came."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{what} must be a whole number, got {value!r}")
    number = int(value)
    if not least <= number <= most:
        raise ValueError(f"{what} must be a whole number from {least} to {most}, got {number}")
    return number
