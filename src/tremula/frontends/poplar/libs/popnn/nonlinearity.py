"""Non-linearities and their gradients, softmax over the innermost dimension included.

Gradients take the result of the non-linearity, but GELU, GELU_ERF and SWISH, which cannot be inverted, its input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from math import prod
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.checks import Array, call, joined, need_floats, need_shape, refuse, single
from tremula.frontends.poplar.libs.outputs import like
from tremula.frontends.poplar.libs.popops.arithmetic import erf
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Program
from tremula.program.work import Elementwise, Softmax, Work


class NonLinearityType(Enum):
    """The non-linearities."""

    SIGMOID = 0
    HARD_SIGMOID = 1
    RELU = 2
    TANH = 3
    GELU = 4
    GELU_ERF = 5
    SWISH = 6
    SOFTMAX = 7
    SOFTMAX_STABLE = 8
    SOFTMAX_SCALED = 9


#: what SOFTMAX_SCALED multiplies its result with, so that halves use their range
SOFTMAX_SCALING = 62000.0
SOFTMAX_KINDS = (NonLinearityType.SOFTMAX, NonLinearityType.SOFTMAX_STABLE, NonLinearityType.SOFTMAX_SCALED)
#: the chip model's names; a hard sigmoid is an expression of three steps
_OPERATIONS = {"SWISH": "silu", "HARD_SIGMOID": "mul+add+clamp"}
_GRADIENTS = {"SWISH": "silu_gradient", "HARD_SIGMOID": "abs+compare+mul"}
_HARD_EDGE, _HARD_SLOPE = np.float32(2.5), np.float32(0.2)
_ROOT = np.float32(0.7978845608)  # sqrt(2 / pi)
_CUBE = np.float32(0.044715)


def scaling(kind: NonLinearityType) -> float:
    """What the result is multiplied with."""
    return SOFTMAX_SCALING if kind is NonLinearityType.SOFTMAX_SCALED else 1.0


def operation(kind: NonLinearityType, *, gradient: bool = False) -> str:
    """The chip model's name of a non-linearity that is not a softmax, or of its gradient."""
    if gradient:
        return _GRADIENTS.get(kind.name, f"{kind.name.lower()}_gradient")
    return _OPERATIONS.get(kind.name, kind.name.lower())


def _rows(view: View) -> tuple[int, int]:
    return prod(view.shape[:-1]), view.shape[-1] if view.rank else 1


def _work(kind: NonLinearityType, view: View, in_place: bool) -> Work:
    if kind in SOFTMAX_KINDS:
        return Softmax(*_rows(view), work_type(view.type))
    return Elementwise(operation(kind), view.elements, work_type(view.type), in_place=in_place)


def apply(kind: NonLinearityType, source: View, output: View, prog: Program, debug: str) -> None:
    """Compute a non-linearity into `output`, which may be the source."""
    need_floats("nonLinearity", source)
    if kind in SOFTMAX_KINDS and not source.rank:
        raise refuse("nonLinearity", "a softmax needs at least one dimension")
    work = _work(kind, source, source is output)
    call(prog, "popnn.nonLinearity", [source], [output], [work], debug, kind=kind.name)


def applied(graph: Graph, kind: NonLinearityType, source: View, prog: Program, debug: str) -> View:
    """The same into a new tensor."""
    made = like(graph, source, source.type, joined(debug, "nonLinearity"))
    apply(kind, source, made, prog, debug)
    return made


def gradient(
    graph: Graph, kind: NonLinearityType, values: View, outer: View, prog: Program, debug: str
) -> View:
    """The gradient of the input."""
    where = "nonLinearityInputGradient"
    need_floats(where, values, outer)
    need_shape(where, "gradient", outer, values.shape)
    made = like(graph, values, values.type, joined(debug, where))
    work: Work
    if kind in SOFTMAX_KINDS:
        work = Softmax(*_rows(values), work_type(values.type), gradient=True)
    else:
        work = Elementwise(
            operation(kind, gradient=True), values.elements, work_type(values.type), operands=2
        )
    call(prog, f"popnn.{where}", [values, outer], [made], [work], debug, kind=kind.name)
    return made


