"""The execution steps of a run of a placed program: which leaf ran when.

The executor counts how often each node ran and keeps no trace. So a loop has the same number of turns each time it
is entered, and the cases of a branch alternate as evenly as their counts allow. Turns beyond a bound are added up, one
step of each kind, so that the cycles of the steps still sum to those of the run; the run says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tremula.placed.estimate import PlacedEstimate
from tremula.placed.phases import Phase, PhaseKind
from tremula.profile.program_types import ProgramType
from tremula.program.placed_steps import Branch, Call, Repeat, Step, Steps, While, children
from tremula.recording.placed_tree import PlacedTree, type_of
from tremula.recording.segments import Segment, one

#: leaves of a run that are laid out one by one
MOST_LEAVES = 100_000


@dataclass
class Laid:
    """Leaves in the order in which they run, and blocks: named sequences with where they begin and end."""

    nodes: list[int] = field(default_factory=list)
    #: node of the sequence, number of the first leaf, number of the leaf after the last
    blocks: list[tuple[int, int, int]] = field(default_factory=list)
    #: whether turns are missing
    cut: bool = False


def laid_out(
    root: Step, functions: Mapping[str, Step], counts: Mapping[int, int], most: int = MOST_LEAVES
) -> Laid:
    """The leaves of one run of `root`, in which each node ran as often as `counts` says."""
    return _Layout(functions, counts, most).run(root)


class _Layout:
    def __init__(self, functions: Mapping[str, Step], counts: Mapping[int, int], most: int) -> None:
        self._functions, self._counts, self._most = functions, counts, most
        self._entered: dict[int, int] = {}  # runs of each loop so far
        self._taken: dict[int, int] = {}  # and of each case of a branch
        self._laid = Laid()

    def run(self, root: Step) -> Laid:
        # what is done next is last: a node, or the end of a block (a node with the place of its begin)
        waiting: list[tuple[Step, int]] = [(root, -1)]
        while waiting:
            step, begin = waiting.pop()
            if begin >= 0:
                self._laid.blocks.append((step.id, begin, len(self._laid.nodes)))
                continue
            if len(self._laid.nodes) >= self._most:
                self._laid.cut = True
                waiting = [each for each in waiting if each[1] >= 0]
                continue
            if not children(step) and not isinstance(step, Call):
                self._laid.nodes.append(step.id)
            elif isinstance(step, Steps) and step.name:
                waiting.append((step, len(self._laid.nodes)))
            waiting.extend((each, -1) for each in reversed(self._below(step)))
        self._laid.blocks.reverse()
        self._laid.blocks.sort(key=lambda block: block[1])
        return self._laid

    def _below(self, step: Step) -> list[Step]:
        """What one run of a node runs, in order."""
        room = self._most - len(self._laid.nodes) + 1
        match step:
            case Repeat(_, count, body):
                return [body] * min(count, room)
            case While(_, condition, body):
                turns = self._share(step.id, body.id)
                return [condition, *([body, condition] * min(turns, room))]
            case Branch(_, cases):
                return self._case(step.id, cases)
            case Call(_, function):
                return [self._functions[function]]
            case Steps(_, steps):
                return list(steps)
        return []

    def _share(self, node: int, below: int) -> int:
        """Runs of `below` in this run of `node`: all of them end up somewhere."""
        runs, all_runs = self._entered.get(node, 0), max(self._counts.get(node, 1), 1)
        self._entered[node] = runs + 1
        total = self._counts.get(below, 0)
        return total * (runs + 1) // all_runs - total * runs // all_runs

    def _case(self, node: int, cases: Sequence[Step]) -> list[Step]:
        """The case that is furthest behind."""
        left = [self._counts.get(case.id, 0) - self._taken.get(case.id, 0) for case in cases]
        best = int(np.argmax(left))
        if left[best] <= 0:
            return []
        self._taken[cases[best].id] = self._taken.get(cases[best].id, 0) + 1
        return [cases[best]]


class LeafSegments:
    """The steps of each leaf on one IPU."""

    def __init__(self, estimate: PlacedEstimate, tree: PlacedTree, ops: Mapping[int, int], ipu: int) -> None:
        self._estimate, self._tree, self._ops = estimate, tree, ops
        per_ipu = estimate.hardware.chip.tiles
        self._tiles = ipu * per_ipu, (ipu + 1) * per_ipu
        self._ipus = estimate.hardware.ipus
        self._known: dict[int, Segment | None] = {}

    def of(self, node: int) -> Segment | None:
        """The steps of a leaf; None for one that has none."""
        if node not in self._known:
            leaf = self._estimate.leaves.get(node)
            parts: list[Segment] = []
            for number, phase in enumerate(leaf.phases if leaf is not None else ()):
                parts += self._steps(phase, self._tree.phases.get(node, [])[number], self._ops.get(node, -1))
            self._known[node] = _joined(parts) if parts else None
        return self._known[node]

    def _steps(self, phase: Phase, program: int, op: int) -> list[Segment]:
        first, last = self._tiles
        mine = (phase.tiles >= first) & (phase.tiles < last)
        active = int(mine.sum())
        mean = float(phase.on_tiles[mine].mean()) if active and phase.kind is PhaseKind.COMPUTE else 0.0
        step = one(
            type_of(phase), phase.cycles, program=program, tiles=active, mean=mean,
            bytes_in=phase.bytes_in // self._ipus, bytes_out=phase.bytes_out // self._ipus,
        )  # fmt: skip
        step.integers[2, 0], step.integers[3, 0] = op, phase.compute_set
        if phase.kind is not PhaseKind.HOST:
            return [step]
        end = one(ProgramType.StreamCopyEnd, 0.0, program=program + 1, tiles=active)
        end.integers[2, 0] = op
        return [step, end]


def _joined(parts: Sequence[Segment]) -> Segment:
    return Segment(
        np.concatenate([each.integers for each in parts], axis=1),
        np.concatenate([each.cycles for each in parts]),
        np.concatenate([each.mean_tile_cycles for each in parts]),
    )


def added_up(estimate: PlacedEstimate, rest: Mapping[int, int]) -> Segment | None:
    """One step of each kind for leaves that were not laid out, each as often as `rest` says."""
    sums: dict[int, list[float]] = {}
    tiles = estimate.hardware.chip.tiles
    for node, times in rest.items():
        leaf = estimate.leaves.get(node)
        for phase in leaf.phases if leaf is not None and times > 0 else ():
            known = sums.setdefault(int(type_of(phase)), [0.0, 0.0])
            known[0] += times * phase.cycles
            if phase.kind is PhaseKind.COMPUTE and len(phase.tiles):
                known[1] += times * float(phase.on_tiles.mean())
    parts = [
        one(ProgramType(kind), cycles, tiles=tiles, mean=mean)
        for kind, (cycles, mean) in sorted(sums.items())
    ]
    return _joined(parts) if parts else None
