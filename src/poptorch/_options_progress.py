"""The bar that shows how far a compilation is, and the time that the compilation took."""

from __future__ import annotations

import datetime
import sys
from typing import Any

import tqdm

_LAYOUT = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}]"


class ProgressBar:
    """Called with (steps done, steps in all) while a model compiles.

    Attributes:
        compilation_time: how long the last compilation took so far, None before the first.
    """

    def __init__(self) -> None:
        self.compilation_time: datetime.timedelta | None = None
        self._start: datetime.datetime | None = None
        self._bar: Any = None
        self._done = 0

    def __call__(self, progress: int, total: int) -> None:
        now = datetime.datetime.now()
        if self._bar is None or self._start is None:
            self._start = now
            self._done = 0
            self._bar = tqdm.tqdm(desc="Graph compilation", total=total, bar_format=_LAYOUT, file=sys.stderr)
        self._bar.update(progress - self._done)
        self._done = progress
        self.compilation_time = now - self._start
        if progress >= total:
            self._bar.close()
            self._bar = None

    def abandon(self) -> None:
        """The compilation failed: leave the bar where it is and start afresh next time."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __getstate__(self) -> dict[str, Any]:
        # A bar on the screen belongs to this process and cannot be copied or sent elsewhere.
        return {**self.__dict__, "_bar": None, "_start": None, "_done": 0}

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
