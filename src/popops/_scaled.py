"""scaledAddTo and scaledSubtractFrom."""

from __future__ import annotations

from enum import Enum
from typing import Any

from poplar import Graph, Tensor
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.popops.scaled import add_scaled


class ScaledAddSpecialisation(Enum):
    """What the scale of the first operand means: a A + b B, or A - a A + b B."""

    DEFAULT = 0
    X_MINUS_AX_PLUS_BY = 1


def scaledAddTo(graph: Graph, A: Tensor, *arguments: Any, debug: Any = "", options: Any = None) -> None:
    """`scaledAddTo(graph, A, B, scaleB, prog)`: A += scaleB B; `scaledAddTo(graph, A, scaleA, B, scaleB, prog
    [, ScaledAddSpecialisation])`: A = scaleA A + scaleB B. Scales are numbers or tensors of one element."""
    _scaled("popops::scaledAddTo", graph, A, arguments, debug, options, subtract=False)


def scaledSubtractFrom(
    graph: Graph, A: Tensor, *arguments: Any, debug: Any = "", options: Any = None
) -> None:
    """`scaledSubtractFrom(graph, A, B, scaleB, prog)`: A -= scaleB B; `scaledSubtractFrom(graph, A, scaleA, B, scaleB,
    prog)`: A = scaleA A - scaleB B."""
    _scaled("popops::scaledSubtractFrom", graph, A, arguments, debug, options, subtract=True)


def _scaled(
    name: str, graph: Graph, first: Tensor, arguments: Any, debug: Any, options: Any, *, subtract: bool
) -> None:
    taken = Arguments(name, arguments, debug, options)
    one = _scale_or_tensor(taken)
    two = _scale_or_tensor(taken)
    if taken.next_is(View) or taken.next_is_number():
        scale_a, second, scale_b = one, two, _scale_or_tensor(taken)
    else:
        scale_a, second, scale_b = 1.0, one, two
    program = taken.program()
    special = taken.maybe(ScaledAddSpecialisation)
    complement = special is ScaledAddSpecialisation.X_MINUS_AX_PLUS_BY
    add_scaled(
        graph,
        first,
        scale_a,
        second,
        scale_b,
        program,
        *taken.end(),
        subtract=subtract,
        complement=complement,
    )


def _scale_or_tensor(taken: Arguments) -> Any:
    return taken.number("scale") if taken.next_is_number() else taken.view("operand or scale")


__all__ = ["ScaledAddSpecialisation", "scaledAddTo", "scaledSubtractFrom"]
