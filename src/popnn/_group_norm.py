"""Norms over groups of channels. Layer norms have one group, instance norms one group per channel."""

from __future__ import annotations

from typing import Any

from poplar import FLOAT, Graph, Tensor, Type
from poplar._tensor import as_pair, as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.poplin import norms as _core
from tremula.frontends.poplar.libs.popnn import groups as _groups
from tremula.frontends.poplar.libs.popnn.groups import update as update_parameters


def statistics(
    graph: Graph, acts: Tensor, eps: float, prog: Program, numGroups: int, unbiasedVarEstimate: bool,
    stableAlgo: bool = False, partialsType: Type = FLOAT, *rest: Any, debug: Any = "", options: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The mean of each example and group, and one over the root of its variance and `eps`."""
    where = "groupNormStatistics"
    name, chosen = Arguments(where, rest, debug, options).end()
    turned = _groups.grouped(where, acts, int(numGroups), _groups.strided(where, chosen))
    return as_pair(
        _core.statistics(graph, turned, eps, prog, unbiasedVarEstimate, stableAlgo, partialsType, name)
    )


def _whiten(
    graph: Graph, acts: View, mean: View, deviation: View, prog: Program, name: str, chosen: dict[str, str]
) -> Tensor:
    where = "groupNormWhiten"
    apart = _groups.strided(where, chosen)
    turned = _groups.grouped(where, acts, _groups.groups_of(where, acts, mean), apart)
    whitened = _core.whiten(graph, turned, mean, deviation, prog, name)
    return as_tensor(_groups.ungrouped(whitened, acts.shape[0], apart))


def whiten(
    graph: Graph, acts: Tensor, mean: Tensor, invStdDev: Tensor, prog: Program, *rest: Any, debug: Any = "",
    options: Any = None,
) -> Tensor:  # fmt: skip
    """Subtract the means and multiply by the inverse deviations."""
    return _whiten(
        graph, acts, mean, invStdDev, prog, *Arguments("groupNormWhiten", rest, debug, options).end()
    )


def normalise(
    graph: Graph, acts: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, invStdDev: Tensor, prog: Program, *rest: Any,
    debug: Any = "", options: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Normalised and whitened values."""
    name, chosen = Arguments("groupNormalise", rest, debug, options).end()
    whitened = _whiten(graph, acts, mean, invStdDev, prog, name, chosen)
    return as_tensor(_core.normalise(graph, whitened, gamma, beta, prog, name)), whitened


def param_gradients(
    graph: Graph, acts: Tensor, gradsIn: Tensor, *rest: Any, debug: Any = "", options: Any = None
) -> tuple[Tensor, Tensor]:
    """The gradients of `gamma` and `beta`: `(graph, acts, gradsIn, mean, iStdDev, prog[, partialsType])`, or
    `(graph, actsWhitened, gradsIn, prog[, partialsType])`."""
    given = Arguments("groupNormParamGradients", rest, debug, options)
    known = (given.view("mean"), given.view("iStdDev")) if given.next_is(Tensor) else None
    prog = given.program()
    partials = given.maybe(Type) or FLOAT
    name, chosen = given.end()
    whitened = acts if known is None else _whiten(graph, acts, *known, prog, name, chosen)
    return as_pair(_core.parameter_gradients(graph, whitened, gradsIn, prog, partials, name))


def gradients(
    graph: Graph, acts: Tensor, gradsIn: Tensor, *rest: Any, debug: Any = "", options: Any = None
) -> Tensor:
    """The gradient of the values: `(graph, acts, gradsIn, mean, invStdDev, gamma, prog[, partialsType])`, or
    `(graph, actsWhitened, gradsIn, invStdDev, gamma, prog[, partialsType])`."""
    where = "groupNormGradients"
    given = Arguments(where, rest, debug, options)
    tensors: list[View] = []
    while given.next_is(Tensor):
        tensors.append(given.view("tensor"))
    prog = given.program()
    partials = given.maybe(Type) or FLOAT
    name, chosen = given.end()
    deviation, gamma = tensors[-2:]
    whitened = acts if len(tensors) == 2 else _whiten(graph, acts, tensors[0], deviation, prog, name, chosen)
    scaled = _core.gradients(graph, gradsIn, gamma, prog, name)
    apart, count = _groups.strided(where, chosen), _groups.groups_of(where, acts, deviation)
    turned = _groups.grouped(where, whitened, count, apart)
    found = _core.statistics_gradients(
        graph, turned, _groups.grouped(where, scaled, count, apart), deviation, prog, partials, name
    )
    return as_tensor(_groups.ungrouped(found, acts.dim(0), apart))


def param_update(
    graph: Graph, gammaDelta: Tensor, betaDelta: Tensor, scale: float | Tensor, gamma: Tensor, beta: Tensor,
    prog: Program, *rest: Any, debug: Any = "", options: Any = None,
) -> None:  # fmt: skip
    """Add scaled gradients to `gamma` and `beta`."""
    name, chosen = Arguments("groupNormParamUpdate", rest, debug, options).end()
    _groups.strided("groupNormParamUpdate", chosen)
    update_parameters((gammaDelta, betaDelta), scale, (gamma, beta), prog, name)
