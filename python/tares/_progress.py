"""A progress bar for long calls, if tqdm is installed."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

#: Called with what is being done, steps done, all steps.
Hear = Callable[[str, int, int], None]


class Bar:
    """One bar after the other, one per stage of a call. ``shown``: True, False, or ``None`` for "in a terminal or a notebook"."""

    def __init__(self, shown: bool | None) -> None:
        self._make = None if shown is False else _tqdm(shown)
        self._bar: Any = None
        self._stage = ""

    def __enter__(self) -> Hear | None:
        return None if self._make is None else self._hear

    def _hear(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self._close()
            self._bar, self._stage = self._make(stage, total), stage  # type: ignore[misc]
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close()


def _tqdm(shown: bool | None) -> Callable[[str, int], Any] | None:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    # Stages of less than a second show nothing; without a terminal there is no bar unless the caller wants one.
    return lambda stage, total: tqdm(desc=stage, total=total, leave=False, delay=1, disable=None if shown is None else False)
