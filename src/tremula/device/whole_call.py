"""Calls that signals do not cut in two.

Python runs the handler of a signal between two bytecodes. A handler that raises, as that of Ctrl-C does, would leave
half an update behind. Within a `WholeCall` handlers run as usual, but what they raise is kept until the call is
complete. A second Ctrl-C raises at once, for a call that takes too long.
"""

from __future__ import annotations

# `signal` looks up every number and handler in an enumeration, which takes longer than a small call
import _signal  # type: ignore[import-not-found]
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

#: signals whose handlers may raise. SIGALRM is not among them: it limits how long a call may take.
_SIGNALS = tuple(
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGBREAK")
    if hasattr(signal, name)
)
_MAIN = threading.main_thread().ident


class WholeCall:
    """A context for one call at a time; within another one, which waits already, it does nothing.

    Signals are handled by the main thread: in other threads there is nothing to keep.
    """

    #: the one that keeps signals now
    _active: WholeCall | None = None

    def __init__(self) -> None:
        #: number, handler, and what stands in its place
        self._replaced: list[tuple[int, Any, Any]] = []
        self._raised: BaseException | None = None

    def __enter__(self) -> None:
        if WholeCall._active is not None or threading.get_ident() != _MAIN:
            return
        WholeCall._active = self
        try:
            for number in _SIGNALS:
                handler = _signal.getsignal(number)
                if callable(handler):
                    kept = self._kept(handler)
                    self._replaced.append((number, handler, kept))
                    _signal.signal(number, kept)
        except BaseException:  # a handler raised before it was replaced
            self._restore()
            raise

    def __exit__(
        self, _kind: type[BaseException] | None, problem: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if WholeCall._active is not self:
            return
        try:
            self._restore()
        finally:
            self._restore()  # again, if a handler that was restored has raised
            raised, self._raised = self._raised, None
        if raised is not None and raised is not problem:
            raise raised

    def _kept(
        self, handler: Callable[[int, FrameType | None], Any]
    ) -> Callable[[int, FrameType | None], None]:
        def keep(number: int, frame: FrameType | None) -> None:
            try:
                handler(number, frame)
            except BaseException as raised:
                if self._raised is not None and number == signal.SIGINT:
                    raise  # the user does not want to wait
                self._raised = self._raised or raised

        return keep

    def _restore(self) -> None:
        while self._replaced:
            number, handler, kept = self._replaced[-1]
            if _signal.getsignal(number) is kept:
                _signal.signal(number, handler)  # unless the program has set another one meanwhile
            self._replaced.pop()
        WholeCall._active = None
