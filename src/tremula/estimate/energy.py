"""Energy of a step: idle power of the machines in use, and the rest while their chips are busy.

Power figures are those published for a whole machine (data/machines, with sources); where nobody published one
the energy is unknown. The host's own power is not counted.
"""

from __future__ import annotations

from tremula.estimate.estimate import Estimate


def power_watts(found: Estimate, step_seconds: float) -> float | None:
    """Mean power of the machines over a step that takes `step_seconds`; None where it is not published."""
    machine = found.system.machine
    if machine.idle_power_watts is None or machine.busy_power_watts is None:
        return None
    busy = found.device_cycles_per_step / found.chip.clock_hz / step_seconds if step_seconds else 0.0
    ipus = found.loops.replicas * found.deployment.ipus_per_replica
    machines = -(-ipus // machine.ipus)
    extra = machine.busy_power_watts - machine.idle_power_watts
    return machines * (machine.idle_power_watts + min(1.0, busy) * extra)


def energy_joules(found: Estimate) -> float | None:
    """Energy of one step of all replicas; None where the machine's power is not published."""
    power = power_watts(found, found.seconds_per_step)
    return None if power is None else power * found.seconds_per_step
