"""Statistics over all but the channels, whitening, and the gradients of both. Channels are dimension 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.checks import Array, call, joined, need_floats, need_shape, refuse, single
from tremula.frontends.poplar.libs.outputs import like, linear
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Program
from tremula.frontends.poplar.types import FLOAT, HALF, Type
from tremula.program.work import Elementwise, Norm, Reduction, Work


def _check(where: str, values: View) -> None:
    if values.rank < 2:
        raise refuse(
            where, f"a tensor of shape {list(values.shape)} has no channels: two dimensions are needed"
        )
    need_floats(where, values)


def _check_partials(where: str, type: Type) -> None:
    if type not in (HALF, FLOAT):
        raise refuse(where, f"partial sums have to be half or float, not {type}")


def per_channel(graph: Graph, values: View, type: Type | None, debug: str, part: str) -> View:
    """A new tensor with an element for each channel."""
    _check(part, values)
    return linear(graph, type or values.type, (values.shape[1],), joined(debug, part))


def statistics(
    graph: Graph,
    values: View,
    eps: float,
    prog: Program,
    unbiased: bool,
    stable: bool,
    partials: Type,
    debug: str,
) -> tuple[View, View]:
    """The mean of each channel, and one over the root of its variance and `eps`."""
    where = "normStatistics"
    _check(where, values)
    _check_partials(where, partials)
    mean = per_channel(graph, values, None, debug, "mean")
    deviation = per_channel(graph, values, None, debug, "iStdDev")
    channels = values.shape[1]
    count = values.elements // max(channels, 1)
    kind = work_type(values.type)
    works: list[Work] = [
        Reduction(1, count, channels, kind),
        Reduction(1, count, channels, kind, "square_add"),
        Elementwise("rsqrt", channels, kind),
    ]
    if stable:
        works.insert(1, _per_channel_work("sub", values))
    call(
        prog,
        "poplin.normStatistics",
        [values],
        [mean, deviation],
        works,
        debug,
        eps=float(eps),
        unbiased=bool(unbiased),
    )
    return mean, deviation


def _per_channel_work(operation: str, values: View) -> Elementwise:
    return Elementwise(
        operation,
        values.elements,
        work_type(values.type),
        operands=2,
        broadcast_elements=values.shape[1],
    )


def whiten(graph: Graph, values: View, mean: View, deviation: View, prog: Program, debug: str) -> View:
    """Subtract the means and multiply by one over the deviations."""
    return _two_parameters(graph, "normWhiten", values, mean, deviation, prog, debug)


def normalise(graph: Graph, whitened: View, gamma: View, beta: View, prog: Program, debug: str) -> View:
    """Multiply each channel by its `gamma` and add its `beta`."""
    return _two_parameters(graph, "normalise", whitened, gamma, beta, prog, debug)


def _two_parameters(
    graph: Graph, where: str, values: View, first: View, second: View, prog: Program, debug: str
) -> View:
    _check(where, values)
    for each in (first, second):
        _need_channels(where, values, each)
    made = like(graph, values, values.type, joined(debug, where))
    works = (
        _per_channel_work("sub" if where == "normWhiten" else "mul", values),
        _per_channel_work("mul", values),
    )
    call(prog, f"poplin.{where}", [values, first, second], [made], works, debug)
    return made


def _need_channels(where: str, values: View, parameter: View) -> None:
    if parameter.elements != values.shape[1]:
        raise refuse(
            where,
            f"{parameter.elements} parameters do not fit the {values.shape[1]} channels of {list(values.shape)}",
        )


def parameter_gradients(
    graph: Graph, whitened: View, gradient: View, prog: Program, partials: Type, debug: str
) -> tuple[View, View]:
    """The gradients of `gamma` and `beta`."""
    where = "normParamGradients"
    _check(where, whitened)
    _check_partials(where, partials)
    need_shape(where, "gradient", gradient, whitened.shape)
    gamma = per_channel(graph, gradient, None, debug, "gamma_gradient")
    beta = per_channel(graph, gradient, None, debug, "beta_gradient")
    channels, kind = whitened.shape[1], work_type(whitened.type)
    count = whitened.elements // max(channels, 1)
    works = (
        Elementwise("mul", whitened.elements, kind, operands=2),
        Reduction(1, count, 2 * channels, kind),
    )
    call(prog, "poplin.normParamGradients", [whitened, gradient], [gamma, beta], works, debug)
    return gamma, beta


def gradients(graph: Graph, gradient: View, gamma: View, prog: Program, debug: str) -> View:
    """The gradient of what was whitened: that of the result times `gamma`."""
    _check("normGradients", gradient)
    _need_channels("normGradients", gradient, gamma)
    made = like(graph, gradient, gradient.type, joined(debug, "normGradients"))
    call(prog, "poplin.normGradients", [gradient, gamma], [made], [_per_channel_work("mul", gradient)], debug)
    return made


def statistics_gradients(
    graph: Graph, whitened: View, gradient: View, deviation: View, prog: Program, partials: Type, debug: str
) -> View:
    """The gradient of the values, through whitening and statistics."""
    where = "normStatisticsGradients"
    _check(where, whitened)
    _check_partials(where, partials)
    need_shape(where, "gradient", gradient, whitened.shape)
    _need_channels(where, whitened, deviation)
    made = like(graph, whitened, whitened.type, joined(debug, where))
    channels = whitened.shape[1]
    work = Norm(
        "batch",
        whitened.elements // max(channels, 1),
        channels,
        0,
        work_type(whitened.type),
        training=True,
        gradient=True,
    )
    call(prog, f"poplin.{where}", [whitened, gradient, deviation], [made], [work], debug)
    return made


# -- kernels ------------------------------------------------------------------------------------------------------


def _beside(parameter: Array, values: Array) -> Array:
    return single(parameter).reshape(-1, *(1,) * (values.ndim - 2))


def _sums(values: Array) -> Array:
    return np.asarray(values.sum(axis=(0, *range(2, values.ndim)), dtype=np.float32))


@computing("poplin.normStatistics")
def _statistics(attributes: Mapping[str, Any]) -> Kernel:
    eps, unbiased = np.float32(attributes["eps"]), attributes["unbiased"]

    def run(inputs: Arrays, outputs: Arrays) -> None:
        values = single(inputs[0])
        count = values.size // max(values.shape[1], 1)
        if not count:
            return
        mean = _sums(values) / np.float32(count)
        rest = values - _beside(mean, values)
        variance = _sums(rest * rest) / np.float32(count)
        if unbiased and count > 1:
            variance = variance * np.float32(count / (count - 1))
        outputs[0][...] = mean
        outputs[1][...] = 1 / np.sqrt(variance + eps)

    return run


@computing("poplin.normWhiten")
def _whiten(_: Mapping[str, Any]) -> Kernel:
    def run(inputs: Arrays, outputs: Arrays) -> None:
        values, mean, deviation = inputs
        outputs[0][...] = (single(values) - _beside(mean, values)) * _beside(deviation, values)

    return run


@computing("poplin.normalise")
def _normalise(_: Mapping[str, Any]) -> Kernel:
    def run(inputs: Arrays, outputs: Arrays) -> None:
        values, gamma, beta = inputs
        outputs[0][...] = single(values) * _beside(gamma, values) + _beside(beta, values)

    return run


@computing("poplin.normParamGradients")
def _parameters(_: Mapping[str, Any]) -> Kernel:
    def run(inputs: Arrays, outputs: Arrays) -> None:
        whitened, gradient = map(single, inputs)
        outputs[0][...] = _sums(whitened * gradient)
        outputs[1][...] = _sums(gradient)

    return run


@computing("poplin.normGradients")
def _gradients(_: Mapping[str, Any]) -> Kernel:
    def run(inputs: Arrays, outputs: Arrays) -> None:
        outputs[0][...] = single(inputs[0]) * _beside(inputs[1], inputs[0])

    return run


@computing("poplin.normStatisticsGradients")
def _statistics_gradients(_: Mapping[str, Any]) -> Kernel:
    def run(inputs: Arrays, outputs: Arrays) -> None:
        whitened, gradient = map(single, inputs[:2])
        count = np.float32(whitened.size // max(whitened.shape[1], 1) or 1)
        mean = _beside(_sums(gradient) / count, whitened)
        along = _beside(_sums(gradient * whitened) / count, whitened)
        outputs[0][...] = (gradient - mean - whitened * along) * _beside(inputs[2], whitened)

    return run
