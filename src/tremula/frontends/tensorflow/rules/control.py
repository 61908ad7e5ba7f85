"""Loops and branches of a captured program as a control tree of its ops."""

from __future__ import annotations

from collections.abc import Sequence

from tremula.frontends.tensorflow.capture.nodes import Block
from tremula.program.control import Branch, Control, Execute, Repeat
from tremula.program.control import Sequence as Steps


def control_tree(blocks: Sequence[Sequence[Block]]) -> Control | None:
    """The tree of a program's ops; None if all run once, in the order of the list.

    Args:
        blocks: for each op, the loops and branches around it, the outermost first.
    """
    if not any(blocks):
        return None
    return Steps(tuple(_steps(list(range(len(blocks))), blocks, 0)))


def _steps(ops: list[int], blocks: Sequence[Sequence[Block]], depth: int) -> list[Control]:
    found: list[Control] = []
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
        found.append(_node(block, run, blocks, depth))
    return found


def _node(block: Block, ops: list[int], blocks: Sequence[Sequence[Block]], depth: int) -> Control:
    if block.branch is None:
        return Repeat(max(0, block.trips), Steps(tuple(_steps(ops, blocks, depth + 1))))
    cases: dict[int, list[int]] = {}
    for op in ops:
        cases.setdefault(blocks[op][depth].case, []).append(op)
    return Branch(
        -1, tuple(Steps(tuple(_steps(listed, blocks, depth + 1))) for _, listed in sorted(cases.items()))
    )


def _same(around: Sequence[Block], depth: int, block: Block) -> bool:
    """Whether an op is in the same loop, or in a case of the same branch."""
    if len(around) <= depth:
        return False
    other = around[depth]
    return other is block or (block.branch is not None and other.branch == block.branch)
