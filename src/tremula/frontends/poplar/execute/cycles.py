"""Modelled cycles while programs run: how often each block ran, times the cycles of what is in it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.execute import values
from tremula.frontends.poplar.execute.loaded import Loaded
from tremula.frontends.poplar.execute.moves import Call
from tremula.frontends.poplar.program.numbering import Numbering, nodes
from tremula.frontends.poplar.program.programs import CountCycles


def are_stamped(numbering: Numbering) -> bool:
    """Whether cycles so far are read in the middle of a run: then loops are counted turn by turn."""
    return any(
        isinstance(each.program, CountCycles) and each.program.body is None for each in nodes(numbering)
    )


def count_block(counts: list[int], block: int) -> Call:
    """Count a run of a block."""

    def run() -> None:
        counts[block] += 1

    return run


def count(
    program: CountCycles, body: tuple[Call, int] | None, loaded: Loaded, blocks: Mapping[int, int]
) -> Call:
    """Write the modelled cycles of the body, or of all that ran so far, as two words.

    Args:
        program: the program.
        body: the call of its body and the block of that.
        loaded: the state of the programs.
        blocks: the block of each node; complete when the program runs.
    """
    writes = [values.writer(program.counter, arena) for arena in loaded.arenas]
    table: list[NDArray[np.float64]] = []

    def cycles() -> float:
        if not table:
            table.append(_cycles_of_blocks(loaded, blocks))
        return float(table[0] @ np.array(loaded.counts, dtype=np.float64))

    def run() -> None:
        start = 0.0
        if body is not None:
            call, block = body
            start = cycles()
            loaded.counts[block] += 1
            call()
        found = round(cycles() - start)
        words = np.array([found & 0xFFFF_FFFF, found >> 32], dtype=np.uint32)
        for replica in loaded.active:
            writes[replica](words)

    return run


def _cycles_of_blocks(loaded: Loaded, blocks: Mapping[int, int]) -> NDArray[np.float64]:
    """The modelled cycles of one run of each block, without the blocks in it."""
    table = np.zeros(len(loaded.counts))
    for node, cycles in loaded.leaf_cycles().items():
        table[blocks[node]] += cycles
    return table
