"""zero, fill and cast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from poplar import Graph, Tensor
from poplar._tensor import as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops import checks, fills
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.frontends.poplar.types import Type


def zero(graph: Graph, t: Tensor, *arguments: Any, debug: Any = "", options: Any = None) -> None:
    """`zero(graph, t, prog)`; `zero(graph, t, [regions,] tile, computeSet)`; `zero(graph, t, mapping, computeSet)`."""
    _fill("popops::zero", graph, t, Arguments("popops::zero", arguments, debug, options), lambda taken: 0)


def fill(graph: Graph, t: Tensor, *arguments: Any, debug: Any = "", options: Any = None) -> None:
    """`fill(graph, t, prog, value)`; `fill(graph, t, [regions,] tile, computeSet, value)`;
    `fill(graph, t, mapping, computeSet, value)`."""
    taken = Arguments("popops::fill", arguments, debug, options)
    _fill("popops::fill", graph, t, taken, lambda each: each.any("fillValue"))


def _fill(name: str, graph: Graph, t: Tensor, taken: Arguments, value_of: Callable[[Arguments], Any]) -> None:
    if taken.next_is(Sequence_):
        program = taken.program()
        value = value_of(taken)
        fills.fill(graph, t, value, program, taken.end()[0] or name)
        return
    given = taken.sequence("mapping") if taken.next_is(Sequence) else None
    if given is not None and taken.next_is(ComputeSet):
        where = [(tile, _pairs(each)) for tile, each in enumerate(given)]
    else:
        tile = taken.integer("tile")
        where = [(tile, [(0, t.elements)] if given is None else _pairs(given))]
    compute_set = taken.take("computeSet", ComputeSet)
    value = value_of(taken)
    taken.end()
    fills.fill_in(graph, t, where, compute_set, value)


def _pairs(intervals: Sequence[Any]) -> list[tuple[int, int]]:
    return [(each.begin(), each.end()) if hasattr(each, "begin") else tuple(each) for each in intervals]


def cast(graph: Graph, src: Tensor, *arguments: Any, debug: Any = "", options: Any = None) -> Any:
    """`cast(graph, src, type[, metadata], prog)` and `cast(graph, src, type, computeSet)` give a new tensor;
    `cast(graph, src, dst)` gives a program, `cast(graph, src, dst, computeSet)` nothing."""
    taken = Arguments("popops::cast", arguments, debug, options)
    if taken.next_is(Type):
        return _cast_to_type(graph, src, taken)
    dst = taken.view("dst")
    compute_set = taken.maybe(ComputeSet)
    name = taken.end()[0]
    if compute_set is not None:
        fills.cast_in(graph, src, dst, compute_set)
        return None
    program = Sequence_()
    fills.cast(graph, src, dst, program, name or "popops::cast")
    return program


def _cast_to_type(graph: Graph, src: View, taken: Arguments) -> Tensor:
    kind = taken.take("dstType", Type)
    if taken.next_is(View):
        raise PoplibsError(
            "popops::cast: metadata belong to 8-bit floating point, which is not supported; leave them out"
        )
    where = taken.maybe(ComputeSet) or taken.program()
    name = taken.end()[0] or "popops::cast"
    out = fills.cast_output(graph, src, kind, name)
    if isinstance(where, ComputeSet):
        fills.cast_in(graph, src, out, where)
    else:
        fills.cast(graph, src, out, where, name)
    return as_tensor(out)


def castWithOutput(
    graph: Graph, src: Tensor, dst: Tensor, prog: Program, debug: Any = "", options: Any = None
) -> None:
    """Write `src` to `dst` in its type."""
    taken = Arguments("popops::castWithOutput", [prog], debug, options)
    fills.cast(graph, src, dst, taken.program(), taken.end()[0] or "popops::cast")


def checkAccuracyWhenCast(
    graph: Graph,
    input: Tensor,
    outputType: Type,
    tolerance: float,
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """A truth value: whether the number would keep its relative accuracy in `outputType`."""
    taken = Arguments("popops::checkAccuracyWhenCast", [prog], debug, options)
    program = taken.program()
    return as_tensor(
        checks.check_accuracy(graph, input, outputType, float(tolerance), program, taken.end()[0])
    )


__all__ = ["cast", "castWithOutput", "checkAccuracyWhenCast", "fill", "zero"]
