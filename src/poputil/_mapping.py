"""Tile mappings: linear ones, those by use, and clones on other IPUs and graphs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from poplar import Graph, Target, Tensor
from poplar._enums import TensorCloneMethod
from poplar._tensor import Interval, as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import placements, poputil, regions
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.poputil import SMALLEST_PIECE_BYTES
from tremula.frontends.poplar.program.copies import make_copy
from tremula.frontends.poplar.types import Type

UNLESS_ALIASES = TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES


def mapTensorLinearly(
    graph: Graph, t: Tensor, minElementsPerTile: int | None = None, grainSize: int | None = None
) -> None:
    """Spread a tensor evenly over the tiles in order, in multiples of the grain size and at least
    `minElementsPerTile`."""
    poputil.map_tensor_linearly(graph, t, minElementsPerTile, grainSize)


def mapTensorLinearlyWithOffset(graph: Graph, t: Tensor, *arguments: Any) -> None:
    """`mapTensorLinearlyWithOffset(graph, t, [minElementsPerTile, grainSize,] offset=0, ascendingOrder=True)`."""
    taken = Arguments("poputil::mapTensorLinearlyWithOffset", arguments)
    sizes, offset, ascending = _sizes_and_offset(taken)
    smallest, grain = sizes or _default_sizes(graph, t.type)
    begin, end = poputil.linear_pieces(graph, t.type, t.elements, smallest, grain)
    poputil.put_pieces(graph, t, begin, end, _tiles(len(begin), graph.tile_count, offset, ascending))


def _sizes_and_offset(taken: Arguments) -> Any:
    """Sizes where they are given, then the offset and the direction, which may be left out."""
    numbers: list[int] = []
    while taken.next_is_number() and not taken.next_is(bool):
        numbers.append(taken.integer("offset"))
    ascending = taken.maybe(bool)
    taken.end()
    sizes = None
    if len(numbers) > 1:
        sizes, numbers = (numbers[0], numbers[1]), numbers[2:]
    return sizes, (numbers[0] if numbers else 0), ascending is not False


def _default_sizes(graph_or_target: Any, type: Type) -> tuple[int, int]:
    facts = graph_or_target.contents.target if isinstance(graph_or_target, Graph) else graph_or_target.facts
    return -(-SMALLEST_PIECE_BYTES // type.size), facts.vector_width(type)


def _tiles(count: int, tiles: int, offset: int, ascending: bool) -> Any:
    places = np.arange(count, dtype=np.int64)
    return (places + offset) % tiles if ascending else (tiles - 1 - offset - places) % tiles


def calcLinearTileMapping(graph: Any, what: Any, *arguments: Any) -> list[list[Interval]]:
    """The intervals of each tile of a linear mapping: `calcLinearTileMapping(graph, t[, offset, ascending])`,
    `(graph or target, shape, minElementsPerTile, grainSize[, offset, ascending])`, `(target, shape, type[, ...])`."""
    taken = Arguments("poputil::calcLinearTileMapping", arguments)
    kind = what.type if isinstance(what, View) else taken.maybe(Type)
    elements = what.elements if isinstance(what, View) else int(np.prod(what, dtype=np.int64))
    if kind is None:
        sizes = taken.integer("minElementsPerTile"), taken.integer("grainSize")
        _, offset, ascending = _sizes_and_offset(taken)
    else:
        sizes, offset, ascending = _default_sizes(graph, kind), 0, True
        _, offset, ascending = _sizes_and_offset(taken)
    tiles = graph.tile_count if isinstance(graph, Graph) else graph.getNumTiles()
    begin, end = poputil.pieces(elements, sizes[1], sizes[0], tiles)
    pieces = [[Interval(b, e)] for b, e in zip(begin.tolist(), end.tolist(), strict=True)]
    if not offset and ascending:
        return pieces
    found: list[list[Interval]] = [[] for _ in range(tiles)]
    for tile, each in zip(_tiles(len(pieces), tiles, offset, ascending).tolist(), pieces, strict=True):
        found[tile] = each
    return found


def calcLinearTileMappingAndNewOffset(
    graph: Graph, t: Tensor, offset: int = 0
) -> tuple[list[list[Interval]], int]:
    """The linear mapping of a tensor that starts at tile `offset`, and the tile after its last one."""
    pieces = calcLinearTileMapping(graph, t)
    tiles = graph.tile_count
    found: list[list[Interval]] = [[] for _ in range(tiles)]
    for number, each in enumerate(pieces):
        found[(number + offset) % tiles] = each
    return found, (offset + len(pieces)) % tiles


def chooseMappingOffset(numTiles: int, shape: Sequence[int], seed: int = 0x9E3779B9) -> int:
    """A start tile that depends on the shape. The real function returns other numbers."""
    return placements.mapping_offset(int(numTiles), shape, int(seed))


def getTileImbalance(first: Any, *arguments: Any) -> int:
    """`getTileImbalance(mapping or graph, [tensor,] minElementsPerTile=0, grainSize=1)`: how many elements more than a
    balanced mapping gives has the fullest tile."""
    taken = Arguments("poputil::getTileImbalance", arguments)
    found = first.getTileMapping(as_tensor(taken.view("t")).flatten()) if isinstance(first, Graph) else first
    smallest = taken.integer("minElementsPerTile") if taken.next_is_number() else 0
    grain = taken.integer("grainSize") if taken.next_is_number() else 1
    taken.end()
    counts: list[int] = [sum(each.size() for each in tile) for tile in found]
    balanced = max(-(-sum(counts) // max(1, len(counts))), smallest, grain)
    return max(0, max(counts, default=0) - balanced)


class TensorUseTracker:
    """Collects which tiles use which elements, and maps the elements to them."""

    #: how elements are cut into pieces; all methods map alike here: to tiles that use them, evenly
    MappingMethod = Enum(
        "MappingMethod", ["OptimizeHaloRegions", "ConstrainMappingToUsedTiles", "None"], start=0
    )

    def __init__(self, numTiles: int, startTile: int = 0, ascendingMappingOrder: bool = True) -> None:
        self._uses = placements.Uses()

    def add(self, graph: Any, tile: Any = None, t: Any = None) -> None:
        """`add(graph, tile, t)`: a tile uses a tensor; `add(tracker)`: all that another tracker has."""
        if isinstance(graph, TensorUseTracker):
            self._uses.extend(graph._uses)
        else:
            self._uses.add(t, graph.tile(int(tile)))

    def resolve(
        self,
        graph: Graph,
        grainSize: int,
        minElementsPerTile: int,
        extendPartialUsage: bool = False,
        mappingMethod: Any = None,
    ) -> None:
        """Does nothing: `mapTensorsByUse` chooses tiles itself."""

    def mapTensorsByUse(
        self,
        graph: Graph,
        grainSize: int,
        minElementsPerTile: int,
        extendPartialUsage: bool = False,
        mappingMethod: Any = None,
    ) -> None:
        """Map all elements that are used."""
        self._uses.place(graph, int(grainSize), int(minElementsPerTile))

    def empty(self) -> bool:
        """Whether no uses were added."""
        return self._uses.empty


def cloneToIpu(
    graph: Graph, t: Tensor, dstIPU: int, debug: Any = "", method: TensorCloneMethod = UNLESS_ALIASES
) -> Tensor:
    """A clone on the same tiles of another IPU."""
    made = graph.clone(t, str(debug), method)
    placements.to_ipu(graph, t, made, int(dstIPU))
    return made


def cloneToGraph(
    srcGraph: Graph, dstGraph: Graph, t: Tensor, debug: Any = "", method: TensorCloneMethod = UNLESS_ALIASES
) -> Tensor:
    """A clone on the tiles of another virtual graph with the same numbers."""
    made = dstGraph.clone(t, str(debug), method)
    flat = made.flatten()
    for tile, intervals in enumerate(srcGraph.getTileMapping(t)):
        for each in intervals:
            dstGraph.setTileMapping(flat.slice(each), tile)
    return made


def cloneAndExpandAliasing(graph: Graph, t: Tensor, offset: int = 0, debug: Any = "") -> tuple[Tensor, int]:
    """A clone without aliases, and the tile after the last one: what was an alias is mapped linearly from `offset`."""
    made = graph.clone(t, str(debug), TensorCloneMethod.CREATE_NEW_ORDER)
    flat, addresses = made.flatten(), t.addresses().reshape(-1)
    _, first = np.unique(addresses, return_index=True)
    repeated = np.setdiff1d(np.arange(len(addresses)), first)
    if not len(repeated):
        return made, offset
    extra = flat.__class__(graph, t.type, repeated.shape, 0, (), flat.addresses().reshape(-1)[repeated])
    return made, poputil.map_tensor_linearly(graph, extra, offset=int(offset))


def copyToIpu(
    graph: Graph,
    t: Tensor,
    prog: Program,
    dstIPU: int,
    debug: Any = "",
    method: TensorCloneMethod = UNLESS_ALIASES,
) -> Tensor:
    """A copy of a tensor on another IPU."""
    made = cloneToIpu(graph, t, dstIPU, debug, method)
    prog.add(make_copy(t, made, name=str(debug)))
    return made


def createIpuCopy(
    graph: Graph,
    t: Tensor,
    dstIpu: int,
    debug: Any = "",
    method: TensorCloneMethod = TensorCloneMethod.PRESERVE_ORDER_AND_ALIASES,
) -> tuple[Tensor, Tensor, Tensor]:
    """A clone on another IPU, and the source and target of the copy to it. C++ returns the last two in arguments."""
    made = cloneToIpu(graph, t, dstIpu, debug, method)
    source, target = t.flatten(), made.flatten()
    _, first = np.unique(target.addresses(), return_index=True)
    if len(first) != target.elements:
        first = np.sort(first)
        source, target = (
            each.__class__(graph, each.type, first.shape, 0, (), each.addresses()[first])
            for each in (source, target)
        )
    return made, source, target


def dimIsSplitOverTiles(graph: Graph, t: Tensor, dimension: int) -> bool:
    """Whether elements along a dimension are on different tiles."""
    return placements.dimension_is_split(graph, t, int(dimension))


def dimIsSplitOverIPUs(graph: Graph, t: Tensor, dimension: int) -> bool:
    """Whether elements along a dimension are on different IPUs."""
    return placements.dimension_is_split(graph, t, int(dimension), graph.contents.target.tiles_per_ipu)


def createBroadcastOperand(
    graph: Graph, fullTensor: Tensor, type: Type, dim: int, ditherMapping: bool = False, debug: Any = ""
) -> Tensor:
    """A vector for an operation that broadcasts it along all dimensions except `dim`, on the tiles that use it."""
    return as_tensor(
        placements.broadcast_operand(graph, fullTensor, type, int(dim), bool(ditherMapping), str(debug))
    )


def transformTileIndex(tile: int, numTiles: int, offset: int, ascending: bool) -> int:
    """The tile that replaces `tile` in a mapping that starts at `offset`."""
    return (tile + offset) % numTiles if ascending else (numTiles - 1 - offset - tile) % numTiles


def invTransformTileIndex(tile: int, numTiles: int, offset: int, ascending: bool) -> int:
    """The opposite of `transformTileIndex`."""
    return (tile - offset) % numTiles if ascending else (numTiles - 1 - offset - tile) % numTiles


def mergeAdjacentRegions(regions_: Any) -> None:
    """Sort a list of intervals, or several lists, and merge adjacent intervals, in place."""
    if regions_ and isinstance(regions_[0], list):
        for each in regions_:
            mergeAdjacentRegions(each)
        return
    regions_[:] = [Interval(*each) for each in regions.merged(_pairs(regions_))]


def _pairs(intervals: Any) -> list[tuple[int, int]]:
    return [(each.begin(), each.end()) if isinstance(each, Interval) else tuple(each) for each in intervals]


def flattenIntervals(intervals: Any) -> list[Interval]:
    """All intervals of several lists."""
    return [each for one in intervals for each in one]


def splitRegions(regions_: Any, grainSize: int, maxPartitions: int, *limits: Any) -> Any:
    """`splitRegions(regions, grainSize, maxPartitions, minElementsPerPartition=0, maxElementsPerPartition,
    maxElementsPerRegion)`: intervals, or lists of them, in balanced parts of whole grains."""
    given = [int(each) for each in (grainSize, maxPartitions, *limits)]
    if regions_ and isinstance(regions_[0], list):
        parts = regions.split_lists([_pairs(each) for each in regions_], *given)
        return [[[Interval(*each) for each in one] for one in part] for part in parts]
    return [[Interval(*each) for each in part] for part in regions.split(_pairs(regions_), *given)]


def splitRegionsBetweenWorkers(target: Target, regions_: Any, grainSize: int, *limits: Any) -> Any:
    """Split intervals into as many parts as a tile has workers."""
    return splitRegions(regions_, grainSize, target.getNumWorkerContexts(), *limits)


def intervalSequenceNumElements(sequence: Any) -> int:
    """The number of elements in several lists of intervals."""
    return sum(end - begin for each in sequence for begin, end in _pairs(each))


def calculateUnshufflingIntervals(intervals: Any) -> list[Interval]:
    """The position of each interval after all intervals are concatenated in the order of their start."""
    return [Interval(*each) for each in regions.unshuffling(_pairs(intervals))]


def balancedPartition(rangeUpperBound: int, splitCount: int) -> list[int]:
    """Numbers that differ by at most one and sum to the first argument."""
    if splitCount < 1:
        raise PoplibsError(
            f"poputil::balancedPartition: {rangeUpperBound} cannot be split into {splitCount} parts"
        )
    return regions.balanced(int(rangeUpperBound), int(splitCount))


__all__ = [
    "TensorUseTracker", "balancedPartition", "calcLinearTileMapping", "calcLinearTileMappingAndNewOffset",
    "calculateUnshufflingIntervals", "chooseMappingOffset", "cloneAndExpandAliasing", "cloneToGraph", "cloneToIpu",
    "copyToIpu", "createBroadcastOperand", "createIpuCopy", "dimIsSplitOverIPUs", "dimIsSplitOverTiles",
    "flattenIntervals", "getTileImbalance", "intervalSequenceNumElements", "invTransformTileIndex",
    "mapTensorLinearly", "mapTensorLinearlyWithOffset", "mergeAdjacentRegions", "splitRegions",
    "splitRegionsBetweenWorkers", "transformTileIndex",
]  # fmt: skip
