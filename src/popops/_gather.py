"""gather, scatter and tensors for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poplar import Graph, Tensor, Type
from poplar._tensor import as_tensor
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.popops import gathering, scattering, slices
from tremula.frontends.poplar.program.programs import Sequence_


class GatherParams:
    """How large a part of the input one tile may take. The chip model plans gathers itself: it changes nothing."""

    def __init__(self, maxElementsPerTile: int = 65535) -> None:
        self.maxElementsPerTile = int(maxElementsPerTile)


def createGatherInput(
    graph: Graph, type: Type, shape: Sequence[int], *arguments: Any, debug: Any = "", options: Any = None
) -> Tensor:
    """`createGatherInput(graph, type, shape, axis[, params])`, or `createGatherInput(graph, type, shape, sliceSizes,
    startIndexMap)`: a tensor of which each slice is spread over all tiles."""
    taken = Arguments("popops::createGatherInput", arguments, debug, options)
    if taken.next_is_number():
        dims = [taken.integer("axis")]
        taken.maybe(GatherParams)
    else:
        taken.integers("sliceSizes")
        dims = list(taken.integers("startIndexMap"))
    name = taken.end()[0]
    slices.slice_shape(shape, dims, [1] * len(dims), "popops::createGatherInput")
    return as_tensor(slices.sliceable(graph, type, shape, dims, 0, name))


def gather(
    graph: Graph, input: Tensor, indices: Tensor, *arguments: Any, debug: Any = "", options: Any = None
) -> Tensor:
    """`gather(graph, input, indices, axis, prog, params)`: the parts at these places of an axis;
    `gather(graph, input, indices, indexVectorDim, offsetDims, sliceSizes, collapsedSliceDims, startIndexMap, prog)`:
    windows at start indices, as in XLA."""
    taken = Arguments("popops::gather", arguments, debug, options)
    first = taken.integer("axis or indexVectorDim")
    if not taken.next_is(Sequence_):
        offsets, sizes = taken.integers("offsetDims"), taken.integers("sliceSizes")
        collapsed, mapped = taken.integers("collapsedSliceDims"), taken.integers("startIndexMap")
        program = taken.program()
        return as_tensor(
            gathering.gather(
                graph, input, indices, first, offsets, sizes, collapsed, mapped, program, *taken.end()
            )
        )
    program = taken.program()
    taken.maybe(GatherParams)
    return as_tensor(gathering.gather_axis(graph, input, indices, first, program, *taken.end()))


def scatter(
    graph: Graph,
    operand: Tensor,
    indices: Tensor,
    updates: Tensor,
    indexVectorDim: int,
    *arguments: Any,
    debug: Any = "",
    options: Any = None,
) -> None:
    """`scatter(graph, operand, indices, updates, indexVectorDim, updateWindowDims, insertWindowDims,
    scatterDimsToOperandDims[, updateComputation], prog)`: write windows of updates, as in XLA. A function
    `updateComputation(graph, old, new, prog)` returns the element to be written."""
    taken = Arguments("popops::scatter", arguments, debug, options)
    window, inserted = taken.integers("updateWindowDims"), taken.integers("insertWindowDims")
    mapped = taken.integers("scatterDimsToOperandDims")
    function = None if taken.next_is(Sequence_) else taken.any("updateComputation")
    program = taken.program()
    name, given = taken.end()
    if function is None:
        gathering.scatter(
            graph, operand, indices, updates, indexVectorDim, window, inserted, mapped, program, name, given
        )
        return
    scattering.scatter_with(
        graph,
        operand,
        indices,
        updates,
        indexVectorDim,
        window,
        inserted,
        mapped,
        function,
        program,
        name,
        given,
    )


__all__ = ["GatherParams", "createGatherInput", "gather", "scatter"]
