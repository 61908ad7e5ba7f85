"""Pooling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from poplar import Graph, Tensor, Type
from poplar._tensor import as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.popnn import pooling as _core
from tremula.frontends.poplar.libs.popnn.pooling import PoolingType as PoolingType


@dataclass
class PoolParams:
    """A pooling: negative padding cuts the field."""

    poolingType: PoolingType
    inputFieldShape: Sequence[int]
    kernelShape: Sequence[int]
    stride: Sequence[int]
    inputTruncationOrPaddingLower: Sequence[int]
    inputTruncationOrPaddingUpper: Sequence[int]
    numChannels: int
    batchSize: int
    dType: Type

    def core(self) -> _core.PoolParams:
        """The parameters as the library works with them."""
        lists = (
            self.inputFieldShape,
            self.kernelShape,
            self.stride,
            self.inputTruncationOrPaddingLower,
            self.inputTruncationOrPaddingUpper,
        )
        field, kernel, stride, lower, upper = (tuple(int(value) for value in each) for each in lists)
        kind = PoolingType(self.poolingType)
        return _core.PoolParams(
            kind, field, kernel, stride, lower, upper, int(self.numChannels), int(self.batchSize), self.dType
        )

    def getOutputFieldShape(self) -> list[int]:
        """The extents of the output."""
        return list(self.core().output_field)

    def getNumFieldDims(self) -> int:
        """Dimensions of the field."""
        return len(self.inputFieldShape)


def _core_of(params: PoolParams | Sequence[Any]) -> _core.PoolParams:
    return (params if isinstance(params, PoolParams) else PoolParams(*params)).core()


def getOutputFieldShape(params: PoolParams) -> list[int]:
    """The extents of the output."""
    return list(_core_of(params).output_field)


def getFwdFlops(params: PoolParams) -> int:
    """Comparisons or additions of the forward pass, windows taken as full."""
    return _core_of(params).flops


getBwdFlops = getFwdFlops


def getFwdPerfectCycleCount(graph: Graph, params: PoolParams) -> float:
    """Cycles of the forward pass if all vector units were always busy."""
    core, target = _core_of(params), graph.contents.target.share(graph.contents.replicas)
    return core.flops / (target.vector_width(core.type) * target.tiles)


def getBwdPerfectCycleCount(graph: Graph, params: PoolParams) -> float:
    """Those of the backward pass: twice as many."""
    return 2 * getFwdPerfectCycleCount(graph, params)


def pool(
    graph: Graph,
    params: PoolParams,
    in_: Tensor,
    prog: Program,
    *rest: Any,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """Pool `in_` (batch, channels, field)."""
    name, chosen = Arguments("pool", rest, debug, options).end()
    return as_tensor(_core.pool(graph, _core_of(params), in_, prog, name, chosen))


def poolInputGradient(
    graph: Graph, params: PoolParams, *rest: Any, debug: Any = "", options: Any = None
) -> Tensor:
    """`poolInputGradient(graph, params, in, pooled, pooledGradient, useScaledGradient, prog)` for all kinds, or
    `poolInputGradient(graph, params, fwdChansPerGroup, pooledGradient, prog)` for averages and sums: the gradient of
    the input."""
    given = Arguments("poolInputGradient", rest, debug, options)
    source = pooled = None
    scaled = False
    if given.next_is_number():
        given.integer("fwdChansPerGroup")
        outer = given.view("pooledGradient")
    else:
        source, pooled, outer = given.view("in"), given.view("pooled"), given.view("pooledGradient")
        scaled = bool(given.any("useScaledGradient"))
    prog = given.program()
    name, chosen = given.end()
    return as_tensor(
        _core.gradient(graph, _core_of(params), source, pooled, outer, scaled, prog, name, chosen)
    )
