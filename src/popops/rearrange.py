"""Transpositions in compute sets, and changes of the grouping of elements in memory.

The order of elements on a tile is not modelled, so regrouping returns its tensor as it is: results are the same.
"""

from __future__ import annotations

from typing import Any

from poplar import Graph, Target, Tensor, Type
from poplar._tensor import as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.libs import outputs, vertices
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops import vertex_types

_GRAINS = {1: 8, 2: 4, 4: 2}


def partialTranspose(
    graph: Graph, in_: Tensor, cs: ComputeSet, debug: Any = "", options: Any = None
) -> Tensor:
    """A new tensor with the last two dimensions swapped, written by vertices in a compute set."""
    if not isinstance(cs, ComputeSet) or in_.rank < 2:
        raise PoplibsError(
            "popops::rearrange::partialTranspose needs a tensor of two dimensions and a compute set"
        )
    order = [*range(in_.rank - 2), in_.rank - 1, in_.rank - 2]
    turned = in_.dim_shuffle(order)
    out = outputs.linear(graph, in_.type, tuple(turned.shape), str(debug))
    vertices.add_on_tiles(graph, cs, vertex_types.transpose(in_.type), out, [turned])
    return as_tensor(out)


def canUseFastTranspose(
    target: Target, type: Type, numRows: int, numColumns: int, numTranspositions: int
) -> bool:
    """Whether the device's fast transposition supports matrices of this size: 16-bit elements, multiples of four."""
    return type.size == 2 and numTranspositions <= 0xFFFF and numRows % 4 == 0 and numColumns % 4 == 0


def getMinimumRegroupGrainSize(type: Type) -> int:
    """The smallest group of elements for which regrouping is worthwhile on the device."""
    return _GRAINS.get(type.size, 1)


def regroupIfBeneficial(
    graph: Graph, in_: Tensor, reference: Tensor, *arguments: Any, debug: Any = "", options: Any = None
) -> Tensor:
    """Return the tensor unchanged."""
    return in_


def regroupIfPossible(
    graph: Graph, t: Tensor, prog: Program, to: Any, debug: Any = "", options: Any = None
) -> Tensor:
    """Return the tensor unchanged."""
    return t


def regroupTensor(
    graph: Graph,
    t: Tensor,
    copies: Any,
    transposeCS: Tensor,
    from_: Any,
    to: Any,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """Return the tensor unchanged."""
    return t


__all__ = [
    "canUseFastTranspose",
    "getMinimumRegroupGrainSize",
    "partialTranspose",
    "regroupIfBeneficial",
    "regroupIfPossible",
    "regroupTensor",
]
