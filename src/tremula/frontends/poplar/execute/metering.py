"""What engines add to the record of this process, to the trace of the host, and to the counters of virtual IPUs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from tremula.device.tracing import call_ran
from tremula.frontends.poplar.devices import Device
from tremula.machine.attach import Attachment
from tremula.machine.counters import Meter
from tremula.telemetry import ledger
from tremula.trace import channels
from tremula.trace.names import COMPILE
from tremula.trace.points import Span


class RunMeter:
    """Counts the compilation and the runs of one engine."""

    def __init__(self, name: str, ipus: int) -> None:
        self._label = name or "Poplar program"
        self._ipus = ipus
        self._entry = ledger.wrapped("poplar.Engine", self._label)
        self._entry.never_ran = "was made and never run"
        self._attachment: Attachment | None = None
        self._meter: Meter | None = None
        self._runs = 0

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """Count a compilation."""
        started = time.perf_counter()
        try:
            with Span(channels.poplar, COMPILE, {"program": self._label}):
                yield
        except Exception:
            self._entry.failed()
            raise
        self._entry.compiled(time.perf_counter() - started, self._ipus)

    def attached(self, device: Device) -> None:
        """The program is on a device."""
        self._attachment = device.attachment
        self._meter = None if self._attachment is None else self._attachment.meter
        if self._meter is not None:
            self._meter.loaded(model=self._label)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Count a run; fail first if a fault of the device was asked for and it is time for it."""
        if self._attachment is not None:
            self._attachment.about_to_run()
        began, started = time.perf_counter_ns(), time.perf_counter()
        yield
        seconds = time.perf_counter() - started
        if channels.poplar.on:
            call_ran(self._label, began, None)
        self._entry.executed(1, 0, seconds)
        if not self._runs:
            self._entry.first_call(0, seconds)
        self._runs += 1
        if self._meter is not None:
            self._meter.called(seconds)
