"""Energy of a step: idle power of the machines in use, and the rest while their chips are busy.

Power figures are those published for a whole machine (data/machines, with sources). Where nobody published one, what
`gc-monitor` prints for a board stands in, as the publication counted it: one board per machine. The range then takes
in the spread of that figure and the possibility that all boards count. The host's own power is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from tremula.estimate.estimate import Estimate
from tremula.hardware.machine import Machine


@dataclass(frozen=True)
class Power:
    """Power of one machine, and how far off it may be."""

    idle_watts: float
    busy_watts: float
    #: factors on both
    low: float = 1.0
    high: float = 1.0
    #: whether it was published for the machine, and not derived from a board
    published: bool = True


def machine_power(machine: Machine) -> Power | None:
    """The power of a machine; None where neither it nor that of a board is known."""
    if machine.idle_power_watts is not None and machine.busy_power_watts is not None:
        return Power(machine.idle_power_watts, machine.busy_power_watts)
    if machine.board_idle_watts is None or machine.board_busy_watts is None:
        return None
    spread = machine.board_watts_spread or 0.0
    return Power(
        machine.board_idle_watts, machine.board_busy_watts, 1 - spread, (1 + spread) * machine.boards, False
    )


def power_watts(found: Estimate, step_seconds: float) -> float | None:
    """Mean power of the machines over a step that takes `step_seconds`; None where it is not known."""
    machine = found.system.machine
    power = machine_power(machine)
    if power is None:
        return None
    busy = found.device_cycles_per_step / found.chip.clock_hz / step_seconds if step_seconds else 0.0
    ipus = found.loops.replicas * found.deployment.ipus_per_replica
    machines = -(-ipus // machine.ipus)
    extra = power.busy_watts - power.idle_watts
    return machines * (power.idle_watts + min(1.0, busy) * extra)


def energy_joules(found: Estimate) -> float | None:
    """Energy of one step of all replicas; None where the power is not known."""
    power = power_watts(found, found.seconds_per_step)
    return None if power is None else power * found.seconds_per_step
