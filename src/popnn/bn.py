"""Batch norms: statistics of each channel over batch and field."""

from __future__ import annotations

from typing import Any

from poplar import FLOAT, Graph, Tensor, Type
from poplar._tensor import as_pair, as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.options import check
from tremula.frontends.poplar.libs.poplin import norms as _core
from tremula.frontends.poplar.libs.popnn.groups import update as update_parameters


def _end(where: str, given: Arguments) -> str:
    name, options = given.end()
    check(where, options)
    return name


def batchNormStatistics(
    graph: Graph, acts: Tensor, eps: float, prog: Program, unbiasedVarEstimate: bool, stableAlgo: bool = False,
    partialsType: Type = FLOAT, *rest: Any, debug: Any = "", options: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The mean of each channel, and one over the root of its variance and `eps`."""
    name = _end("batchNormStatistics", Arguments("batchNormStatistics", rest, debug, options))
    return as_pair(
        _core.statistics(graph, acts, eps, prog, unbiasedVarEstimate, stableAlgo, partialsType, name)
    )


def batchNormWhiten(
    graph: Graph, acts: Tensor, mean: Tensor, invStdDev: Tensor, prog: Program, *rest: Any, debug: Any = "",
    options: Any = None,
) -> Tensor:  # fmt: skip
    """Subtract the means and multiply by the inverse deviations."""
    name = _end("batchNormWhiten", Arguments("batchNormWhiten", rest, debug, options))
    return as_tensor(_core.whiten(graph, acts, mean, invStdDev, prog, name))


def batchNormalise(
    graph: Graph, acts: Tensor, gamma: Tensor, beta: Tensor, *rest: Any, debug: Any = "", options: Any = None
) -> tuple[Tensor, Tensor] | Tensor:
    """`batchNormalise(graph, acts, gamma, beta, mean, invStdDev, prog)`: normalised and whitened values; or
    `batchNormalise(graph, acts, combinedMultiplicand, addend, prog)`: each channel scaled and shifted."""
    given = Arguments("batchNormalise", rest, debug, options)
    if not given.next_is(Tensor):
        prog = given.program()
        return as_tensor(_core.normalise(graph, acts, gamma, beta, prog, _end("batchNormalise", given)))
    mean, deviation, prog = given.view("mean"), given.view("invStdDev"), given.program()
    name = _end("batchNormalise", given)
    whitened = _core.whiten(graph, acts, mean, deviation, prog, name)
    return as_pair((_core.normalise(graph, whitened, gamma, beta, prog, name), whitened))


def batchNormParamGradients(
    graph: Graph, acts: Tensor, gradsIn: Tensor, *rest: Any, debug: Any = "", options: Any = None
) -> tuple[Tensor, Tensor]:
    """The gradients of `gamma` and `beta`: `batchNormParamGradients(graph, acts, gradsIn, mean, iStdDev, prog[,
    partialsType])`, or `batchNormParamGradients(graph, actsWhitened, gradsIn, prog[, partialsType])`."""
    given = Arguments("batchNormParamGradients", rest, debug, options)
    statistics = (given.view("mean"), given.view("iStdDev")) if given.next_is(Tensor) else None
    prog = given.program()
    partials = given.maybe(Type) or FLOAT
    name = _end("batchNormParamGradients", given)
    whitened = acts if statistics is None else _core.whiten(graph, acts, *statistics, prog, name)
    return as_pair(_core.parameter_gradients(graph, whitened, gradsIn, prog, partials, name))


def batchNormGradients(
    graph: Graph, acts: Tensor, gradsIn: Tensor, *rest: Any, debug: Any = "", options: Any = None
) -> Tensor:
    """The gradient of the values: `batchNormGradients(graph, acts, gradsIn, mean, invStdDev, gamma, prog[,
    partialsType])`, or `batchNormGradients(graph, actsWhitened, gradsIn, invStdDev, gamma, prog[, partialsType])`."""
    given = Arguments("batchNormGradients", rest, debug, options)
    tensors: list[View] = []
    while given.next_is(Tensor):
        tensors.append(given.view("tensor"))
    prog = given.program()
    partials = given.maybe(Type) or FLOAT
    name = _end("batchNormGradients", given)
    deviation, gamma = tensors[-2:]
    whitened = acts if len(tensors) == 2 else _core.whiten(graph, acts, tensors[0], deviation, prog, name)
    scaled = _core.gradients(graph, gradsIn, gamma, prog, name)
    return as_tensor(_core.statistics_gradients(graph, whitened, scaled, deviation, prog, partials, name))


def batchNormParamUpdate(
    graph: Graph, gammaDelta: Tensor, betaDelta: Tensor, scale: float | Tensor, gamma: Tensor, beta: Tensor,
    prog: Program, *rest: Any, debug: Any = "", options: Any = None,
) -> None:  # fmt: skip
    """Add scaled gradients to `gamma` and `beta`."""
    name = _end("batchNormParamUpdate", Arguments("batchNormParamUpdate", rest, debug, options))
    update_parameters((gammaDelta, betaDelta), scale, (gamma, beta), prog, name)
