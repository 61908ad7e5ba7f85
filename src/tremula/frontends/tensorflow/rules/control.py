"""Loops and branches of a captured program as a control tree of its ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tremula.frontends.tensorflow.capture.nodes import Block, Value
from tremula.program.control import Branch, Control, Execute, Repeat
from tremula.program.control import Sequence as Steps


def control_tree(blocks: Sequence[Sequence[Block]], number: Callable[[Value | None], int]) -> Control | None:
    """The tree of a program's ops; None if all run once, in the order of the list.

    Args:
        blocks: for each op, the loops and branches around it, the outermost first.
        number: of the tensor of a value that chooses a case.
    """
    if not any(blocks):
        return None
    return _Tree(blocks, number).steps(list(range(len(blocks))), 0)


class _Tree:
    def __init__(self, blocks: Sequence[Sequence[Block]], number: Callable[[Value | None], int]) -> None:
        self._blocks, self._number = blocks, number

    def steps(self, ops: list[int], depth: int) -> Control:
        """Some ops one after the other, with the blocks around them from this depth on."""
        blocks, found = self._blocks, list[Control]()
        position = 0
        while position < len(ops):
            op = ops[position]
            if len(blocks[op]) <= depth:
                found.append(Execute(op))
                position += 1
                continue
            block = blocks[op][depth]
            run = [op]
            while position + len(run) < len(ops) and _same(blocks[ops[position + len(run)]], depth, block):
                run.append(ops[position + len(run)])
            position += len(run)
            found.append(self._node(block, run, depth))
        return Steps(tuple(found))

    def _node(self, block: Block, ops: list[int], depth: int) -> Control:
        if block.branch is None:
            return Repeat(max(0, block.trips), self.steps(ops, depth + 1))
        cases: dict[int, list[int]] = {}
        for op in ops:
            cases.setdefault(self._blocks[op][depth].case, []).append(op)
        return Branch(
            self._number(block.predicate),
            tuple(self.steps(listed, depth + 1) for _, listed in sorted(cases.items())),
        )


def _same(around: Sequence[Block], depth: int, block: Block) -> bool:
    """Whether an op is in the same loop, or in a case of the same branch."""
    if len(around) <= depth:
        return False
    other = around[depth]
    return other is block or (block.branch is not None and other.branch == block.branch)
