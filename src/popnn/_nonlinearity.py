"""Non-linearities: all kinds by one function, and a function for each kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from poplar import ComputeSet, Graph, Tensor
from poplar._tensor import as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.libs.checks import joined
from tremula.frontends.poplar.libs.outputs import like
from tremula.frontends.poplar.libs.popnn import nonlinearity as _core
from tremula.frontends.poplar.libs.popnn import nonlinearity_vertices as _vertices
from tremula.frontends.poplar.libs.popnn.nonlinearity import NonLinearityType as NonLinearityType


def nonLinearity(
    graph: Graph, nonLinearityType: NonLinearityType, t: Tensor, prog: Program, debug: Any = ""
) -> Tensor:
    """The non-linearity of a tensor; softmax is over the innermost dimension."""
    return as_tensor(_core.applied(graph, NonLinearityType(nonLinearityType), t, prog, str(debug or "")))


def nonLinearityInPlace(
    graph: Graph, nonLinearityType: NonLinearityType, t: Tensor, prog: Program | ComputeSet, debug: Any = ""
) -> None:
    """Replace a tensor by its non-linearity: with a program in a sequence, or with vertices in a compute set."""
    kind = NonLinearityType(nonLinearityType)
    if isinstance(prog, ComputeSet):
        _vertices.apply_on_tiles(graph, kind, t, prog)
    else:
        _core.apply(kind, t, t, prog, str(debug or ""))


def nonLinearityScaling(nonLinearityType: NonLinearityType) -> float:
    """What the result is multiplied with: 62000 for SOFTMAX_SCALED, else 1. In C++ an argument that is written to."""
    return _core.scaling(NonLinearityType(nonLinearityType))


def nonLinearityInputGradient(
    graph: Graph, nonLinearityType: NonLinearityType, act: Tensor, outGradient: Tensor, prog: Program | ComputeSet,
    debug: Any = "",
) -> Tensor:  # fmt: skip
    """The gradient of the input, by a program in a sequence or by vertices in a compute set. `act` is the result, but
    the input of GELU, GELU_ERF and SWISH."""
    kind, name = NonLinearityType(nonLinearityType), str(debug or "")
    if isinstance(prog, ComputeSet):
        return as_tensor(_vertices.gradient_on_tiles(graph, kind, act, outGradient, prog, name))
    return as_tensor(_core.gradient(graph, kind, act, outGradient, prog, name))


def logSoftmax(graph: Graph, t: Tensor, prog: Program, debug: Any = "") -> Tensor:
    """The logarithm of a stable softmax over the innermost dimension."""
    made = like(graph, t, t.elementType(), joined(str(debug or ""), "logSoftmax"))
    _core.log_softmax(t, made, prog, str(debug or ""))
    return as_tensor(made)


def logSoftmaxInPlace(graph: Graph, t: Tensor, prog: Program, debug: Any = "") -> None:
    """Replace a tensor by the logarithm of its softmax."""
    _core.log_softmax(t, t, prog, str(debug or ""))


def _both(name: str, kind: NonLinearityType) -> tuple[Callable[..., Tensor], Callable[..., None]]:
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