def log_softmax(source: View, output: View, prog: Program, debug: str) -> None:
    """The logarithm of a stable softmax over the innermost dimension."""
    need_floats("logSoftmax", source)
    if not source.rank:
        raise refuse("logSoftmax", "a softmax needs at least one dimension")
    work = Softmax(*_rows(source), work_type(source.type), logarithm=True)
    call(prog, "popnn.logSoftmax", [source], [output], [work], debug)


# -- numbers ------------------------------------------------------------------------------------------------------


def sigmoid(x: Array) -> Array:
    """The logistic function without overflow."""
    return np.asarray(np.float32(0.5) * (np.tanh(np.float32(0.5) * x) + 1))


def _softmax(x: Array) -> Array:
    powers = np.exp(x)
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True, dtype=np.float32))


def _stable(x: Array) -> Array:
    return _softmax(x - x.max(axis=-1, keepdims=True)) if x.size else x


def _gelu(x: Array) -> Array:
    return np.asarray(np.float32(0.5) * x * (1 + np.tanh(_ROOT * (x + _CUBE * x * x * x))))


def _gelu_gradient(x: Array) -> Array:
    inner = np.tanh(_ROOT * (x + _CUBE * x * x * x))
    slope = _ROOT * (1 + 3 * _CUBE * x * x)
    return np.asarray(np.float32(0.5) * (1 + inner + x * (1 - inner * inner) * slope))


def _gelu_erf(x: Array) -> Array:
    return np.asarray(np.float32(0.5) * x * (1 + erf(x * np.float32(np.sqrt(0.5)))))


def _gelu_erf_gradient(x: Array) -> Array:
    density = np.exp(np.float32(-0.5) * x * x) * np.float32(1 / np.sqrt(2 * np.pi))
    return np.asarray(np.float32(0.5) * (1 + erf(x * np.float32(np.sqrt(0.5)))) + x * density)


def _swish_gradient(x: Array) -> Array:
    part = sigmoid(x)
    return np.asarray(part * (1 + x * (1 - part)))


Function = Callable[[Array], Array]

FORWARD: dict[str, Function] = {
    "SIGMOID": sigmoid,
    "HARD_SIGMOID": lambda x: np.clip(_HARD_SLOPE * x + np.float32(0.5), 0, 1),
    "RELU": lambda x: np.maximum(x, 0),
    "TANH": np.tanh,
    "GELU": _gelu,
    "GELU_ERF": _gelu_erf,
    "SWISH": lambda x: x * sigmoid(x),
    "SOFTMAX": _softmax,
    "SOFTMAX_STABLE": _stable,
    "SOFTMAX_SCALED": lambda x: _stable(x) * np.float32(SOFTMAX_SCALING),
}
#: the derivative, of results or of inputs as said above
DERIVATIVE: dict[str, Function] = {
    "SIGMOID": lambda y: y * (1 - y),
    "HARD_SIGMOID": lambda y: np.where(np.abs(y) <= _HARD_EDGE, _HARD_SLOPE, np.float32(0)),
    "RELU": lambda y: (y > 0).astype(np.float32),
    "TANH": lambda y: 1 - y * y,
    "GELU": _gelu_gradient,
    "GELU_ERF": _gelu_erf_gradient,
    "SWISH": _swish_gradient,
}


@computing("popnn.nonLinearity")
def _forward(attributes: Mapping[str, Any]) -> Kernel:
    function = FORWARD[attributes["kind"]]

    def run(inputs: Arrays, outputs: Arrays) -> None:
        outputs[0][...] = function(single(inputs[0]))

    return run


@computing("popnn.nonLinearityInputGradient")
def _backward(attributes: Mapping[str, Any]) -> Kernel:
    derivative = DERIVATIVE.get(attributes["kind"])

    def run(inputs: Arrays, outputs: Arrays) -> None:
        values, outer = map(single, inputs)
        if derivative is not None:
            outputs[0][...] = outer * derivative(values)
        else:
            products = values * outer
            outputs[0][...] = products - values * products.sum(axis=-1, keepdims=True)

    return run


@computing("popnn.logSoftmax")
def _log_softmax(_: Mapping[str, Any]) -> Kernel:
    def run(inputs: Arrays, outputs: Arrays) -> None:
        values = single(inputs[0])
        if values.size:
            rest = values - values.max(axis=-1, keepdims=True)
            outputs[0][...] = rest - np.log(np.exp(rest).sum(axis=-1, keepdims=True))

    return run
