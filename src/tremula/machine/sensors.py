"""Modelled sensors of virtual IPUs: power and temperatures as their boards would show them.

Nothing is measured here: a reading lies between what gc-monitor printed on real machines at rest and under load
(`hardware/data/machines`), in proportion to how busy the IPU is. Where no such figure is published there is no
reading, and tools write N/A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tremula.hardware.machine import Machine
from tremula.hardware.system import System
from tremula.settings.environment import env
from tremula.settings.gcda import GcdaOptions


@dataclass(frozen=True)
class Reading:
    """A modelled figure and the range in which a real one would be expected."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class IpuSensors:
    """What the sensors of one IPU, and of the board that carries it, would show."""

    clock_hz: float  #: of the chip's data; a real clock falls a little under heavy load
    ipu_watts: Reading | None = None  #: this IPU's part of the board's power
    die_celsius: Reading | None = None  #: on the chip
    board_watts: Reading | None = None  #: of the whole board
    board_celsius: Reading | None = None  #: on the board


def board_of(ipu: int, machine: Machine) -> int:
    """Which board of the system carries an IPU, both counted in the system."""
    return ipu // ipus_per_board(machine)


def ipus_per_board(machine: Machine) -> int:
    """How many IPUs share a board, and so a power sensor."""
    return max(1, machine.ipus // machine.boards)


def sense(system: System, busy: Sequence[float]) -> list[IpuSensors]:
    """The sensors of the IPUs of one board, each of which is `busy` from 0 to 1."""
    machine = system.machine
    clock = system.chip.clock_hz
    if not monitoring():
        return [IpuSensors(clock) for _ in busy]
    mean = sum(busy) / len(busy)
    watts_spread, celsius_spread = machine.board_watts_spread or 0.0, machine.celsius_spread or 0.0
    idle, full = machine.board_idle_watts, machine.board_busy_watts
    board = _between(idle, full, mean)
    board_celsius = _between(machine.board_idle_celsius, machine.board_busy_celsius, mean)
    found = []
    for share in busy:
        ipu = _between(idle, full, share)
        die = _between(machine.die_idle_celsius, machine.die_busy_celsius, share)
        found.append(
            IpuSensors(
                clock,
                _scaled(None if ipu is None else ipu / len(busy), watts_spread),
                _around(die, celsius_spread),
                _scaled(board, watts_spread),
                _around(board_celsius, celsius_spread),
            )
        )
    return found


def gcda_options() -> GcdaOptions:
    """The current value of GCDA_OPTIONS. Raises Error if it is invalid."""
    given: GcdaOptions | None = env.get("GCDA_OPTIONS")
    return given or GcdaOptions()


def monitoring() -> bool:
    """Whether power and temperatures are shown. Modelling them costs nothing, so they are, unless switched off."""
    asked = gcda_options().enable_monitoring
    if asked is None:
        asked = env.get("GCDA_MONITOR")
    return asked is not False


def utilisation_shown() -> bool:
    """Whether the utilisation is shown."""
    asked = gcda_options().monitor_utilisation
    if asked is None:
        return not env.get("GCDA_SUPPRESS_UTILISATION_MEASUREMENT")
    return asked


def _between(idle: float | None, busy: float | None, share: float) -> float | None:
    """A figure at that load; None where it is not published."""
    if idle is None or (busy is None and share > 0.0):
        return None
    return idle if busy is None else idle + share * (busy - idle)


def _scaled(value: float | None, spread: float) -> Reading | None:
    return None if value is None else Reading(value, value * (1.0 - spread), value * (1.0 + spread))


def _around(value: float | None, spread: float) -> Reading | None:
    return None if value is None else Reading(value, value - spread, value + spread)
