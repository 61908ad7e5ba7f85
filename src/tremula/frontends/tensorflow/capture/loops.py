"""The loops of a program that the device's own are: iterations of the program, and micro-batches of an update.

The loops around the update of the weights (or, without training, around the feeds) are the iterations of the program. A
loop below them in which gradients are accumulated runs over the micro-batches of an update. All other loops belong to
the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tremula.frontends.tensorflow.capture.nodes import Block, Node, Variable
from tremula.program.op import Phase


@dataclass
class LoopCounts:
    """How often a step runs.

    Attributes:
        iterations: steps per call of the program: updates in training, micro-batches else.
        accumulation: micro-batches per update.
        device_blocks: the loops around a step.
        accumulation_block: the loop over the micro-batches; None if there is none.
        unknown: whether the count of one of these loops is not known; 1 is taken.
    """

    iterations: int = 1
    accumulation: int = 1
    device_blocks: tuple[Block, ...] = ()
    accumulation_block: Block | None = None
    unknown: bool = False

    def is_outside(self, block: Block | None) -> bool:
        """Whether what is in a block runs before or after the loop of the device."""
        return bool(self.device_blocks) and self.device_blocks[0] not in set(around(block))

    def in_accumulation(self, block: Block | None) -> bool:
        """Whether what is in a block runs for every micro-batch."""
        return self.accumulation_block is not None and self.accumulation_block in set(around(block))

    def inner(self, block: Block | None) -> list[Block]:
        """The loops and branches of the model that are around a block, the outermost first."""
        outer = {*self.device_blocks, self.accumulation_block}
        return [
            each for each in reversed(list(around(block))) if each not in outer and each.update_every is None
        ]


def around(block: Block | None) -> Iterator[Block]:
    """A block and those around it."""
    while block is not None:
        yield block
        block = block.parent


def find(nodes: Sequence[Node], trainable: set[Variable]) -> LoopCounts:
    """The loops of a program."""
    updates = [
        node
        for node in nodes
        if node.phase is Phase.UPDATE and any(value.variable in trainable for value in node.inputs)
    ]
    feeds = [node for node in nodes if node.type == "IteratorGetNext" or node.facts.get("feed") == "infeed"]
    device = _common(node.block for node in updates or feeds)
    counts = LoopCounts(device_blocks=tuple(device))
    for block in device:
        counts.iterations *= max(1, block.trips)
        counts.unknown |= block.unknown_trips
    every = next((b.update_every for node in updates for b in around(node.block) if b.update_every), None)
    if every is not None:
        counts.accumulation = every
        counts.iterations = max(1, counts.iterations // every)
        return counts
    accumulated = [node for node in nodes if node.phase is Phase.ACCUMULATE]
    inside = [block for block in _common(node.block for node in accumulated) if block not in device]
    if updates and inside:
        counts.accumulation_block = inside[-1]
        counts.accumulation = max(1, inside[-1].trips)
        counts.unknown |= inside[-1].unknown_trips
    return counts


def _common(blocks: Iterable[Block | None]) -> list[Block]:
    """The loops that are around all of some blocks, the innermost first."""
    common: list[Block] | None = None
    for block in blocks:
        chain = [each for each in around(block) if each.branch is None and each.update_every is None]
        common = chain if common is None else [each for each in common if each in chain]
    return common or []
