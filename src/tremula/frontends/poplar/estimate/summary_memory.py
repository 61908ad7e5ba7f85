"""The memory part of a profile summary."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tremula.placed.estimate import PlacedEstimate
from tremula.placed.memory import Use
from tremula.program.placed import Ints

_STARS, _BINS, _LISTED = 40, 12, 5
#: variables that showVarStorage lists, largest first
_MOST_VARIABLES = 1_000
#: uses by the names of the original, in its order
_TYPES = (
    ("Variables", (Use.VARIABLES, Use.TEMPORARY_VARIABLES, Use.BUFFERS)),
    ("Constants", (Use.CONSTANTS,)),
    ("Stack", (Use.STACKS,)),
    ("Vertex Instances", (Use.VERTEX_STATE,)),
    ("Vertex Field Data", (Use.EDGE_POINTERS,)),
    ("Control Code", (Use.CONTROL_CODE,)),
    ("Vertex Code", (Use.VERTEX_CODE,)),
    ("Internal Exchange Code", (Use.EXCHANGE_CODE,)),
    ("Host Exchange Code", (Use.HOST_CODE,)),
)


def lines(estimate: PlacedEstimate, *, by_ipu: bool) -> Iterator[str]:
    """Totals, the histogram of the tiles, the fullest tiles."""
    memory = estimate.memory
    yield "Memory Usage:"
    yield from _tree("  Total:", estimate, slice(None), "  ")
    yield from _vertex_data(estimate)
    yield from _tiles(estimate)
    per_ipu = estimate.hardware.chip.tiles
    if by_ipu:
        for ipu in range(estimate.hardware.ipus):
            yield from _tree(f"  IPU {ipu}:", estimate, slice(ipu * per_ipu, (ipu + 1) * per_ipu), "  ")
    order = np.argsort(-memory.total, kind="stable")[:_LISTED]
    for tile in order.tolist():
        yield from _tree(f"  Tile # {tile} memory usage:", estimate, slice(tile, tile + 1), "  ")


def _tree(title: str, estimate: PlacedEstimate, tiles: slice, indent: str) -> Iterator[str]:
    memory = estimate.memory
    gaps = int(memory.tiles[Use.GAPS][tiles].sum())
    total = int(memory.total[tiles].sum())
    limit = estimate.hardware.chip.tile_memory_bytes
    over = int(np.maximum(memory.total[tiles] - limit, 0).sum())
    yield title
    yield f"{indent}  Including Gaps: {total:>20,} B"
    yield f"{indent}  Excluding Gaps:"
    yield f"{indent}    By Memory Region:"
    yield f"{indent}      In memory:  {total - gaps - min(over, total - gaps):>20,} B"
    yield f"{indent}      Overflowed: {over:>20,} B"
    yield f"{indent}    Total: {total - gaps:>25,} B"
    yield f"{indent}    By Data Type:"
    for name, uses in _TYPES:
        size = sum(int(memory.tiles[use][tiles].sum()) for use in uses)
        yield f"{indent}      {f'{name}:':<28} {size:>16,} B"


def _vertex_data(estimate: PlacedEstimate) -> Iterator[str]:
    memory = estimate.memory
    state, pointers = (int(memory.tiles[use].sum()) for use in (Use.VERTEX_STATE, Use.EDGE_POINTERS))
    yield f"    Vertex Data ({state + pointers:,}B):"
    yield "      By Category:"
    yield f"        {'Internal vertex state:':<26} {state:>16,} B"
    yield f"        {'Edge pointers:':<26} {pointers:>16,} B"
    types = sorted(memory.vertex_types.items(), key=lambda each: -each[1][1])
    if types:
        yield "      By Type:"
        width = max(len(name) for name, _ in types)
        for name, (_, size) in types:
            yield f"        {name:<{width}} {size:>16,} B"


def _tiles(estimate: PlacedEstimate) -> Iterator[str]:
    memory = estimate.memory
    whole, used = memory.total, memory.total - memory.tiles[Use.GAPS]
    yield "  By Tile (Excluding Gaps):"
    yield f"    {'Range (KB)':>20}  {'Histogram (Excluding Gaps)':<{_STARS}}  Count (tiles)"
    edges = np.linspace(int(used.min()), int(used.max()) + 1, min(_BINS, int(np.ptp(used)) + 1) + 1)
    heights, _ = np.histogram(used, edges)
    for low, high, height in zip(edges[:-1], edges[1:], heights.tolist(), strict=True):
        stars = "*" * max(int(height > 0), round(_STARS * height / max(1, int(heights.max()))))
        yield f"    {low / 1024:>8,.0f} - {high / 1024:>9,.0f}  {stars:<{_STARS}}  {height:>13,}"
    yield ""
    for label, values in (("Including", whole), ("Excluding", used)):
        yield f"    Maximum ({label} Gaps): {_on_tile(values)}"
    over = int((memory.most > estimate.hardware.chip.tile_memory_bytes).sum())
    yield f"    {over:,} tile(s) out of memory"
    yield ""


def _on_tile(values: Ints) -> str:
    tile = int(np.argmax(values))
    return f"{int(values[tile]):,} ({values[tile] / 1024:,.1f} K) on tile {tile:,}"


def variables(estimate: PlacedEstimate) -> Iterator[str]:
    """The variables with their bytes, tiles and lifetimes, largest first."""
    memory, named = estimate.memory, estimate.program.variables
    count = named.count
    size, tiles = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    np.add.at(size, memory.parts.variable, memory.parts.bytes)
    np.add.at(tiles, memory.parts.variable, 1)
    always = np.zeros(count, dtype=np.bool_)
    always[memory.lifetimes.always] = True
    yield "Variable Storage:"
    order = np.argsort(-size, kind="stable")
    for number in order[:_MOST_VARIABLES].tolist():
        when = (
            "always live"
            if always[number]
            else f"steps {memory.lifetimes.first[number]} to {memory.lifetimes.last[number]}"
        )
        name = named.names[number] or "(without a name)"
        yield f"  {name:<40} {int(size[number]):>14,} B on {int(tiles[number]):>6,} tiles, {when}"
    if count > _MOST_VARIABLES:
        yield f"  and {count - _MOST_VARIABLES:,} more"
