"""Ops, their plans and their execution steps as rows.

Every op that does work has a row, up to the limit of the schema; a larger program has its ops merged by where
they run and in which module, so that sums stay the same. Ops of equal work share a plan, which is written
once with its reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from tremula.estimate.estimate import Estimate, OpTime
from tremula.module_paths import first_parts, shared
from tremula.plan.cost import Cost
from tremula.profile.model import Op, Plan, Superstep
from tremula.profile.schema import OPS, TABLES
from tremula.program.work import Work
from tremula.recording.reasons import as_json

_Key = tuple[object, ...]


@dataclass
class Operations:
    """The rows, and where each op of the flat program went."""

    ops: list[Op] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)  #: distinct ones; the first of them are the plans
    works: list[tuple[Work, ...]] = field(default_factory=list)  #: what an op of each cost does
    rows: list[int] = field(default_factory=list)  #: row of each op of the flat program; -1: it does no work
    cost_of: list[int] = field(
        default_factory=list
    )  #: number of the cost of each op of the flat program, or -1
    merged: bool = False

    def plans(self, tiles: int) -> Iterator[Plan | Superstep]:
        """Plans, each followed by its supersteps; `tiles` of an IPU may compute."""
        for number, cost in enumerate(self.costs[: TABLES["plans"].most_rows]):
            yield Plan(
                id=number,
                cycles=cost.cycles,
                temporary_bytes=cost.bytes.temporary,
                vertex_code_bytes=cost.bytes.vertex_code,
                vertex_state_bytes=cost.bytes.vertex_state,
                exchange_code_bytes=cost.bytes.exchange_code,
                control_code_bytes=cost.bytes.control_code,
                why=as_json(cost.why),
            )
            for step in cost.supersteps:
                yield Superstep(
                    plan_id=number,
                    name=step.name,
                    repeats=step.repeats,
                    slowest_tile_cycles=step.compute_cycles,
                    mean_tile_cycles=step.compute_cycles * step.balance,
                    exchange_cycles=step.exchange_cycles,
                    sync_cycles=step.sync_cycles,
                    active_tiles=step.tiles,
                    idle_tiles=max(0, tiles - step.tiles),
                    flops=step.flops,
                )


#: what merged ops have in common, finest first
_KEYS: tuple[Callable[[OpTime], _Key], ...] = (
    lambda op: (op.phase, op.ipu, op.stage, op.module, op.target),
    lambda op: (op.phase, op.ipu, op.stage, op.module),
    lambda op: (op.phase, op.ipu, op.stage, first_parts(op.module, 2)),
    lambda op: (op.phase, op.ipu, op.stage),
)


def operations(estimate: Estimate, most_ops: int = OPS.most_rows) -> Operations:
    """All ops of `estimate`, merged if there are more than `most_ops`."""
    found = Operations(merged=len(estimate.ops) > most_ops)
    key_of = _KEYS[0]
    if found.merged:
        key_of = next((key for key in _KEYS if len({key(op) for op in estimate.ops}) <= most_ops), _KEYS[-1])
    numbers: dict[int, int] = {}
    most_plans = TABLES["plans"].most_rows
    merged: dict[_Key, int] = {}
    times = iter(estimate.ops)
    for flat in estimate.program.ops:
        if not flat.works:
            found.rows.append(-1)
            found.cost_of.append(-1)
            continue
        op = next(times)
        plan = numbers.get(id(op.cost))
        if plan is None:
            plan = numbers[id(op.cost)] = len(found.costs)
            found.costs.append(op.cost)
            found.works.append(flat.works)
        found.cost_of.append(plan)
        if not found.merged:
            found.rows.append(len(found.ops))
            found.ops.append(_row(op, len(found.ops), plan if plan < most_plans else -1))
            continue
        key = key_of(op)
        row = merged.get(key)
        if row is None:
            row = merged[key] = len(found.ops)
            found.ops.append(_row(op, row, -1))
        else:
            found.ops[row] = _added(found.ops[row], _row(op, row, -1))
        found.rows.append(row)
    return found


def _row(op: OpTime, number: int, plan: int) -> Op:
    cost, source = op.cost, op.source
    return Op(
        id=number,
        name=op.path,
        target=op.target,
        phase=op.phase,
        ipu=op.ipu,
        stage=op.stage,
        module=op.module,
        source_file=source.file if source else "",
        source_line=source.line if source else -1,
        source_function=source.function if source else "",
        runs=op.runs,
        merged=1,
        compute_cycles=op.runs * cost.compute_cycles,
        exchange_cycles=op.runs * cost.exchange_cycles,
        sync_cycles=op.runs * cost.sync_cycles,
        flops=op.runs * cost.flops,
        temporary_bytes=cost.bytes.temporary,
        unknown=int(op.unknown),
        plan_id=plan,
    )


def _added(one: Op, other: Op) -> Op:
    """One row for both; what they do not share is left empty."""
    same = one.target == other.target
    return replace(
        one,
        name=f"{one.merged + other.merged} ops of {one.module or 'no module'}",
        target=one.target if same else "several",
        module=one.module if one.module == other.module else shared(one.module, other.module),
        runs=one.runs + other.runs,
        merged=one.merged + other.merged,
        compute_cycles=one.compute_cycles + other.compute_cycles,
        exchange_cycles=one.exchange_cycles + other.exchange_cycles,
        sync_cycles=one.sync_cycles + other.sync_cycles,
        flops=one.flops + other.flops,
        temporary_bytes=max(one.temporary_bytes, other.temporary_bytes),
        unknown=max(one.unknown, other.unknown),
    )
