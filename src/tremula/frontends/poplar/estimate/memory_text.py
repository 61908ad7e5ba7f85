"""What to say about a program that does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tremula import log
from tremula.formatting import counted

if TYPE_CHECKING:
    from tremula.placed.estimate import PlacedEstimate

#: uses of memory and variables that are named
_NAMED = 3


def problem(estimate: PlacedEstimate) -> str | None:
    """The text, or None if every tile has room."""
    memory, limit = estimate.memory, estimate.hardware.chip.tile_memory_bytes
    over = np.flatnonzero(memory.most > limit)
    if not len(over):
        return None
    worst = int(over[np.argmax(memory.most[over])])
    first = int(over[0])
    uses = sorted(
        ((int(tiles[worst]), use) for use, tiles in memory.tiles.items()), key=lambda each: -each[0]
    )
    parts = ", ".join(f"{use.value} {size:,}" for size, use in uses[:_NAMED] if size)
    lines = [
        f"Out of memory on tile {worst}: {int(memory.most[worst])} bytes used but tiles only have {limit} bytes of "
        "memory (modelled).",
        f"Too small are {counted(len(over), 'tile')} of {estimate.hardware.tiles}, the first of them {first}. "
        f"Most bytes on tile {worst}: {parts}.",
    ]
    largest = _largest(estimate, worst)
    if largest:
        lines.append(f"Largest variables there: {largest}.")
    lines.append("Map variables to more tiles, or use more IPUs.")
    return " ".join(lines)


def warn(text: str) -> None:
    """Say once that a program does not fit, and that it runs all the same."""
    log.warn_once(
        f"out of memory: {text}",
        f"{text}\nThe program continues, because the host has enough memory; hardware would stop here. "
        "TREMULA_OUT_OF_MEMORY=error makes this an error.",
    )


def _largest(estimate: PlacedEstimate, tile: int) -> str:
    parts, variables = estimate.memory.parts, estimate.program.variables
    here = np.flatnonzero(parts.tile == tile)
    order = here[np.argsort(-parts.bytes[here], kind="stable")][:_NAMED]
    named = [
        f"{variables.names[parts.variable[row]] or 'a variable without a name'} ({int(parts.bytes[row]):,} bytes)"
        for row in order.tolist()
    ]
    return ", ".join(named)
