"""The program tree of a placed program: its control tree, with the phases of each leaf below it.

Row 0 is the root. Below it are the programs, in one node that stands for a run of each, and the functions that calls
name. Cycles of a node are those of all its repeats in one run of its parent; loops whose turns were never counted have
one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tremula.placed.estimate import PlacedEstimate
from tremula.placed.phases import Leaf, Phase, PhaseKind
from tremula.profile.frames import DEEPEST_TREE
from tremula.profile.program_types import ProgramType
from tremula.program.placed_steps import (
    Branch,
    Call,
    Free,
    Repeat,
    Step,
    Steps,
    While,
    called,
    children,
)
from tremula.recording.tree import Tree

#: programs of each phase, with the number of rows that it takes
_TYPES = {
    PhaseKind.SYNC: ProgramType.Sync,
    PhaseKind.GLOBAL_SYNC: ProgramType.SyncAns,
    PhaseKind.EXCHANGE: ProgramType.DoExchange,
    PhaseKind.GLOBAL_EXCHANGE: ProgramType.GlobalExchange,
    PhaseKind.COMPUTE: ProgramType.OnTileExecute,
    PhaseKind.HOST: ProgramType.StreamCopyMid,
}
#: nodes below the programs that are deeper are hung up higher
_DEEPEST = DEEPEST_TREE - 4


@dataclass
class PlacedTree:
    """The tree, and the rows of what the steps of a run name."""

    tree: Tree = field(default_factory=Tree)
    #: row of each leaf's node, and of the first of its phases
    rows: dict[int, int] = field(default_factory=dict)
    phases: dict[int, list[int]] = field(default_factory=dict)
    #: row of every node of the control trees
    nodes: dict[int, int] = field(default_factory=dict)
    code_bytes: list[int] = field(default_factory=list)


def type_of(phase: Phase) -> ProgramType:
    """The kind of program that a phase is."""
    if phase.kind is PhaseKind.GLOBAL_SYNC and phase.name.endswith("StreamCopyBegin"):
        return ProgramType.StreamCopyBegin
    return _TYPES[phase.kind]


def placed_tree(
    estimate: PlacedEstimate, ops: Mapping[int, int], contexts: Mapping[int, int], counts: Mapping[int, int]
) -> PlacedTree:
    """All nodes; `ops` and `contexts` give the rows of each leaf, `counts` how often each node ran."""
    return _Builder(estimate, ops, contexts, counts).built()


class _Builder:
    def __init__(
        self,
        estimate: PlacedEstimate,
        ops: Mapping[int, int],
        contexts: Mapping[int, int],
        counts: Mapping[int, int],
    ) -> None:
        self._estimate = estimate
        self._ops, self._contexts, self._counts = ops, contexts, counts
        self._result = PlacedTree()
        self._cycles: dict[int, float] = {}
        self._functions: dict[str, float] = {}

    def built(self) -> PlacedTree:
        program, result = self._estimate.program, self._result
        for name in reversed([each for root in program.programs for each in called(root, program.functions)]):
            if name not in self._functions:
                self._functions[name] = self._of(program.functions[name])
        total = sum(self._of(root) for root in program.programs)
        root = self._add(-1, ProgramType.OnEveryTileSwitch, "switch", program.name or "program", total)
        self._add(root, ProgramType.Sequence, "upload", "initial values", 0.0)
        step = self._add(root, ProgramType.Sequence, "step", "one run of each program", total)
        names = list(program.program_names)
        for number, each in enumerate(program.programs):
            name = names[number] if number < len(names) else f"program {number}"
            top = self._add(step, ProgramType.Sequence, "sequence", name, self._of(each))
            self._walk(each, top, 3)
        for name, body in program.functions.items():
            top = self._add(root, ProgramType.Sequence, "sequence", f"function {name}", self._of(body))
            self._walk(body, top, 2)
        result.code_bytes += [0] * (len(result.tree) - len(result.code_bytes))
        return result

    def _add(
        self, parent: int, type: ProgramType, kind: str, name: str, cycles: float, repeats: int = 1
    ) -> int:
        row = self._result.tree.add(parent, type, kind, name, cycles, repeats=repeats)
        self._result.code_bytes.append(0)
        return row

    def _walk(self, top: Step, parent: int, depth: int) -> None:
        waiting: list[tuple[Step, int, int, int]] = [(top, parent, depth, 1)]
        while waiting:
            step, above, level, repeats = waiting.pop()
            row = above
            shown = level < _DEEPEST
            if not children(step):
                self._leaf(step, above, repeats)
                continue
            if shown:
                row = self._inner(step, above, repeats)
                self._result.nodes[step.id] = row
            below = [(each, row, level + 1, self._repeats(step, each)) for each in children(step)]
            waiting.extend(reversed(below))

    def _inner(self, step: Step, parent: int, repeats: int) -> int:
        cycles = repeats * self._of(step)
        match step:
            case Repeat(_, count, _):
                return self._add(parent, ProgramType.Repeat, "repeat", f"Repeat x {count}", cycles, repeats)
            case While():
                return self._add(parent, ProgramType.RepeatWhile, "repeat", "RepeatWhile", cycles, repeats)
            case Branch(_, cases):
                kind = ProgramType.If if len(cases) == 2 else ProgramType.Switch
                return self._add(parent, kind, "sequence", kind.name, cycles, repeats)
        name = step.name if isinstance(step, Steps) else ""
        return self._add(parent, ProgramType.Sequence, "sequence", name or "Sequence", cycles, repeats)

    def _repeats(self, above: Step, below: Step) -> int:
        """How often `below` runs in one run of `above`, as far as that is a whole number."""
        match above:
            case Repeat(_, count, _):
                return count
            case While() | Branch():
                runs = self._counts.get(above.id, 0)
                return round(self._counts.get(below.id, 0) / runs) if runs else 1
        return 1

    def _of(self, step: Step) -> float:
        """Cycles of one run of a node."""
        found = self._cycles.get(step.id)
        if found is None:
            order, waiting = [], [step]
            while waiting:
                order.append(waiting.pop())
                waiting.extend(children(order[-1]))
            for each in reversed(order):
                self._cycles[each.id] = self._own(each) + sum(
                    self._repeats(each, below) * self._cycles[below.id] for below in children(each)
                )
            found = self._cycles[step.id]
        return found

    def _own(self, step: Step) -> float:
        if isinstance(step, Call):
            return self._functions.get(step.function, 0.0)
        leaf = self._estimate.leaves.get(step.id)
        return leaf.cycles if leaf is not None else 0.0

    def _leaf(self, step: Step, parent: int, repeats: int) -> None:
        result = self._result
        cycles = repeats * self._of(step)
        if isinstance(step, Call):
            name = f"function {step.function}"
            result.nodes[step.id] = self._add(parent, ProgramType.Call, "call", name, cycles, repeats)
            return
        leaf = self._estimate.leaves.get(step.id)
        if leaf is None:  # an empty sequence
            return
        if isinstance(step, Free):
            kind = ProgramType.WriteUndef if step.name == "WriteUndef" else ProgramType.Unknown
            result.rows[step.id] = result.nodes[step.id] = self._add(
                parent, kind, "leaf", step.name, 0.0, repeats
            )
            return
        row = result.tree.add(
            parent, ProgramType.Sequence, "op", leaf.name, cycles, repeats=repeats,
            op=self._ops.get(step.id, -1), context=self._contexts.get(step.id, -1),
        )  # fmt: skip
        result.code_bytes.append(0)
        result.rows[step.id] = result.nodes[step.id] = row
        result.phases[step.id] = [self._phase(leaf, phase, row) for phase in leaf.phases]

    def _phase(self, leaf: Leaf, phase: Phase, parent: int) -> int:
        tree = self._result.tree
        op, context = self._ops.get(leaf.id, -1), self._contexts.get(leaf.id, -1)
        row = len(tree)
        tree.add_leaves(
            parent, [type_of(phase)], [phase.name], [1], [phase.cycles], op, [phase.compute_set], context
        )
        self._result.code_bytes.append(phase.code_bytes)
        if phase.kind is PhaseKind.HOST:  # the end of a stream copy takes no time of its own
            name = phase.name.replace("StreamCopyMid", "StreamCopyEnd")
            tree.add_leaves(parent, [ProgramType.StreamCopyEnd], [name], [1], [0.0], op, [-1], context)
            self._result.code_bytes.append(0)
        return row
