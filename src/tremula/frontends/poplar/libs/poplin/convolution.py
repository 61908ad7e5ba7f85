"""Convolutions, their gradients and biases as calls: checked shapes, results on tiles, work for the planner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.calls import work_type
from tremula.frontends.poplar.libs.checks import call, joined, need_floats, need_shape, refuse
from tremula.frontends.poplar.libs.outputs import linear
from tremula.frontends.poplar.libs.poplin import conv_kernels
from tremula.frontends.poplar.libs.poplin.conv_params import ConvParams, work_of
from tremula.frontends.poplar.libs.poplin.options import Options, conv_planning
from tremula.frontends.poplar.program.programs import Program
from tremula.program.work import Convolution, Copy, Elementwise, Reduction, Work


def work_for(where: str, params: ConvParams, options: Options | None, role: str | None = None) -> Convolution:
    """The convolution for the planner, with what its options say."""
    planning = conv_planning(where, options)
    return work_of(
        params, work_type(params.input_type), planning.partials, planning.proportion, role or planning.role
    )


def create_operand(
    graph: Graph, operand: str, params: ConvParams, debug: str, options: Options | None
) -> View:
    """An operand of a convolution, spread over the tiles: input, weights or output."""
    params.check()
    conv_planning(f"create {operand}", options)
    shapes = {"input": params.input_shape, "weights": params.weights_shape, "output": params.output_shape}
    kind = params.output_type if operand == "output" else params.input_type
    return linear(graph, kind, shapes[operand], joined(debug, operand))


def create_biases(graph: Graph, activations: View, debug: str) -> View:
    """A bias for each channel."""
    if activations.rank < 2:
        raise refuse("createBiases", f"activations of shape {list(activations.shape)} have no channels")
    return linear(graph, activations.type, (activations.shape[1],), joined(debug, "biases"))


def convolve(
    graph: Graph,
    source: View,
    weights: View,
    params: ConvParams,
    turn: bool,
    prog: Program,
    *,
    output: View | None = None,
    debug: str = "",
    options: Options | None = None,
) -> View:
    """A convolution. With `turn` the weights are those of a forward pass, and this is its gradient."""
    where = "convolution"
    params.check()
    groups, out, inner = params.weights_shape[:3]
    shape = (groups, inner, out, *params.kernel) if turn else params.weights_shape
    need_shape(where, "input", source, params.input_shape)
    need_shape(where, "tensor of weights", weights, shape)
    if output is None:
        output = linear(graph, params.output_type, params.output_shape, joined(debug, "convolution"))
    need_shape(where, "output", output, params.output_shape)
    need_floats(where, source, weights, output)
    works: list[Work] = [work_for(where, params, options, "input_gradient" if turn else None)]
    if turn:
        works.insert(0, Copy(weights.elements, work_type(weights.type)))
    function = "poplin.convolutionTransposed" if turn else "poplin.convolution"
    call(
        prog, function, [source, weights], [output], works, debug, params=conv_kernels.params_as_plain(params)
    )
    return output


def turn_weights(weights: View, turned: View, prog: Program, debug: str, options: Options | None) -> None:
    """Exchange channels and reverse the kernel in all dimensions."""
    conv_planning("weightsTransposeChansFlipXY", options)
    groups, out, inner, *kernel = weights.shape
    need_shape("weightsTransposeChansFlipXY", "output", turned, (groups, inner, out, *kernel))
    work = Copy(weights.elements, work_type(weights.type))
    call(prog, "poplin.weightsTransposeChansFlipXY", [weights], [turned], [work], debug)


def _check_gradient(where: str, deltas: View, source: View, params: ConvParams) -> None:
    params.check()
    need_shape(where, "gradient of the output", deltas, params.output_shape)
    need_shape(where, "input", source, params.input_shape)
    need_floats(where, deltas, source)


def weight_deltas(
    graph: Graph,
    deltas: View,
    source: View,
    params: ConvParams,
    prog: Program,
    debug: str,
    options: Options | None,
) -> View:
    """The gradient of the weights."""
    where = "calculateWeightDeltas"
    _check_gradient(where, deltas, source, params)
    made = linear(graph, params.input_type, params.weights_shape, joined(debug, "weight_deltas"))
    work = work_for(where, params, options, "weight_gradient")
    plain = conv_kernels.params_as_plain(params)
    call(prog, "poplin.calculateWeightDeltas", [deltas, source], [made], [work], debug, params=plain)
    return made


def update_weights(
    deltas: View,
    weights: View,
    source: View,
    params: ConvParams,
    scale: float | View,
    prog: Program,
    debug: str,
    options: Options | None,
) -> None:
    """Add the scaled gradient of the weights to them."""
    where = "convolutionWeightUpdate"
    _check_gradient(where, deltas, source, params)
    need_shape(where, "tensor of weights", weights, params.weights_shape)
    works = (
        work_for(where, params, options, "weight_gradient"),
        Elementwise("scaled_add", weights.elements, work_type(weights.type), operands=2, in_place=True),
    )
    plain = conv_kernels.params_as_plain(params)
    _scaled(
        prog,
        "poplin.convolutionWeightUpdate",
        [deltas, weights, source],
        weights,
        scale,
        works,
        debug,
        params=plain,
    )


def _scaled(
    prog: Program,
    function: str,
    inputs: Sequence[View],
    output: View,
    scale: float | View,
    works: Sequence[Work],
    debug: str,
    **attributes: Any,
) -> None:
    if isinstance(scale, View):
        call(prog, function, [*inputs, scale], [output], works, debug, **attributes)
    else:
        call(prog, function, inputs, [output], works, debug, scale=float(scale), **attributes)


def _channels(where: str, values: View, biases: View) -> None:
    need_floats(where, values, biases)
    if values.rank < 2 or biases.elements != values.shape[1]:
        raise refuse(
            where,
            f"{biases.elements} biases do not fit a tensor of shape {list(values.shape)}: one per channel",
        )


def update_biases(
    deltas: View, biases: View, scale: float | View, prog: Program, debug: str, options: Options | None
) -> None:
    """Add the scaled sums of a gradient over batch and field to the biases."""
    conv_planning("convolutionBiasUpdate", options)
    _channels("convolutionBiasUpdate", deltas, biases)
    channels = deltas.shape[1]
    kind = work_type(deltas.type)
    works = (
        Reduction(
            deltas.shape[0] if channels else 0,
            deltas.elements // max(channels * deltas.shape[0], 1),
            channels,
            kind,
        ),
        Elementwise("scaled_add", biases.elements, kind, operands=2, in_place=True),
    )
    _scaled(prog, "poplin.convolutionBiasUpdate", [deltas, biases], biases, scale, works, debug)


def add_bias(values: View, biases: View, prog: Program, debug: str) -> None:
    """Add to each channel its bias."""
    _channels("addBias", values, biases)
    work = Elementwise(
        "add",
        values.elements,
        work_type(values.type),
        operands=2,
        broadcast_elements=biases.elements,
        in_place=True,
    )
    call(prog, "poplin.addBias", [values, biases], [values], [work], debug)
