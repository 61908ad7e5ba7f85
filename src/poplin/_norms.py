"""Statistics of channels, whitening, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from poplar import FLOAT, Graph, Tensor, Type
from poplar._tensor import as_pair, as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.libs.poplin import norms as _core

from ._arguments import ending


def _create(where: str, part: str) -> Callable[..., Tensor]:
    def create(graph: Graph, acts: Tensor, *rest: Any, debug: Any = "") -> Tensor:
        given = ending(where, rest, debug)
        kind = given.maybe(Type)
        name, _ = given.end()
        return as_tensor(_core.per_channel(graph, acts, kind, name, part))

    create.__name__ = create.__qualname__ = where
    create.__doc__ = f"`{where}(graph, acts[, type][, debug])`: a tensor with an element for each channel."
    return create


createNormGamma = _create("createNormGamma", "gamma")
createNormBeta = _create("createNormBeta", "beta")


def createNormParams(graph: Graph, acts: Tensor, debug: Any = "") -> tuple[Tensor, Tensor]:
    """`gamma` and `beta` of a norm."""
    return createNormGamma(graph, acts, debug), createNormBeta(graph, acts, debug)


def normStatistics(
    graph: Graph, actsUngrouped: Tensor, eps: float, prog: Program, unbiasedVarEstimate: bool, stableAlgo: bool = False,
    partialsType: Type = FLOAT, debug: Any = "",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The mean of each channel, and one over the root of its variance and `eps`."""
    return as_pair(
        _core.statistics(
            graph, actsUngrouped, eps, prog, unbiasedVarEstimate, stableAlgo, partialsType, str(debug or "")
        )
    )


def normWhiten(
    graph: Graph, acts: Tensor, mean: Tensor, iStdDev: Tensor, prog: Program, debug: Any = ""
) -> Tensor:
    """Subtract the means and multiply by the inverse deviations."""
    return as_tensor(_core.whiten(graph, acts, mean, iStdDev, prog, str(debug or "")))


def normalise(
    graph: Graph, actsWhitened: Tensor, gamma: Tensor, beta: Tensor, prog: Program, debug: Any = ""
) -> Tensor:
    """Multiply each channel by its `gamma` and add its `beta`."""
    return as_tensor(_core.normalise(graph, actsWhitened, gamma, beta, prog, str(debug or "")))


def normParamGradients(
    graph: Graph,
    actsWhitened: Tensor,
    gradsIn: Tensor,
    prog: Program,
    partialsType: Type = FLOAT,
    debug: Any = "",
) -> tuple[Tensor, Tensor]:
    """The gradients of `gamma` and `beta`."""
    return as_pair(
        _core.parameter_gradients(graph, actsWhitened, gradsIn, prog, partialsType, str(debug or ""))
    )


def normGradients(graph: Graph, gradsIn: Tensor, gamma: Tensor, prog: Program, debug: Any = "") -> Tensor:
    """The gradient of the whitened values."""
    return as_tensor(_core.gradients(graph, gradsIn, gamma, prog, str(debug or "")))


def normStatisticsGradients(
    graph: Graph, actsWhitened: Tensor, gradsIn: Tensor, invStdDev: Tensor, prog: Program,
    partialsType: Type = FLOAT, debug: Any = "",
) -> Tensor:  # fmt: skip
    """The gradient of the values, through whitening and statistics."""
    return as_tensor(
        _core.statistics_gradients(
            graph, actsWhitened, gradsIn, invStdDev, prog, partialsType, str(debug or "")
        )
    )
