"""Several convolutions as one. Here they are one after the other: the results are the same, and so is the work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from poplar import Graph, Tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.libs.options import PLANNED_BY_THE_MODEL, check

from . import _convolution as _single
from ._arguments import ending
from ._conv_params import ConvParams

_OPTIONS = ("planType", "perConvReservedTiles", "cycleBackOff")


@dataclass
class CreateTensorArgs:
    """A convolution whose operands are created."""

    params: ConvParams
    options: Any = field(default_factory=dict)
    name: str = ""


@dataclass
class ConvolutionArgs:
    """A convolution."""

    inputs: Tensor
    weights: Tensor
    params: ConvParams
    options: Any = field(default_factory=dict)


@dataclass
class CalculateWeightDeltasArgs:
    """A gradient of weights."""

    zDeltas: Tensor
    activations: Tensor
    params: ConvParams
    options: Any = field(default_factory=dict)


@dataclass
class ConvWeightUpdateArgs:
    """An update of weights; the scale is a tensor or a number."""

    zDeltas: Tensor
    weights: Tensor
    activations: Tensor
    scale: Tensor | float
    params: ConvParams
    options: Any = field(default_factory=dict)


ConvWeightUpdateArgsScalar = ConvWeightUpdateArgs


def _end(where: str, rest: Sequence[Any], debug: Any, options: Any) -> str:
    name, chosen = ending(where, rest, debug, options).end()
    check(where, chosen, (), dict.fromkeys(_OPTIONS, PLANNED_BY_THE_MODEL))
    return name


def _of(kind: type, value: Any) -> Any:
    return value if isinstance(value, kind) else kind(*value)


def createWeights(
    graph: Graph, args: Sequence[Any], weightsIndex: int, options: Any = None, cache: Any = None
) -> Tensor:
    """A tensor for the weights of one of the convolutions."""
    each = _of(CreateTensorArgs, args[weightsIndex])
    made: Tensor = _single.createWeights(graph, each.params, each.name, each.options)
    return made


def createInput(
    graph: Graph, args: Sequence[Any], inputIndex: int, options: Any = None, cache: Any = None
) -> Tensor:
    """A tensor for the input of one of the convolutions."""
    each = _of(CreateTensorArgs, args[inputIndex])
    made: Tensor = _single.createInput(graph, each.params, each.name, each.options)
    return made


def convolution(
    graph: Graph, args: Sequence[Any], transposeAndFlipWeights: bool, prog: Program, *rest: Any, debug: Any = "",
    options: Any = None,
) -> list[Tensor]:  # fmt: skip
    """The outputs of all convolutions."""
    name = _end("multiconv.convolution", rest, debug, options)
    return [
        _single.convolution(
            graph, a.inputs, a.weights, a.params, transposeAndFlipWeights, prog, name, a.options
        )
        for a in (_of(ConvolutionArgs, each) for each in args)
    ]


def calculateWeightDeltas(
    graph: Graph, args: Sequence[Any], prog: Program, *rest: Any, debug: Any = "", options: Any = None
) -> list[Tensor]:
    """The gradients of all weights."""
    name = _end("multiconv.calculateWeightDeltas", rest, debug, options)
    return [
        _single.calculateWeightDeltas(graph, a.zDeltas, a.activations, a.params, prog, name, a.options)
        for a in (_of(CalculateWeightDeltasArgs, each) for each in args)
    ]


def convolutionWeightUpdate(
    graph: Graph, args: Sequence[Any], prog: Program, *rest: Any, debug: Any = "", options: Any = None
) -> None:
    """Add all scaled gradients to their weights."""
    name = _end("multiconv.convolutionWeightUpdate", rest, debug, options)
    for each in args:
        a = _of(ConvWeightUpdateArgs, each)
        _single.convolutionWeightUpdate(
            graph, a.zDeltas, a.weights, a.activations, a.params, a.scale, prog, name, a.options
        )


def weightsTransposeChansFlipXY(
    graph: Graph, args: Sequence[Any], weightsIn: Sequence[Tensor], prog: Program, options: Any = None,
    debug: Any = "", cache: Any = None,
) -> None:  # fmt: skip
    """Write the turned weights of each convolution to its tensor of weights."""
    for each, source in zip(args, weightsIn, strict=True):
        a = _of(ConvolutionArgs, each)
        _single.weightsTransposeChansFlipXY(graph, source, a.weights, prog, str(debug or ""), a.options)
