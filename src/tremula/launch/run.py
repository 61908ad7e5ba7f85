"""A run of instances: the parts shared by both launch methods, signals to the launcher, and failure reports."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tremula.formatting import plain
from tremula.launch import processes
from tremula.launch.check import Plan
from tremula.launch.logger import Logger
from tremula.launch.output import Pump, Tail
from tremula.launch.output_stream import OutputStream
from tremula.launch.placement import Instance
from tremula.launch.reservation import Devices

#: time that instances have to end after they were asked to; then they are killed
GRACE_SECONDS = 3.0
#: interval between checks of the instances
POLL_SECONDS = 0.02
#: signals within this time count as one
_SAME_MOMENT_SECONDS = 0.1
#: time that the reader of our output has for the rest of it after an interrupt
_LAST_OUTPUT_SECONDS = 1.0
#: exit code that a shell reports for a program whose reader has exited
BROKEN_PIPE = 141

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WRAPPER = Path(__file__).with_name("instance.py")


class SignalHandler:
    """Records signals: the first one asks for an orderly end, a second one kills at once.

    Signals at the same moment count as one, because `pkill -f` reaches both processes of the launcher.
    """

    def __init__(self, kill: Callable[[], None]) -> None:
        self._kill = kill
        self._hangup_ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN  # nohup
        self._first_at = 0.0
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
        """Handle a signal that another handler received."""
        now = time.monotonic()
        if self.first is None:
            self.first, self._first_at = number, now
        elif now - self._first_at > _SAME_MOMENT_SECONDS:
            self._kill()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self.record(signal.Signals(number))


@dataclass(frozen=True)
class Run:
    """A run that is being started."""

    plan: Plan
    devices: Devices
    logger: Logger
    out: OutputStream
    err: OutputStream

    def wrapped(self, instance: Instance, *, parent: int, stdin: bool) -> list[str]:
        """The command line of an instance: the wrapper, its settings, and the program."""
        settings, layout = self.plan.settings, self.plan.layout
        return [
            *(sys.executable, "-I", "-S", str(WRAPPER)),
            f"parent={parent}",
            f"stdin={int(stdin)}",
            f"share={layout.instances_per_host}",
            f"local={instance.local_index}",
            f"numa={int(settings.numa_aware)}",
            "--",
            *settings.command,
        ]

    def shows(self, instance: int, *, stdout: bool) -> bool:
        """Whether a stream of an instance is shown."""
        settings = self.plan.settings
        if settings.only_output_from_instance is not None:
            return instance == settings.only_output_from_instance
        if settings.only_stdout_from_instance is not None and stdout:
            return instance == settings.only_stdout_from_instance
        return True

    def clear_up(self, pump: Pump, signals: SignalHandler) -> None:
        """End what instances left behind, and show the last of their output, for as long as its reader takes."""
        at_once = signals.first is not None
        left = processes.end_descendants(grace=0) if at_once else processes.end_descendants()
        if left:
            self.logger.info(f"Ended {left} remaining process(es) of the instances")
        while not pump.finish(POLL_SECONDS):
            if signals.first is not None:
                pump.finish(_LAST_OUTPUT_SECONDS)
                return


def exit_code(code: int) -> int:
    """The exit code for an ended process: 128 plus the signal if a signal ended it."""
    return 128 - code if code < 0 else code


def ending(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"failed with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    aside = " (possibly because the system ran out of memory)" if name == "SIGKILL" else ""
    return f"was ended by {name}{aside}"


def report_failure(logger: Logger, instance: int, code: int, tail: Tail | None, stopped: int = 0) -> None:
    """Report which instance failed and how, with its last lines and the number of other instances stopped."""
    aside = f"; {stopped} other(s) stopped because of it" if stopped else ""
    lines = tail.lines() if tail is not None else []
    text = f"Instance {instance} {ending(code)}{aside}."
    if not lines:
        logger.error(f"{text} It wrote no output.")
        return
    shown = "\n".join(f"    | {plain(line, 500, lines=False)}" for line in lines)
    logger.error(f"{text} Its last lines:\n{shown}")
