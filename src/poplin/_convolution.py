"""Convolutions, their gradients and their biases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from poplar import Graph, Tensor
from poplar._tensor import as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.libs.poplin import conv_indices as _indices
from tremula.frontends.poplar.libs.poplin import conv_params as _params
from tremula.frontends.poplar.libs.poplin import convolution as _core
from tremula.frontends.poplar.libs.poplin.options import conv_planning

from ._arguments import ending
from ._conv_params import ConvParams, core_of, public


def convolution(
    graph: Graph, in_: Tensor, weights: Tensor, params: ConvParams, transposeAndFlipWeights: bool, prog: Program,
    *rest: Any, debug: Any = "", options: Any = None,
) -> Tensor:  # fmt: skip
    """The convolution of `in_` (batch, channels, field) with weights (groups, output and input channels, kernel)."""
    name, chosen = ending("convolution", rest, debug, options).end()
    turn = bool(transposeAndFlipWeights)
    return as_tensor(
        _core.convolve(graph, in_, weights, core_of(params), turn, prog, debug=name, options=chosen)
    )


def convolutionWithOutput(
    graph: Graph, in_: Tensor, weights: Tensor, out: Tensor, params: ConvParams, transposeAndFlipWeights: bool,
    prog: Program, *rest: Any, debug: Any = "", options: Any = None,
) -> None:  # fmt: skip
    """Write the convolution to `out`."""
    name, chosen = ending("convolutionWithOutput", rest, debug, options).end()
    turn = bool(transposeAndFlipWeights)
    _core.convolve(graph, in_, weights, core_of(params), turn, prog, output=out, debug=name, options=chosen)


def _create(where: str, operand: str) -> Callable[..., Tensor]:
    def create(graph: Graph, params: ConvParams, *rest: Any, debug: Any = "", options: Any = None) -> Tensor:
        name, chosen = ending(where, rest, debug, options).end()
        return as_tensor(_core.create_operand(graph, operand, core_of(params), name, chosen))

    create.__name__ = create.__qualname__ = where
    create.__doc__ = f"A tensor for the {operand} of a convolution."
    return create


createInput = _create("createInput", "input")
createWeights = _create("createWeights", "weights")
createConvOutput = _create("createConvOutput", "output")


def createBiases(graph: Graph, activations: Tensor, *rest: Any, debug: Any = "") -> Tensor:
    """`createBiases(graph, activations[, params][, debug])`: a tensor with a bias for each channel."""
    values = [each for each in rest if not isinstance(each, ConvParams)]
    name, _ = ending("createBiases", values, debug).end()
    return as_tensor(_core.create_biases(graph, activations, name))


def weightsTransposeChansFlipXY(
    graph: Graph,
    weightsIn: Tensor,
    weightsOut: Tensor,
    prog: Program,
    *rest: Any,
    debug: Any = "",
    options: Any = None,
) -> None:
    """Write weights for the gradient's convolution: channels exchanged, kernel reversed."""
    name, chosen = ending("weightsTransposeChansFlipXY", rest, debug, options).end()
    _core.turn_weights(weightsIn, weightsOut, prog, name, chosen)


def calculateWeightDeltas(
    graph: Graph, zDeltas: Tensor, activations: Tensor, params: ConvParams, prog: Program, *rest: Any,
    debug: Any = "", options: Any = None,
) -> Tensor:  # fmt: skip
    """The gradient of the weights; `params` are those of the forward pass."""
    name, chosen = ending("calculateWeightDeltas", rest, debug, options).end()
    return as_tensor(_core.weight_deltas(graph, zDeltas, activations, core_of(params), prog, name, chosen))


def convolutionWeightUpdate(
    graph: Graph, zDeltas: Tensor, weights: Tensor, activations: Tensor, params: ConvParams, scale: float | Tensor,
    prog: Program, *rest: Any, debug: Any = "", options: Any = None,
) -> None:  # fmt: skip
    """Add the scaled gradient of the weights to them."""
    name, chosen = ending("convolutionWeightUpdate", rest, debug, options).end()
    _core.update_weights(zDeltas, weights, activations, core_of(params), scale, prog, name, chosen)


def convolutionBiasUpdate(
    graph: Graph,
    zDeltas: Tensor,
    biases: Tensor,
    scale: float | Tensor,
    options: Any,
    prog: Program,
    debug: Any = "",
) -> None:
    """Add the scaled sums of `zDeltas` over batch and field to the biases."""
    _core.update_biases(zDeltas, biases, scale, prog, str(debug or ""), dict(options or {}))


def addBias(graph: Graph, in_: Tensor, biases: Tensor, prog: Program, debug: Any = "") -> None:
    """Add to each channel its bias, in place."""
    _core.add_bias(in_, biases, prog, str(debug or ""))


def fullyConnectedWeightTranspose(
    graph: Graph,
    weights: Tensor,
    params: ConvParams,
    prog: Program,
    *rest: Any,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """The weights of a fully connected layer for its backward pass: a transposed view, as layouts do not differ."""
    _, chosen = ending("fullyConnectedWeightTranspose", rest, debug, options).end()
    conv_planning("fullyConnectedWeightTranspose", chosen)
    return weights.dimShufflePartial([1, 2], [2, 1])


def convolutionValidateOptions(options: Any) -> None:
    """Raise an error if options are not those of a convolution."""
    conv_planning("convolution", dict(options))


def _flops(params: ConvParams) -> int:
    return 2 * _indices.multiplications(core_of(params))


def getFwdFlops(params: ConvParams) -> int:
    """Multiplications and additions of the forward pass, without those with zeros of padding or dilation."""
    return _flops(params)


def getBwdFlops(params: ConvParams) -> int:
    """Those of the gradient of the input; `params` are those of the forward pass."""
    return _flops(params)


def getWuFlops(params: ConvParams) -> int:
    """Those of the gradient of the weights; `params` are those of the forward pass."""
    return _flops(params)


def getFwdPerfectCycleCount(graph: Graph, params: ConvParams) -> float:
    """Cycles of the forward pass if all multipliers were always busy."""
    return _indices.perfect_cycles(core_of(params), graph.contents.target.share(graph.contents.replicas))


getBwdPerfectCycleCount = getWuPerfectCycleCount = getFwdPerfectCycleCount


def getGradientParams(params: ConvParams) -> ConvParams:
    """The convolution that gives the gradient of the input, with transposed and flipped weights."""
    core = core_of(params)
    core.check()
    return public(_params.gradient_params(core))


def getDilatedSize(size: int, dilation: int) -> int:
    """The extent after zeros are put between elements."""
    return _params.dilated(int(size), int(dilation))


def getInputIndex(dim: int, outputIndex: int, kernelIndex: int, params: ConvParams) -> int:
    """The element of the input that meets an element of the kernel, or 2**32 - 1 if there is none."""
    return _indices.input_index(core_of(params), dim, outputIndex, kernelIndex) & 0xFFFFFFFF


def getKernelIndex(dim: int, outputIndex: int, inputIndex: int, params: ConvParams) -> int:
    """The element of the kernel that meets an element of the input, or 2**32 - 1 if there is none."""
    return _indices.kernel_index(core_of(params), dim, outputIndex, inputIndex) & 0xFFFFFFFF
