"""Program steps as the original counts them: one for every leaf of the program tree, not one for every op.

The chip model knows what is alive while an op runs; all leaves of the op have the same. An op that runs a second time
for the backward pass has the leaves of its second node in the tree. A program step without work has no leaf and stays
one step.
"""

from __future__ import annotations

import functools

import numpy as np

from pva.source import Groups, Ints, Source


class LivenessIndex:
    """Which program each step runs, and which program step of the file it belongs to."""

    def __init__(self, source: Source) -> None:
        ops, again = source.profile.program_steps
        leaves, self._nodes = _leaves(source)
        first, second = _nodes_of_ops(source, leaves, self._nodes)
        node = np.full(len(ops), -1, dtype=np.int64)
        works = ops >= 0
        node[works] = np.where(again[works] > 0, second[ops[works]], first[ops[works]])
        groups = Groups(self._nodes, source.rows("programs"))
        sizes = (
            np.where(node >= 0, groups.sizes[np.maximum(node, 0)], 0)
            if len(groups.sizes)
            else np.zeros_like(node)
        )
        counts = np.maximum(sizes, 1)
        #: first step of each program step of the file, and the number of steps at the end
        self.bounds: Ints = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        #: program step of the file
        self.file_step: Ints = np.repeat(np.arange(len(ops)), counts)
        offsets = np.arange(self.bounds[-1]) - self.bounds[self.file_step]
        self.program: Ints = np.full(len(self.file_step), -1, dtype=np.int64)
        has = sizes[self.file_step] > 0
        self.program[has] = leaves[groups.positions(node[self.file_step[has]], offsets[has])]

    def __len__(self) -> int:
        return len(self.program)

    @functools.cached_property
    def by_program(self) -> Groups:
        """Steps of each program."""
        return Groups(self.program, int(self.program.max(initial=-1)) + 1)

    def interval(self, first: int, last: int) -> tuple[int, int]:
        """The steps, begin and end, of program steps `first` to `last` of the file; all of them if they are -1."""
        if first < 0:
            return 0, len(self)
        most = len(self.bounds) - 1  # a file may name steps that are not there
        return int(self.bounds[min(first, most)]), int(self.bounds[min(last + 1, most)])


def _leaves(source: Source) -> tuple[Ints, Ints]:
    """Rows of the leaves of ops, and of the node of the op that each belongs to."""
    parent, op = source.numbers("programs", "parent"), source.numbers("programs", "op_id")
    leaves = np.flatnonzero((source.children.sizes == 0) & (op >= 0)).astype(np.int64)
    above = parent[leaves]
    same = (above >= 0) & (op[np.maximum(above, 0)] == op[leaves])
    return leaves, np.where(same, above, leaves)


def _nodes_of_ops(source: Source, leaves: Ints, nodes: Ints) -> tuple[Ints, Ints]:
    """First and last node of each op; -1 for ops without leaves."""
    op = source.numbers("programs", "op_id")[leaves]
    first = np.full(len(source.profile.ops), -1, dtype=np.int64)
    last = first.copy()
    last[op] = nodes  # of several assignments the last one counts
    first[op[::-1]] = nodes[::-1]
    return first, last
