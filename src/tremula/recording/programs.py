"""The program tree: step, loop over micro-batches, stages, ops; then update, collectives, streaming memory, host.

The order within a stage is that of the captured program. Cycles are work, added up over IPUs that run side by side;
how they overlap is in the breakdown and in the pipeline's phases. The tree is the model's view of a step, not a
listing of compiled programs: there are none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tremula.estimate.estimate import Estimate
from tremula.profile.model import Op, ProgramNode, Transfer
from tremula.program.op import Phase

#: (row of the op, whether it runs again) -> cycles of one micro-batch
_Leaves = dict[tuple[int, bool], float]


def program_tree(
    estimate: Estimate, ops: Sequence[Op], op_rows: Sequence[int], transfers: Sequence[Transfer]
) -> list[ProgramNode]:
    """All nodes, parents before their children."""
    stages, update = _leaves(estimate, op_rows)
    turns = estimate.micro_batches_per_step
    work = sum(sum(leaves.values()) for leaves in stages.values())
    arithmetic = sum(update.values())
    nodes: list[ProgramNode] = []

    def add(parent: int, kind: str, name: str, cycles: float, repeats: int = 1, op: int = -1) -> int:
        nodes.append(ProgramNode(len(nodes), parent, kind, name, repeats, cycles, op))
        return len(nodes) - 1

    def add_ops(parent: int, leaves: _Leaves) -> None:
        for (row, again), cycles in leaves.items():
            add(parent, "op", f"{ops[row].name} (again)" if again else ops[row].name, cycles, op=row)

    total = turns * work + arithmetic + sum(each.cycles for each in transfers)
    root = add(-1, "step", "training step" if estimate.training else "inference step", total)
    loop = add(root, "repeat", f"micro-batches x {turns}", turns * work, turns)
    for stage in estimate.time.stages:
        leaves = stages.get(stage.number, {})
        name = f"stage {stage.number} on IPU {stage.ipu}: {', '.join(stage.phases)}"
        add_ops(add(loop, "stage", name, sum(leaves.values())), leaves)
    if update:
        add_ops(add(root, "update", "weight update", arithmetic), update)
    for each in transfers:
        add(root, each.kind, each.name, each.cycles)
    return nodes


def _leaves(estimate: Estimate, op_rows: Sequence[int]) -> tuple[dict[int, _Leaves], _Leaves]:
    """Cycles of ops by stage, and those of the update, placed as the schedule does."""
    program, costs = estimate.program, estimate.costs.costs
    last = program.forward_stages - 1
    stages: dict[int, _Leaves] = defaultdict(lambda: defaultdict(float))
    update: _Leaves = defaultdict(float)
    home: dict[int, int] = {}
    for number in program.of_phase(Phase.BACKWARD):
        op = program.ops[number]
        home[op.ipu] = max(home.get(op.ipu, 0), op.stage)
    for number in (*program.of_phase(Phase.FORWARD), *program.of_phase(Phase.BACKWARD)):
        if op_rows[number] >= 0:
            stages[program.ops[number].stage][op_rows[number], False] += costs[number].cycles
    for number in estimate.again.again:
        if op_rows[number] >= 0:
            stages[2 * last - program.ops[number].stage][op_rows[number], True] += costs[number].cycles
    for number in program.of_phase(Phase.ACCUMULATE):
        if op_rows[number] >= 0:
            stage = home.get(program.ops[number].ipu, 2 * last)
            stages[stage][op_rows[number], False] += costs[number].cycles
    for number in program.of_phase(Phase.UPDATE):
        if op_rows[number] >= 0:
            update[op_rows[number], False] += costs[number].cycles
    return stages, update
