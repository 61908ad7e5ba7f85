"""The bar that shows how far a compilation is, and the time that the compilation took."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from typing import Any

from tremula import log
from tremula.progress import BarStream

_LAYOUT = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}]"


class ProgressBar:
    """Called with (steps done, steps in all) while a model compiles; `compilation_time` is None before the first."""

    def __init__(self) -> None:
        self.compilation_time: datetime.timedelta | None = None
        self._start: datetime.datetime | None = None
        self._bar: Any = None
        self._done = 0
        self._is_drawn = False

    def __call__(self, progress: int, total: int) -> None:
        now = datetime.datetime.now()
        if self._bar is not None and progress < self._done:
            self._finish()  # an earlier compilation broke off
        if self._bar is None or self._start is None:
            import tqdm  # not everybody wants a bar

            self._start = now
            self._done = 0
            stream = BarStream(sys.stderr)
            self._bar = tqdm.tqdm(desc="Graph compilation", total=total, bar_format=_LAYOUT, file=stream)
            log.add_line_hook(self._make_way)
        self._bar.update(progress - self._done)
        self._is_drawn = True
        self._done = progress
        self.compilation_time = now - self._start
        if progress >= total:
            self._finish()

    def abandon(self) -> None:
        """The compilation failed: leave the bar where it is and be ready for the next one."""
        if self._bar is not None:
            self._finish()

    def _finish(self) -> None:
        self._bar.close()
        self._bar = None
        self._is_drawn = False
        log.remove_line_hook(self._make_way)

    def _make_way(self) -> None:
        # A log line would land behind the bar: wipe the bar, the next step draws it again.
        if self._is_drawn:
            self._bar.clear()
            self._is_drawn = False

    def __getstate__(self) -> dict[str, Any]:
        # A bar on the screen belongs to this process and cannot be copied or sent elsewhere.
        return {**self.__dict__, "_bar": None, "_start": None, "_done": 0, "_is_drawn": False}

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class CompileProgress:
    """A context for one compilation: what it gives is called with the per cent that are done."""

    def __init__(self, bar: ProgressBar | None) -> None:
        self._bar = bar

    def __enter__(self) -> Callable[[int], None]:
        self._advance(0)
        return self._advance

    def __exit__(self, error_type: object, *_rest: object) -> None:
        if error_type is not None and self._bar is not None:
            self._bar.abandon()

    def _advance(self, percent: int) -> None:
        if self._bar is not None:
            self._bar(percent, 100)
