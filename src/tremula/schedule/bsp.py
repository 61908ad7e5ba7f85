"""Ops in supersteps: the cost of every op, with what it takes to bring its operands into place.

An op's work is planned once per shape. Between ops lies what no single planner sees: an operand that a
matmul left spread one way is read by an op that works spread another way. A layout is named by the op that
made it; element-wise ops take over that of their first operand. Every operand in a foreign layout costs a
superstep in which `Constants.rearranged_share` of its bytes is exchanged and copied. Matmuls, convolutions,
reductions, gathers and their like fetch their operands themselves: that is in their plans. What compiled
programs do beyond all that is added to every op: `Constants.unseen_share`, `backward_share` and `superstep_cycles`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tremula.hardware.chip import Chip
from tremula.plan.cost import Bytes, Cost, Superstep, Why, in_sequence
from tremula.plan.planner import Planner
from tremula.program.control import op_runs
from tremula.program.op import Op, Phase
from tremula.program.program import Program
from tremula.program.tensor import LASTING
from tremula.program.work import Cast, Elementwise, Fill, Norm, Random, Softmax, Work

#: work that is done wherever its first operand lies
_IN_PLACE = (Elementwise, Cast, Random)
#: work that wants rows together on a tile
_BY_ROWS = (Softmax, Norm)
#: the layout in which rows lie together
_ROWS = -2
_STEP = (Phase.FORWARD, Phase.BACKWARD)

FREE = Cost(
    supersteps=(),
    bytes=Bytes(),
    why=Why("no work: a view or a name", "0", "views are addresses, not copies, on the device"),
)


@dataclass(frozen=True)
class OpCosts:
    """Costs of all ops of a program, by their numbers, for one run of the program's control tree."""

    costs: list[Cost]
    #: bytes that each op moves to have its operands in place
    rearranged: list[int]


def op_costs(program: Program, planner: Planner) -> OpCosts:
    """The cost of every op of `program`."""
    layouts: list[int] = [-1] * len(program.tensors)  # by storage
    known: dict[tuple[tuple[Work, ...], int, bool], Cost] = {}
    costs: list[Cost] = []
    rearranged: list[int] = []
    for number, op in enumerate(program.ops):
        moved = _lay_out(program, op, number, layouts)
        backward = op.phase is Phase.BACKWARD
        key = (op.works, moved, backward)
        cost = known.get(key)
        if cost is None:
            cost = known[key] = _cost(op.works, moved, backward, planner)
        costs.append(cost)
        rearranged.append(moved)
    return OpCosts(_repeated(program, costs), rearranged)


def _repeated(program: Program, costs: list[Cost]) -> list[Cost]:
    """Each cost as often as the control tree runs its op; a program without a tree runs each once."""
    if program.control is None:
        return costs
    runs = op_runs(program.control, program.functions, lambda op: costs[op].cycles)
    return [cost.repeated(runs.get(number, 0)) for number, cost in enumerate(costs)]


def _lay_out(program: Program, op: Op, number: int, layouts: list[int]) -> int:
    """Note the layout of what `op` makes; the bytes of its operands that lie otherwise."""
    tensors = program.tensors
    if not op.works:
        return 0  # a view has the layout of what it shows
    first = op.works[0]
    foreign = 0
    layout = number
    if isinstance(first, (*_BY_ROWS, *_IN_PLACE)):
        # weights, and what accumulates and updates them, are laid out for their use; what is small is broadcast
        size = max((tensors[n].elements for n in op.inputs), default=0)
        read = {
            tensors[n].storage: tensors[n].bytes
            for n in op.inputs
            if tensors[n].elements == size and tensors[tensors[n].storage].role not in LASTING
        }
        layout = _ROWS if isinstance(first, _BY_ROWS) else next((layouts[storage] for storage in read), -1)
        if op.phase in _STEP:
            foreign = sum(b for storage, b in read.items() if layouts[storage] not in (layout, -1))
    elif isinstance(first, Fill):
        layout = -1  # made where it is needed
    for made in op.outputs:
        layouts[tensors[made].storage] = layout
    return foreign


def _cost(works: tuple[Work, ...], moved: int, backward: bool, planner: Planner) -> Cost:
    parts = [planner.plan(work) for work in works]
    if not parts:
        return FREE
    if moved and planner.constants.rearranged_share > 0:
        parts.insert(0, rearrangement(moved, planner.chip, planner.constants.rearranged_share))
    cost = parts[0] if len(parts) == 1 else in_sequence(parts)
    return _with_unseen(cost, backward, planner)


