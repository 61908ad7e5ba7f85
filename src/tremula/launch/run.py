"""A run of instances: what both ways of starting them share."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from tremula.launch import processes
from tremula.launch.check import Plan
from tremula.launch.logger import Logger
from tremula.launch.output import Pump
from tremula.launch.output_stream import OutputStream
from tremula.launch.placement import Instance
from tremula.launch.reservation import Devices
from tremula.launch.signals import SignalHandler

#: how long instances may take to end when they are asked to; then they are killed
GRACE_SECONDS = 3.0
#: from one look at the instances to the next
POLL_SECONDS = 0.02
#: how long the reader of our output may take for the rest of it after an interrupt
_LAST_OUTPUT_SECONDS = 1.0
#: what a shell reports for a program whose reader was gone
BROKEN_PIPE = 141

WRAPPER = Path(__file__).with_name("instance.py")


@dataclass(frozen=True)
class Run:
    """A run that is being started."""

    plan: Plan
    devices: Devices
    logger: Logger
    out: OutputStream
    err: OutputStream

    def wrapped(self, instance: Instance, *, parent: int, stdin: bool) -> list[str]:
        """The words that start an instance: the wrapper, what it needs to know, and the program."""
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
        left = processes.end_descendants(at_once=signals.first is not None)
        if left:
            self.logger.info(f"Ended {left} process(es) that instances had left behind")
        while not pump.finish(POLL_SECONDS):
            if signals.first is not None:
                pump.finish(_LAST_OUTPUT_SECONDS)
                return
