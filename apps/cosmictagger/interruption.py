"""Ctrl-C and SIGTERM, noticed between steps: the run saves itself and ends. A second one ends it at once.

Python drops a KeyboardInterrupt that is raised inside a weak reference callback or a finalizer. Loops that call
libraries with many of these, such as h5py, note the signal instead and check for it themselves.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupted(Exception):
    """A run that was asked to stop and has saved itself.

    Args:
        number: the signal.
        step: weight updates that were done.
    """

    def __init__(self, number: int, step: int) -> None:
        super().__init__(f"{signal.Signals(number).name} at step {step}")
        self.number = number
        self.step = step


class Interruption:
    """While it lasts, signals are noted instead of followed.

    Attributes:
        signal: the one that came, or 0.
    """

    def __init__(self) -> None:
        self.signal = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raise what the noted signal stands for, if there is one.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
            SystemExit: another signal asked to stop.
        """
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        if self.signal:
            raise SystemExit(128 + self.signal)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal:
            raise KeyboardInterrupt
        self.signal = number
