"""Non-linearities: all kinds by one function, and a function for each kind."""

from __future__ import annotations

from typing import Any

from poplar import ComputeSet, Graph, Tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.libs.checks import joined, refuse
from tremula.frontends.poplar.libs.outputs import like
from tremula.frontends.poplar.libs.popnn import nonlinearity as _core
from tremula.frontends.poplar.libs.popnn.nonlinearity import NonLinearityType


def _program(where: str, prog: Any) -> Program:
    if isinstance(prog, ComputeSet):
        raise refuse(where, "adding to a compute set is not offered: give a Sequence instead")
    return prog


def nonLinearity(
    graph: Graph, nonLinearityType: NonLinearityType, t: Tensor, prog: Program, debug: Any = ""
) -> Tensor:
    """The non-linearity of a tensor; softmax is over the innermost dimension."""
    return _core.applied(
        graph, NonLinearityType(nonLinearityType), t, _program("nonLinearity", prog), str(debug or "")
    )


def nonLinearityInPlace(
    graph: Graph, nonLinearityType: NonLinearityType, t: Tensor, prog: Program, debug: Any = ""
) -> None:
    """The same, written over the tensor."""
    _core.apply(
        NonLinearityType(nonLinearityType), t, t, _program("nonLinearityInPlace", prog), str(debug or "")
    )


def nonLinearityScaling(nonLinearityType: NonLinearityType) -> float:
    """What the result is multiplied with: 62000 for SOFTMAX_SCALED, else 1. In C++ an argument that is written to."""
    return _core.scaling(NonLinearityType(nonLinearityType))


def nonLinearityInputGradient(
    graph: Graph,
    nonLinearityType: NonLinearityType,
    act: Tensor,
    outGradient: Tensor,
    prog: Program,
    debug: Any = "",
) -> Tensor:
    """The gradient of the input. `act` is the result, but the input of GELU, GELU_ERF and SWISH."""
    kind, where = NonLinearityType(nonLinearityType), "nonLinearityInputGradient"
    return _core.gradient(graph, kind, act, outGradient, _program(where, prog), str(debug or ""))


def logSoftmax(graph: Graph, t: Tensor, prog: Program, debug: Any = "") -> Tensor:
    """The logarithm of a stable softmax over the innermost dimension."""
    made = like(graph, t, t.elementType(), joined(str(debug or ""), "logSoftmax"))
    _core.log_softmax(t, made, prog, str(debug or ""))
    return made


def logSoftmaxInPlace(graph: Graph, t: Tensor, prog: Program, debug: Any = "") -> None:
    """The same, written over the tensor."""
    _core.log_softmax(t, t, prog, str(debug or ""))


def _both(name: str, kind: NonLinearityType):
    def plain(graph: Graph, t: Tensor, prog: Program, debug: Any = "") -> Tensor:
        return nonLinearity(graph, kind, t, prog, debug)

    def in_place(graph: Graph, t: Tensor, prog: Program, debug: Any = "") -> None:
        nonLinearityInPlace(graph, kind, t, prog, debug)

    for function, own in ((plain, name), (in_place, f"{name}InPlace")):
        function.__name__ = function.__qualname__ = own
        function.__doc__ = f"`{own}(graph, t, prog[, debug])`: the non-linearity {kind.name}."
    return plain, in_place


sigmoid, sigmoidInPlace = _both("sigmoid", NonLinearityType.SIGMOID)
relu, reluInPlace = _both("relu", NonLinearityType.RELU)
tanh, tanhInPlace = _both("tanh", NonLinearityType.TANH)
gelu, geluInPlace = _both("gelu", NonLinearityType.GELU)
geluErf, geluErfInPlace = _both("geluErf", NonLinearityType.GELU_ERF)
swish, swishInPlace = _both("swish", NonLinearityType.SWISH)
softmax, softmaxInPlace = _both("softmax", NonLinearityType.SOFTMAX)
softmaxStable, softmaxStableInPlace = _both("softmaxStable", NonLinearityType.SOFTMAX_STABLE)
scaledSoftmaxStable, scaledSoftmaxStableInPlace = _both(
    "scaledSoftmaxStable", NonLinearityType.SOFTMAX_SCALED
)
