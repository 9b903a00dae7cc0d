"""Which class each column of ``probs`` is of: by ``classes``, by the names of a frame's columns, or by its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tares._inputs import Labels, as_array, as_values, code_labels, index_of, shape_of, whole

Names = npt.NDArray[Any]


def match_columns(labels: Any, count: int, columns: Names | None, classes: Any, what: str = "labels") -> Labels:
    """Labels whose codes are the numbers of the ``count`` columns of ``probs``; ``columns`` are the names that a frame gives them."""
    values = as_values(labels, what)
    known: Names | None = None
    if classes is not None:
        known = whole(as_array(classes, "classes"), "classes")
        if known.ndim != 1 or len(known) != count:
            raise ValueError(f"classes must name the {count} columns of probs, got {shape_of(known)}")
        if len(set(known.tolist())) != len(known):
            raise ValueError("classes must differ from each other")
    if columns is not None:
        refuse_contradiction(columns, known)
        known = named_classes(values.dtype.kind, columns) if known is None else known
    return code_labels(values, count if known is None else known, index_of(labels), what)


def named_classes(kind: str, columns: Names) -> Names | None:
    """The classes that the columns of a frame are named after, for labels of this kind; ``None`` if their places count."""
    if kind == "U":
        return None if _only_counts(columns) else np.array([str(name) for name in columns.tolist()], dtype=np.str_)
    numbers = [_number(name) for name in columns.tolist()]
    if any(number is None for number in numbers) or numbers == list(range(len(numbers))):
        return None
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"columns of probs must have different names, got {_first_twice(numbers)} twice")
    if kind == "b" and sorted(numbers) == [0, 1]:  # type: ignore[type-var]
        return np.array(numbers, dtype=np.bool_)
    return np.array(numbers, dtype=np.int64)


def refuse_contradiction(columns: Names, classes: Names | None) -> None:
    """Raises ``ValueError`` if names repeat, or if ``classes`` says something else about a column than its name."""
    texts = [str(name) for name in columns.tolist()]
    if len(set(texts)) < len(texts):
        raise ValueError(f"columns of probs must have different names, got {_first_twice(texts)!r} twice")
    if classes is None or _only_counts(columns):
        return
    said = [str(name) for name in classes.tolist()]
    for place, name in enumerate(said):
        if name in texts and texts[place] != name:
            raise ValueError(
                f"classes must name the columns of probs in their order, got {name!r} for the column {texts[place]!r}: "
                "leave classes out, or put the columns into the order of classes"
            )
    numbers = [_number(name) for name in columns.tolist()]
    if said != texts and None not in numbers and set(numbers) == set(range(len(numbers))) and numbers != sorted(numbers):  # type: ignore[type-var]
        raise ValueError(
            f"classes must name the columns of probs in their order, but the columns are numbered {', '.join(texts[:10])}: "
            "put them in order first"
        )


def _only_counts(columns: Names) -> bool:
    """Whether names are those that a library gives to columns without names, in order."""
    count = range(len(columns))
    listed: list[Any] = columns.tolist()
    return listed in (list(count), [f"column_{place}" for place in count])


def _number(name: Any) -> int | None:
    """The whole number that a name is; True is 1 and False 0."""
    if isinstance(name, str):
        name = {"true": "1", "false": "0"}.get(name.strip().lower(), name.strip())
        digits = name[1:] if name[:1] in ("+", "-") else name
        number = int(name) if digits.isascii() and digits.isdigit() else None
    else:
        number = int(name) if isinstance(name, (int, float, np.integer, np.floating, np.bool_)) and float(name).is_integer() else None
    return number if number is not None and abs(number) < 2**63 else None


def _first_twice(values: list[Any]) -> Any:
    seen: set[Any] = set()
    return next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value]
