"""Placements that no system could run: refused with what to change, before anything is costed."""

from __future__ import annotations

from tremula.errors import Error
from tremula.formatting import counted
from tremula.hardware.system import System
from tremula.program.program import Program
from tremula.program.tensor import Role
from tremula.schedule.deployment import Deployment
from tremula.schedule.streaming import free_bytes_per_ipu

EXECUTIONS = ("single", "sharded", "pipelined", "serial_phased", "parallel_phased")
SCHEDULES = ("grouped", "interleaved", "sequential")
RECOMPUTE = ("none", "all", "checkpoints", "norms")


def check_placement(program: Program, deployment: Deployment, system: System) -> None:
    """Raise an error if `program` cannot lie on `system` as `deployment` says.

    Raises:
        Error: an unknown mode, data placed by the program itself, an IPU that is not there, more stages than IPUs, or
            more replicas than fit.
    """
    if program.mappings or program.vertices:
        raise Error(
            "The program places its data and vertices on tiles itself. The chip model places them itself as well and "
            "cannot follow another placement yet; leave out the tile mappings and vertices to have it modelled."
        )
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
            "Place it on another IPU, or give the replica more IPUs."
        )
    needed = ipus * program.loops.replicas
    if needed > system.ipus:
        raise Error(
            f"{counted(program.loops.replicas, 'replica')} of {counted(ipus, 'IPU')} need {needed} IPUs and system "
            f"{system.name} has {system.ipus}. Use a larger system, fewer replicas, or "
            "fewer IPUs per replica."
        )
    _check_streaming_memory(program, deployment, system)
    if not 0 <= deployment.io_tiles < system.chip.tiles:
        raise Error(
            f"{deployment.io_tiles} I/O tiles leave none of the {system.chip.tiles} tiles of "
            f"{system.chip.name} to compute. Use fewer I/O tiles, usually 32 to 192."
        )


def _check_streaming_memory(program: Program, deployment: Deployment, system: System) -> None:
    """What lives beside the chips must have room there; cards have the host's memory, which is not known."""
    room = free_bytes_per_ipu(system) * deployment.ipus_per_replica
    locations = {
        Role.PARAMETER: deployment.weights,
        Role.STATE: deployment.optimizer_state,
        Role.ACCUMULATOR: deployment.accumulators,
    }
    needed = 0
    for number, tensor in enumerate(program.tensors):
        location = locations.get(tensor.role)
        if location is None or location.on_chip or tensor.storage != number:
            continue
        needed += tensor.bytes // (program.loops.replicas if location.sharded else 1)
    if room and needed > room:
        raise Error(
            f"{needed:,} bytes of a replica are to live in streaming memory, which has {room:,.0f} bytes for the "
            f"{deployment.ipus_per_replica} IPUs of a replica on {system.name}. Shard them over replicas, "
            "keep some on chip, or use more IPUs per replica."
        )


def _stages(program: Program, deployment: Deployment, ipus: int) -> str:
    """The reason behind an IPU that is not there, if it is the usual one."""
    stages = program.forward_stages
    if deployment.execution != "pipelined" or stages <= ipus:
        return ""
    return f": the pipeline has {stages} forward stages, more stages than IPUs"


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise Error(f"Deployment.{name} is {value!r}; it must be one of {', '.join(known)}.")
