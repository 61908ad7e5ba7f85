"""Cycles of parts of a program. They are modelled: the chip model's figures for what ran between two points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from tremula.frontends.poplar.program.programs import CountCycles, Sequence_
from tremula.frontends.poplar.types import UNSIGNED_INT

from ._enums import SyncType
from ._graph import Graph
from ._tensor import Tensor


def _counter(graph: Graph, tile: int, name: str) -> Tensor:
    counter = graph.addVariable(UNSIGNED_INT, [2], name)
    graph.setTileMapping(counter, tile)
    return counter


def cycleCount(
    graph: Graph,
    prog: Sequence_,
    tile: int,
    syncType: SyncType = SyncType.INTERNAL,
    debugContext: str = "",
) -> Tensor:
    """Count the cycles of the programs that `prog` contains so far. Returns two integers: the low and the high
    32 bits."""
    counter = _counter(graph, tile, debugContext or "cycleCount")
    body = Sequence_(*prog.programs)
    prog.programs[:] = [CountCycles(body, counter, int(tile), SyncType(syncType).name)]
    return counter


@overload
def cycleStamp(
    graph: Graph, prog: Sequence_, tile: int, syncType: SyncType = ..., debugContext: str = ...
) -> Tensor: ...
@overload
def cycleStamp(
    graph: Graph, prog: Sequence_, tile: Sequence[int], syncType: SyncType = ..., debugContext: str = ...
) -> list[Tensor]: ...
def cycleStamp(
    graph: Graph,
    prog: Sequence_,
    tile: int | Sequence[int],
    syncType: SyncType = SyncType.INTERNAL,
    debugContext: str = "",
) -> Any:
    """Read the cycles since the engine was loaded: two integers, the low and the high 32 bits; for a list of tiles a
    list of such tensors."""
    tiles = [tile] if isinstance(tile, int) else list(tile)
    counters = []
    for each in tiles:
        counters.append(_counter(graph, each, debugContext or "cycleStamp"))
        prog.add(CountCycles(None, counters[-1], int(each), SyncType(syncType).name))
    return counters[0] if isinstance(tile, int) else counters
