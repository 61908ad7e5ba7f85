"""The device under test of a test tool, and the results of the test.

During a test the device is attached as for any program, so gc-monitor shows it, and simulated faults (GCDA_OPTIONS)
make the test fail. Measured figures are those of this host. Modelled figures of the hardware are listed separately,
with their source.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tremula.hardware import catalogue
from tremula.machine.attach import Attachment
from tremula.machine.device_ids import Device
from tremula.machine.occupancy import Occupancy
from tremula.tools import tool


def test_parser(name: str, description: str) -> argparse.ArgumentParser:
    """A command line with the options that all tests of a device have."""
    made = tool.parser(name, description)
    tool.add_device(made)
    tool.add_json(made)
    return made


@dataclass
class DeviceTest:
    """A device under test."""

    occupancy: Occupancy  #: the partition that it is a part of
    device: Device  #: which it is
    attachment: Attachment  #: the hold on it

    @contextlib.contextmanager
    def use(self, *, sent: int = 0, fetched: int = 0) -> Iterator[Stopwatch]:
        """One use of the device. It is timed and counted, and may fail with a simulated fault."""
        self.attachment.about_to_run()
        watch = Stopwatch()
        begin = time.perf_counter()
        try:
            yield watch
        finally:
            watch.seconds = max(time.perf_counter() - begin, 1e-9)
            if self.attachment.meter is not None:
                self.attachment.meter.called(watch.seconds, sent=sent, fetched=fetched)


@dataclass
class Stopwatch:
    """How long a use took."""

    seconds: float = 0.0


@contextlib.contextmanager
def under_test(device_id: int) -> Iterator[DeviceTest]:
    """Attach to the device. Raises Error if it does not exist or is in use."""
    occupancy = tool.occupancy()
    device = tool.device_of(occupancy, device_id)
    attachment = Attachment(len(device.ipus), device_id=device.id, hardware=True)
    attachment.attach()
    try:
        yield DeviceTest(occupancy, device, attachment)
    finally:
        attachment.detach()


@dataclass
class Findings:
    """The results of a test: documented values, and the sources of figures."""

    #: the documented ones; measured where they are figures
    values: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, float] = field(default_factory=dict)  #: figures of this host, by name with the unit
    #: figures of the modelled hardware, with their source
    modelled: dict[str, tuple[float, str]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """As JSON data, measured and modelled figures apart."""
        modelled = {
            name: {"value": value, "source": source} for name, (value, source) in self.modelled.items()
        }
        return {**self.values, "virtual": True, "measured": self.measured, "modelled": modelled}

    def show(self, given: argparse.Namespace, *head: str, passed: bool | None = None) -> int:
        """Print JSON, or `head`, the figures and the result; the exit code."""
        if given.json_output:
            tool.write_json(self.as_json())
        else:
            result = [] if passed is None else [f"Result: {'Pass' if passed else 'FAIL'}"]
            print("\n".join([*head, *self.lines(), *result]))
        return 1 if passed is False else 0

    def lines(self) -> Iterator[str]:
        """For people."""
        for name, value in self.measured.items():
            yield f"  measured on this host   {name}: {_shown(value)}"
        for name, (value, source) in self.modelled.items():
            yield f"  modelled                {name}: {_shown(value)}"
            yield f"    from: {source}"


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000.0 else f"{value:.4g}"


def source(machine: str, number: str, kind: str = "machine") -> str:
    """Where a number of the hardware's data comes from."""
    return catalogue.sources(machine, kind).get(number, "file of your own")
