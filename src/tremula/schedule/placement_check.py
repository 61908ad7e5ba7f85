"""Placements that no system could run: refused with what to change, before anything is costed."""

from __future__ import annotations

from tremula.errors import Error
from tremula.hardware.system import System
from tremula.schedule.deployment import Deployment
from tremula.schedule.flat import FlatProgram

EXECUTIONS = ("single", "sharded", "pipelined", "serial_phased", "parallel_phased")
SCHEDULES = ("grouped", "interleaved", "sequential")
RECOMPUTE = ("none", "all", "checkpoints", "norms")


def check_placement(program: FlatProgram, deployment: Deployment, system: System) -> None:
    """Raise an error if `program` cannot lie on `system` as `deployment` says.

    Raises:
        Error: an unknown mode, an IPU that is not there, more stages than IPUs, or more replicas than fit.
    """
    _one_of("execution", deployment.execution, EXECUTIONS)
    _one_of("pipeline_schedule", deployment.pipeline_schedule, SCHEDULES)
    _one_of("recompute", deployment.recompute, RECOMPUTE)
    ipus = deployment.ipus_per_replica
    if ipus < 1:
        raise Error(f"A replica needs at least one IPU, ipus_per_replica is {ipus}.")
    highest = max(program.ops, key=lambda op: op.ipu, default=None)
    if highest is not None and highest.ipu >= ipus:
        where = f" ({highest.source})" if highest.source else ""
        raise Error(
            f"Op {highest.name}{where} is placed on IPU {highest.ipu}, but a replica has {ipus} "
            f"{'IPU, number 0' if ipus == 1 else f'IPUs, 0 to {ipus - 1}'}{_stages(program, deployment, ipus)}. "
            "Give the block another ipu_id, or the replica more IPUs."
        )
    needed = ipus * program.loops.replicas
    if needed > system.ipus:
        raise Error(
            f"{program.loops.replicas} replicas of {ipus} IPUs need {needed} IPUs and system {system.name} has "
            f"{system.ipus}. Use a larger system, fewer replicas (replicationFactor), or fewer IPUs per replica."
        )
    if not 0 <= deployment.io_tiles < system.chip.tiles:
        raise Error(
            f"{deployment.io_tiles} I/O tiles leave none of the {system.chip.tiles} tiles of "
            f"{system.chip.name} to compute. Set numIOTiles to less, usually 32 to 192."
        )


def _stages(program: FlatProgram, deployment: Deployment, ipus: int) -> str:
    """The reason behind an IPU that is not there, if it is the usual one."""
    stages = program.forward_stages
    if deployment.execution != "pipelined" or stages <= ipus:
        return ""
    return f": the pipeline has {stages} forward stages, more stages than IPUs"


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise Error(f"Deployment.{name} is {value!r}; it must be one of {', '.join(known)}.")
