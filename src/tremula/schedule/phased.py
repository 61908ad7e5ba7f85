"""Phased execution: the model passes through the chip part by part, with the rest in streaming memory.

Each phase loads its weights and the activations that earlier phases left, computes, and stores what later
phases need; gradients visit the phases in reverse order. Serial phases do one after the other; parallel
phases alternate between two groups of IPUs, so that one loads while the other computes. Source: PopART's
documentation of phased execution. With accumulation every micro-batch passes all phases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tremula.plan.cost import Cost
from tremula.program.op import Phase
from tremula.program.program import Program
from tremula.program.tensor import Role
from tremula.schedule.bsp import Cycles, CycleSum
from tremula.schedule.deployment import Deployment


@dataclass(frozen=True)
class PhaseLoad:
    """One phase of one pass: the work of its busiest IPU, and the bytes that each IPU loads and stores."""

    number: int
    #: forward or backward
    direction: str
    work: Cycles
    loaded_bytes: Mapping[int, int]
    stored_bytes: Mapping[int, int]


def phase_loads(program: Program, costs: Sequence[Cost], deployment: Deployment) -> list[PhaseLoad]:
    """All phases of a micro-batch in the order in which they run."""
    sums: dict[tuple[bool, int], dict[int, CycleSum]] = defaultdict(lambda: defaultdict(CycleSum))
    read: dict[tuple[bool, int], set[int]] = defaultdict(set)
    made: dict[tuple[bool, int], set[int]] = defaultdict(set)
    last_reader: dict[int, tuple[bool, int]] = {}
    for number, op in enumerate(program.ops):
        if op.phase not in (Phase.FORWARD, Phase.BACKWARD):
            continue
        key = (op.phase is Phase.BACKWARD, op.execution_phase)
        sums[key][op.ipu].add(costs[number])
        for operand in op.inputs:
            storage = program.tensors[operand].storage
            read[key].add(storage)
            last_reader[storage] = key
        made[key] |= {program.tensors[t].storage for t in op.outputs}
    loads = []
    for key in sorted(sums, key=lambda k: (k[0], -k[1] if k[0] else k[1])):
        backward, phase = key
        work = max((each.cycles for each in sums[key].values()), key=lambda cycles: cycles.total)
        loaded = _by_ipu(program, read[key] - made[key], deployment)
        kept = {storage for storage in made[key] if last_reader.get(storage, key) != key}
        stored = _by_ipu(program, kept, deployment)
        loads.append(PhaseLoad(phase, "backward" if backward else "forward", work, loaded, stored))
    return loads


def _by_ipu(program: Program, storages: set[int], deployment: Deployment) -> dict[int, int]:
    sizes: dict[int, int] = defaultdict(int)
    for storage in storages:
        sizes[program.tensors[storage].ipu] += _moved(program, storage, deployment)
    return dict(sizes)


def _moved(program: Program, storage: int, deployment: Deployment) -> int:
    """Bytes of a tensor that lives in streaming memory between phases; 0 if it stays on the chip."""
    tensor = program.tensors[storage]
    if tensor.role is Role.PARAMETER:
        location = deployment.weights
    elif tensor.role is Role.ACTIVATION:
        location = deployment.activations
    else:
        return 0
    if location.on_chip or tensor.elements < location.smallest_elements:
        return 0
    return -(-tensor.bytes // program.loops.replicas) if location.sharded else tensor.bytes


def phased_micro_batch(
    loads: Sequence[PhaseLoad], load_cycles: Sequence[float], store_cycles: Sequence[float], *, parallel: bool
) -> Cycles:
    """One micro-batch through all phases, given the cycles of each phase's transfers.

    In parallel the load of a phase and the store of the one before hide behind computing, as far as they can.
    """
    total = Cycles()
    if not parallel:
        for load, loading, storing in zip(loads, load_cycles, store_cycles, strict=True):
            total = total + load.work + Cycles(streaming=loading + storing)
        return total
    exposed = (load_cycles[0] + store_cycles[-1]) if loads else 0.0
    for number, load in enumerate(loads):
        transfers = load_cycles[number + 1] if number + 1 < len(loads) else 0.0
        transfers += store_cycles[number - 1] if number else 0.0
        total = total + load.work
        exposed += max(0.0, transfers - load.work.total)
    return total + Cycles(streaming=exposed)
