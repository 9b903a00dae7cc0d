"""Two pandas objects of the same rows are paired by position, so their indexes must not say that they are in another order."""

from __future__ import annotations

from typing import Any

from tares._inputs import index_of, module_of


def refuse_other_rows(first: Any, what: str, second: Any, other: str) -> None:
    """Raises ``ValueError`` if the indexes hold the same ids in another order, or different ids."""
    a, b = _index(first), _index(second)
    if a is None or b is None or len(a) != len(b) or a.equals(b) or a.tolist() == b.tolist():
        return
    if a.isin(b).all() and b.isin(a).all():
        raise ValueError(
            f"{other} must have its rows in the order of {what}, got the same ids in another order: "
            f"use {other}.loc[{what}.index], or reset_index(drop=True) on both if they do stand in one order"
        )
    # An index that only counts holds no ids.
    if index_of(first) is None or index_of(second) is None:
        return
    place = next(place for place, (one, two) in enumerate(zip(a.tolist(), b.tolist())) if one != two)
    raise ValueError(
        f"{other} must have the ids of {what}, got {b[place]!r} where {what} has {a[place]!r}, at row {place}: "
        "use reset_index(drop=True) on both if they do stand in one order"
    )


def _index(values: Any) -> Any | None:
    return values.index if module_of(values) == "pandas" and hasattr(values, "iloc") else None
