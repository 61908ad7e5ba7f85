"""Signals to the launcher: the first one asks for an orderly end, the second one kills at once."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SignalHandler:
    """Records which signal came first, and calls `kill` when a second one comes."""

    def __init__(self, kill: Callable[[], None]) -> None:
        self._kill = kill
        self._hangup_ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN  # nohup
        self.first: signal.Signals | None = None

    def install(self) -> None:
        """Handle signals from now on, instead of earlier handlers."""
        for number in SIGNALS:
            ignored = number == signal.SIGHUP and self._hangup_ignored
            signal.signal(number, signal.SIG_IGN if ignored else self._handle)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)

    def ignore(self) -> None:
        """Ignore signals: nothing is left to interrupt."""
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def record(self, number: signal.Signals) -> None:
        """Take a signal that another handler received."""
        if self.first is None:
            self.first = number
        else:
            self._kill()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self.record(signal.Signals(number))
