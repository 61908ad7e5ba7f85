"""The leaves of a placed program as ops, plans, supersteps, compute sets and vertices of a profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tremula.placed.estimate import PlacedEstimate
from tremula.placed.phases import Leaf, Phase, PhaseKind
from tremula.plan.cost import Why
from tremula.profile import model
from tremula.profile.frames import FRAMES
from tremula.profile.schema import TABLES
from tremula.program.placed_steps import Execute, RunCopy, RunLibrary, RunTransfer, Step, walk
from tremula.recording.reasons import as_json

_TARGETS: Mapping[type, str] = {
    Execute: "compute set",
    RunCopy: "copy",
    RunTransfer: "stream copy",
    RunLibrary: "library function",
}
_EXCHANGES = (PhaseKind.EXCHANGE, PhaseKind.GLOBAL_EXCHANGE, PhaseKind.HOST)
_SYNCS = (PhaseKind.SYNC, PhaseKind.GLOBAL_SYNC)


@dataclass
class PlacedOps:
    """Ops and plans; a plan is what leaves that do the same have in common."""

    ops: list[model.Op] = field(default_factory=list)
    plans: list[model.Plan] = field(default_factory=list)
    supersteps: list[model.Superstep] = field(default_factory=list)
    #: node of a leaf -> its row
    rows: dict[int, int] = field(default_factory=dict)
    #: compute set -> an op that runs it, its plan and superstep
    sets: dict[int, tuple[int, int, int]] = field(default_factory=dict)


def placed_ops(estimate: PlacedEstimate, counts: Mapping[int, int]) -> PlacedOps:
    """The ops of a program; `counts` says how often each node runs in a run of each program."""
    found = PlacedOps()
    kinds = _kinds(estimate)
    plans: dict[int, int] = {}
    room = TABLES["plans"].most_rows
    for node, leaf in sorted(estimate.leaves.items()):
        if not leaf.phases or len(found.ops) >= FRAMES["ops"].most_rows:
            continue
        plan = plans.get(id(leaf.phases), -1)
        if plan < 0 and len(found.plans) < room:
            plan = plans[id(leaf.phases)] = len(found.plans)
            _add_plan(found, leaf, plan, len(found.ops), estimate)
        found.rows[node] = len(found.ops)
        found.ops.append(_op(leaf, len(found.ops), plan, kinds.get(node, "sync"), counts.get(node, 0)))
    return found


def _kinds(estimate: PlacedEstimate) -> dict[int, str]:
    program = estimate.program
    steps: Iterator[Step] = (
        each for root in (*program.programs, *program.functions.values()) for each in walk(root)
    )
    return {each.id: _TARGETS[type(each)] for each in steps if type(each) in _TARGETS}


def _sum(leaf: Leaf, kinds: tuple[PhaseKind, ...]) -> float:
    return sum(phase.cycles for phase in leaf.phases if phase.kind in kinds)


def _op(leaf: Leaf, number: int, plan: int, target: str, runs: int) -> model.Op:
    return model.Op(
        id=number,
        name=leaf.name,
        target=target,
        phase="forward",
        ipu=0,
        stage=0,
        module="",
        source_file="",
        source_line=-1,
        source_function="",
        runs=runs,
        merged=1,
        compute_cycles=runs * _sum(leaf, (PhaseKind.COMPUTE,)),
        exchange_cycles=runs * _sum(leaf, _EXCHANGES),
        sync_cycles=runs * _sum(leaf, _SYNCS),
        flops=runs * sum(phase.flops for phase in leaf.phases),
        temporary_bytes=int(leaf.buffers.max()) if len(leaf.buffers) else 0,
        unknown=0,
        plan_id=plan,
    )


def _add_plan(found: PlacedOps, leaf: Leaf, plan: int, op: int, estimate: PlacedEstimate) -> None:
    tiles = estimate.hardware.tiles
    sources = sorted(
        {
            source
            for phase in leaf.phases
            if phase.compute_set >= 0
            for source in {each.source for each in estimate.sets[phase.compute_set].vertices.values()}
        }
    )
    found.plans.append(
        model.Plan(
            id=plan,
            cycles=leaf.cycles,
            temporary_bytes=int(leaf.buffers.max()) if len(leaf.buffers) else 0,
            vertex_code_bytes=0,
            vertex_state_bytes=0,
            exchange_code_bytes=int(leaf.exchange_code.max()) if len(leaf.exchange_code) else 0,
            control_code_bytes=0,
            why=as_json(_why(leaf, sources)),
        )
    )
    numbers = 0
    waiting: list[Phase] = []
    for phase in leaf.phases:
        waiting.append(phase)
        if phase.kind is PhaseKind.COMPUTE or phase is leaf.phases[-1]:
            found.supersteps.append(_superstep(plan, waiting, tiles))
            if phase.compute_set >= 0:
                found.sets.setdefault(phase.compute_set, (op, plan, numbers))
            numbers += 1
            waiting = []


def _why(leaf: Leaf, sources: list[str]) -> Why:
    computed = f"; cycles of vertices: {', '.join(sources)}" if sources else ""
    return Why(
        plan=f"placed by the program{computed}",
        formula="sum over the phases, each as long as its slowest tile",
        source="docs/poplar-estimates.md",
        figures={f"{phase.name} cycles": phase.cycles for phase in leaf.phases[:20]},
    )


def _superstep(plan: int, phases: list[Phase], tiles: int) -> model.Superstep:
    computes = [each for each in phases if each.kind is PhaseKind.COMPUTE]
    active = max((len(each.tiles) for each in computes), default=0)
    slowest = sum(each.cycles for each in computes)
    mean = sum(each.summed for each in computes) / active if active else 0.0
    last = computes[-1] if computes else phases[-1]
    return model.Superstep(
        plan_id=plan,
        name=last.name,
        repeats=1,
        slowest_tile_cycles=slowest,
        mean_tile_cycles=mean,
        exchange_cycles=sum(each.cycles for each in phases if each.kind in _EXCHANGES),
        sync_cycles=sum(each.cycles for each in phases if each.kind in _SYNCS),
        active_tiles=active,
        idle_tiles=tiles - active,
        flops=sum(each.flops for each in phases),
    )


def compute_set_columns(estimate: PlacedEstimate, found: PlacedOps) -> dict[str, Any]:
    """Columns of the frame `compute_sets`: one row for each of the model's sets, in their order."""
    none = (-1, -1, 0)
    sets = estimate.sets
    return {
        "name": [each.name for each in sets],
        "op_id": [found.sets.get(number, none)[0] for number in range(len(sets))],
        "plan_id": [found.sets.get(number, none)[1] for number in range(len(sets))],
        "superstep": [found.sets.get(number, none)[2] for number in range(len(sets))],
        "vertices": [each.count for each in sets],
        "cycles": [each.slowest for each in sets],
    }


