"""The program tree: upload of the weights; step, loop over micro-batches, stages, ops and their leaves.

Cycles are work, added up over IPUs that run side by side; how they overlap is in the breakdown and in the execution
steps. The tree is the model's view of a program, not a listing of compiled ones: there are none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tremula.estimate.estimate import Estimate
from tremula.memory.categories import Category
from tremula.memory.code import CALL_BYTES
from tremula.profile.frames import FRAMES
from tremula.profile.model import Transfer
from tremula.profile.program_types import ProgramType
from tremula.recording.operations import Operations
from tremula.recording.order import Order, Sequenced
from tremula.recording.shapes import Shapes
from tremula.recording.shares import divided
from tremula.recording.tree import Tree

Ints = NDArray[np.int64]

_GLOBAL = {"collective": "AllReduce/GlobalPre", "copy": "InterIpuCopy/GlobalPre"}


@dataclass
class Programs:
    """The tree, and where everything is in it."""

    tree: Tree
    #: row of each op of the flat program, and of its second run; its leaves follow if `leaves` is true
    node: Ints
    node_again: Ints
    leaves: bool
    #: row of the first compute set of each row of `ops`
    first_set: Ints
    upload: int = -1  #: rows of inner nodes and of what is done once
    loop: int = -1
    main: int = -1
    #: kind of transfer, and of it inputs and outputs, -> row of its first leaf
    transfers: dict[str, int] = field(default_factory=dict)
    code_bytes: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def program_tree(
    estimate: Estimate,
    found: Operations,
    shaped: Shapes,
    ordered: Order,
    transfers: Sequence[Transfer],
    contexts: Sequence[int],
    upload_cycles: float,
) -> Programs:
    """All nodes, parents before their children."""
    return _Builder(estimate, found, shaped, contexts).built(ordered, transfers, upload_cycles)


class _Builder:
    def __init__(
        self, estimate: Estimate, found: Operations, shaped: Shapes, contexts: Sequence[int]
    ) -> None:
        self._estimate = estimate
        self._found = found
        self._shaped = shaped
        self._contexts = contexts
        count = len(estimate.program.ops)
        none = np.full(count, -1, dtype=np.int64)
        self._cycles = np.array([cost.cycles for cost in found.costs])
        self._first_set = first_sets(found, shaped)
        # all or none: a reader need not wonder which ops have them
        again = np.zeros(count, dtype=np.int64)
        again[list(estimate.again.again)] = 1
        plans = np.array(found.cost_of, dtype=np.int64)
        runs = (1 + again)[plans >= 0]
        rows = int((runs * (1 + shaped.leaf_counts[plans[plans >= 0]])).sum())
        leaves = not found.merged and rows < FRAMES["programs"].most_rows - 10_000
        self._result = Programs(Tree(), none.copy(), none.copy(), leaves, self._first_set)

    def built(self, ordered: Order, transfers: Sequence[Transfer], upload_cycles: float) -> Programs:
        result, tree, estimate = self._result, self._result.tree, self._estimate
        turns = estimate.micro_batches_per_step
        work = {stage: self._sum(each) for stage, each in ordered.stages.items()}
        update = self._sum(ordered.update)
        step_cycles = turns * sum(work.values()) + update + sum(each.cycles for each in transfers)
        iterations = estimate.loops.device_iterations
        root = tree.add(
            -1, ProgramType.OnEveryTileSwitch, "switch", "program", upload_cycles + iterations * step_cycles
        )
        result.upload = tree.add(root, ProgramType.Sequence, "upload", "weights to the device", upload_cycles)
        result.transfers["upload"] = tree.add_stream(result.upload, "weights/copyFromHost", upload_cycles)
        result.main = root
        if iterations > 1:
            name = f"device iterations x {iterations}"
            result.main = tree.add(
                root, ProgramType.Repeat, "main", name, iterations * step_cycles, repeats=iterations
            )
        name = "training step" if estimate.training else "inference step"
        step = tree.add(result.main, ProgramType.Sequence, "step", name, step_cycles)
        if result.main == root:
            result.main = step
        sent, fetched = self._host_parts(transfers)
        self._host(step, "inputs", sent)
        name = f"micro-batches x {turns}"
        result.loop = tree.add(
            step, ProgramType.Repeat, "repeat", name, turns * sum(work.values()), repeats=turns
        )
        for stage in estimate.time.stages:
            name = f"stage {stage.number} on IPU {stage.ipu}: {', '.join(stage.phases)}"
            node = tree.add(result.loop, ProgramType.Sequence, "stage", name, work.get(stage.number, 0.0))
            if stage.number in ordered.stages:
                self._ops(node, ordered.stages[stage.number])
        if len(ordered.update.ops):
            self._ops(tree.add(step, ProgramType.Sequence, "update", "weight update", update), ordered.update)
        for each in transfers:
            if each.kind != "host":
                self._transfer(step, each)
        self._host(step, "outputs", fetched)
        result.code_bytes = self._code()
        return result

    def _sum(self, listed: Sequenced) -> float:
        plans = np.array(self._found.cost_of, dtype=np.int64)[listed.ops]
        return float(self._cycles[plans].sum()) if len(plans) else 0.0

    # -- ops ---------------------------------------------------------------------------------------------

    def _ops(self, parent: int, listed: Sequenced) -> None:
        if self._found.merged:
            self._merged_ops(parent, listed)
            return
        tree, found, result = self._result.tree, self._found, self._result
        for number, again in zip(listed.ops.tolist(), listed.again.tolist(), strict=True):
            row, plan = found.rows[number], found.cost_of[number]
            name = found.ops[row].name
            shown = f"{name} (again)" if again else name
            cycles, context = float(self._cycles[plan]), self._contexts[row]
            node = tree.add(parent, ProgramType.Sequence, "op", shown, cycles, op=row, context=context)
            (result.node_again if again else result.node)[number] = node
            if result.leaves:
                types, suffixes, repeats, cycles_of, sets = self._of_plan(plan)
                first = int(self._first_set[row])
                tree.add_leaves(
                    node, types, [name + each for each in suffixes], repeats, cycles_of, row,
                    [first + each if each >= 0 else -1 for each in sets] if first >= 0 else [-1] * len(sets), context,
                )  # fmt: skip

    def _merged_ops(self, parent: int, listed: Sequenced) -> None:
        tree, found, result = self._result.tree, self._found, self._result
        nodes: dict[tuple[int, bool], int] = {}
        for number, again in zip(listed.ops.tolist(), listed.again.tolist(), strict=True):
            row = found.rows[number]
            node = nodes.get((row, again))
            if node is None:
                name = found.ops[row].name
                shown = f"{name} (again)" if again else name
                node = tree.add(
                    parent, ProgramType.Sequence, "op", shown, 0.0, op=row, context=self._contexts[row]
                )
                nodes[row, again] = node
            tree.cycles[node] += float(self._cycles[found.cost_of[number]])
            (result.node_again if again else result.node)[number] = node

    def _of_plan(self, plan: int) -> tuple[list[int], list[str], list[int], list[float], list[int]]:
        shaped = self._shaped
        here = slice(int(shaped.first[plan]), int(shaped.first[plan + 1]))
        return (
            shaped.type[here].tolist(), shaped.suffix[here], shaped.repeats[here].tolist(),
            shaped.cycles[here].tolist(), shaped.compute_set[here].tolist(),
        )  # fmt: skip

    # -- beyond the chip ---------------------------------------------------------------------------------

    def _host_parts(self, transfers: Sequence[Transfer]) -> tuple[float, float]:
        """Cycles of transfers with the host that the device waits for: of inputs and of outputs, by their bytes."""
        program = self._estimate.program
        sent, fetched = program.bytes_of(program.inputs), program.bytes_of(program.outputs)
        cycles = sum(each.cycles for each in transfers if each.kind == "host")
        share = sent / (sent + fetched) if sent + fetched else 1.0
        return cycles * share, cycles * (1 - share)

    def _host(self, parent: int, what: str, cycles: float) -> None:
        program = self._estimate.program
        moved = program.inputs if what == "inputs" else program.outputs
        if cycles or (moved and not self._estimate.deployment.synthetic_data):
            tree = self._result.tree
            node = tree.add(parent, ProgramType.Sequence, "host", f"host transfers: {what}", cycles)
            direction = "copyFromHost" if what == "inputs" else "copyToHost"
            self._result.transfers[what] = tree.add_stream(node, f"{what}/{direction}", cycles)

    def _transfer(self, parent: int, each: Transfer) -> None:
        tree = self._result.tree
        kind = ProgramType.Sync if each.kind == "call" else ProgramType.Sequence
        node = tree.add(parent, kind, each.kind, each.name, each.cycles)
        if each.kind in _GLOBAL:
            name = f"{each.name}/{_GLOBAL[each.kind]}"
            leaf = tree.add(node, ProgramType.GlobalExchange, "leaf", name, each.cycles)
        elif each.kind == "streaming":
            leaf = tree.add_stream(node, "remoteBuffers/StreamCopy", each.cycles)
        else:
            leaf = node
        self._result.transfers.setdefault(each.kind, leaf)

    # -- code --------------------------------------------------------------------------------------------

    def _code(self) -> Ints:
        """Exchange and control code of each IPU on the leaves (or ops) that run it, as often as it is there."""
        found, result = self._found, self._result
        total = np.zeros(len(result.tree), dtype=np.int64)
        by_ipu: dict[int, list[int]] = defaultdict(list)
        for number, op in enumerate(self._estimate.program.ops):
            if result.node[number] >= 0:
                by_ipu[op.ipu].append(number)
        sizes = [cost.bytes for cost in found.costs]
        exchange_of = np.array([each.exchange_code for each in sizes], dtype=np.float64)
        control_of = np.array([each.control_code for each in sizes], dtype=np.float64)
        exchanged = np.where(self._shaped.type == ProgramType.DoExchange, self._shaped.cycles, 0.0)
        of_plan = np.zeros(len(sizes))
        np.add.at(of_plan, np.repeat(np.arange(len(sizes)), self._shaped.leaf_counts), exchanged)
        for ipu in self._estimate.memory.ipus:
            numbers = np.array(by_ipu.get(ipu.ipu, []), dtype=np.int64)
            if not len(numbers):
                continue
            plans = np.array(found.cost_of, dtype=np.int64)[numbers]
            once = np.zeros(len(numbers), dtype=bool)
            once[np.unique(plans, return_index=True)[1]] = True  # further runs only call it
            leaves, owner = self._shaped.leaves(plans)
            rows = result.node[numbers][owner]
            if result.leaves:
                rows = rows + 1 + (leaves - self._shaped.first[plans][owner])
            sent = exchanged[leaves] / np.maximum(of_plan[plans][owner], 1e-9)
            counts = self._shaped.leaf_counts[plans][owner]
            control = np.where(once[owner], control_of[plans][owner], CALL_BYTES) / counts
            for category, weights in (
                (Category.EXCHANGE_CODE, sent * exchange_of[plans][owner] * once[owner]),
                (Category.CONTROL_CODE, control),
            ):
                np.add.at(total, rows, divided(ipu.by_category.get(category, 0), weights))
        return total


def first_sets(found: Operations, shaped: Shapes) -> Ints:
    """Row of the first compute set of each row of `ops`; -1 where it has none of its own."""
    plans = np.array([op.plan_id for op in found.ops], dtype=np.int64)
    counts = np.where(plans >= 0, shaped.set_counts[plans], 0) if len(plans) else plans
    firsts = np.cumsum(counts) - counts
    return np.where((plans >= 0) & (np.cumsum(counts) <= FRAMES["compute_sets"].most_rows), firsts, -1)