def _with_unseen(cost: Cost, backward: bool, planner: Planner) -> Cost:
    """`cost` as a part of a compiled program, which does more than the sum of its ops."""
    share, fixed = planner.constants.unseen_share, planner.constants.superstep_cycles
    if backward:
        share += planner.constants.backward_share
    count = sum(step.repeats for step in cost.supersteps)
    cycles = share * cost.cycles + fixed * count
    if not cycles:
        return cost
    step = Superstep("unseen", compute_cycles=cycles, tiles=planner.chip.tiles)
    why = Why(
        plan=f"{share:.0%} and {fixed:.0f} cycles for each of {count} supersteps on top, for what no planner sees",
        formula="share x cycles of the op + cycles per superstep x supersteps",
        source="fitted (Constants.unseen_share, backward_share, superstep_cycles): layouts not the best for each op, "
        "control code, copies into and out of code that ops share",
        figures={"share": share, "cycles per superstep": fixed, "supersteps": count},
    )
    return replace(
        cost, supersteps=(*cost.supersteps, step), why=replace(cost.why, parts=(*cost.why.parts, why))
    )


#: cycles of a copy on a tile in atoms of 8 bytes: fixed, and per byte (PopLibs' regression for rearrangements)
_COPY_CYCLES = 587
_COPY_CYCLES_PER_BYTE = 0.44


def rearrangement(operand_bytes: int, chip: Chip, share: float) -> Cost:
    """The superstep that brings `share` of `operand_bytes` to where an op wants them."""
    per_tile = math.ceil(share * operand_bytes / chip.tiles)
    exchange = math.ceil(per_tile / chip.exchange_bytes_per_cycle) + chip.exchange_latency_cycles
    return Cost(
        supersteps=(
            Superstep(
                "rearrange",
                compute_cycles=_COPY_CYCLES + math.ceil(_COPY_CYCLES_PER_BYTE * per_tile),
                exchange_cycles=exchange,
                sync_cycles=chip.sync_cycles,
                tiles=chip.tiles,
            ),
        ),
        bytes=Bytes(temporary=per_tile),
        why=Why(
            plan=f"operands of {operand_bytes:,} bytes lie as their producer left them; "
            f"{share:.0%} of that changes tiles",
            formula="bytes per tile / exchange width + latency, then a copy of 587 + 0.44 x bytes per tile",
            source="share fitted (Constants.rearranged_share); width from the chip's file; PopLibs poplin regression",
            figures={"bytes_per_tile": per_tile, "share": share},
        ),
    )


@dataclass(frozen=True)
class Cycles:
    """Cycles by what they go to. Adding and scaling keep the parts."""

    compute: float = 0.0
    exchange: float = 0.0
    sync: float = 0.0
    #: copies between the IPUs of a replica
    inter_ipu: float = 0.0
    #: what a call from the host takes beside the device's work and the transfers
    host_call: float = 0.0
    #: transfers with the host that the device waits for
    host_transfer: float = 0.0
    #: traffic with the memory beside the chips
    streaming: float = 0.0
    #: exchange of gradients and weights between replicas
    collectives: float = 0.0
    #: waiting while the pipeline fills and drains
    pipeline_idle: float = 0.0

    @property
    def total(self) -> float:
        """All of them."""
        return sum(self.parts().values())

    @property
    def host(self) -> float:
        """Waiting for the host, for calls and for transfers."""
        return self.host_call + self.host_transfer

    def parts(self) -> dict[str, float]:
        """By name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def sum(cls, parts: Iterable[Cycles]) -> Cycles:
        """Several, added up part by part."""
        total = cls()
        for part in parts:
            total = total + part
        return total

    def __add__(self, other: Cycles) -> Cycles:
        return Cycles(**{name: value + getattr(other, name) for name, value in self.parts().items()})

    def __mul__(self, factor: float) -> Cycles:
        return Cycles(**{name: value * factor for name, value in self.parts().items()})

    def with_(self, **parts: float) -> Cycles:
        """With some parts replaced."""
        return replace(self, **parts)


class CycleSum:
    """Sums costs without a new object for each: programs have tens of thousands of ops."""

    __slots__ = ("_known", "compute", "exchange", "sync")

    def __init__(self) -> None:
        self.compute = self.exchange = self.sync = 0.0
        self._known: dict[int, tuple[float, float, float]] = {}

    def share(self, known: dict[int, tuple[float, float, float]]) -> None:
        """Remember the parts of costs in `known`, together with other sums."""
        self._known = known

    def add(self, cost: Cost) -> None:
        """One more op."""
        parts = self._known.get(id(cost))
        if parts is None:
            parts = (cost.compute_cycles, cost.exchange_cycles, cost.sync_cycles)
            self._known[id(cost)] = parts
        self.compute += parts[0]
        self.exchange += parts[1]
        self.sync += parts[2]

    @property
    def cycles(self) -> Cycles:
        """What was added up."""
        return Cycles(compute=self.compute, exchange=self.exchange, sync=self.sync)