def tile_cycle_columns(estimate: PlacedEstimate, most: int) -> Iterator[dict[str, Any]]:
    """Columns of the frame `tile_cycles`, one piece for each compute set, as long as there is room."""
    for number, each in enumerate(estimate.sets):
        if len(each.tiles) > most:
            return
        most -= len(each.tiles)
        if len(each.tiles):
            yield {
                "compute_set": np.full(len(each.tiles), number),
                "tile": each.tiles,
                "cycles": each.cycles,
                "busy_cycles": each.busy,
            }


def vertex_rows(
    estimate: PlacedEstimate, found: PlacedOps
) -> tuple[list[model.VertexType], dict[str, list[int]]]:
    """The types of vertices, and the columns of the frame `vertices`."""
    known = dict(estimate.memory.vertex_types)
    names = list(known)
    columns: dict[str, list[int]] = {
        "plan_id": [], "superstep": [], "vertex_type": [], "count": [], "tiles": []
    }  # fmt: skip
    numbers = {name: number for number, name in enumerate(names)}
    for number, made in enumerate(estimate.sets):
        where = found.sets.get(number)
        if where is None:
            continue
        for name, group in made.vertices.items():
            if name not in numbers:
                numbers[name] = len(names)
                names.append(name)
            for column, value in zip(
                columns, (where[1], where[2], numbers[name], group.count, group.tiles), strict=True
            ):
                columns[column].append(value)
    types = [model.VertexType(number, name, *known.get(name, (0, 0))) for number, name in enumerate(names)]
    return types, columns
