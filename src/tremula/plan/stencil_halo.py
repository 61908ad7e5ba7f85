"""The halos of a grid's blocks: what comes from which neighbour, and how long an exchange of it takes."""

from __future__ import annotations

import itertools
import math

from tremula.hardware.chip import Chip
from tremula.plan.exchange import control_cycles
from tremula.plan.exchange_schedule import Neighbour, slowest_cycles
from tremula.plan.stencil_partition import Partition, Shape
from tremula.program.dtypes import item_bytes
from tremula.program.work import Stencil


def point_bytes(work: Stencil) -> int:
    """Bytes of one grid point."""
    return item_bytes(work.dtype) * work.values


def neighbours(work: Stencil, cut: Partition, block: Shape, chip: Chip) -> list[Neighbour]:
    """The neighbours of a block and the words from each: its side, or its corner, as deep as the radius.

    Vertices of published codes are given the whole box around their block, so corners are exchanged even where the
    arithmetic does not read them.
    """
    found = []
    for offset in itertools.product((-1, 0, 1), repeat=len(block)):
        apart = zip(offset, cut.chips, cut.tiles, strict=True)
        if not any(offset) or any(o and c * t == 1 for o, c, t in apart):
            continue
        points = math.prod(work.radius if o else extent for o, extent in zip(offset, block, strict=True))
        found.append((offset, math.ceil(points * point_bytes(work) / chip.exchange_bytes_per_cycle)))
    return found


def exchange_phase_cycles(around: list[Neighbour], cut: Partition, fragments: int, chip: Chip) -> float:
    """Cycles of the exchange on the slowest tile.

    Each piece takes one instruction of its sender, for it has its own address there; the receiver's pointer moves on by
    itself, and changes with the neighbour. The instructions run beside the words, so the longer of the two counts.
    """
    if not around:
        return 0.0
    words = slowest_cycles(cut.tiles, around)
    instructions = fragments + control_cycles(chip, len(around))
    return max(words, float(instructions)) + chip.exchange_latency_cycles
