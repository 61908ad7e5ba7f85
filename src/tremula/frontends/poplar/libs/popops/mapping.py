"""Element-wise functions: an expression over tensors that are broadcast as NumPy does, as one call.

A call is one fused pass over the data, or, without generated vertices, one pass for each operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import calls, options, outputs
from tremula.frontends.poplar.libs.calls import work_type
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops import evaluation as evaluation  # registers the kernel
from tremula.frontends.poplar.libs.popops.expressions import Cast, Const, Expr, Operated, PlaceHolder
from tremula.frontends.poplar.libs.popops.inference import Types
from tremula.frontends.poplar.libs.popops.operations import WORK_NAMES
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.frontends.poplar.types import Type
from tremula.program import work

_FUSED = "enableGenerateCodelet"
_WITHOUT_EFFECT = {
    "enableVectorBroadcastOptimisations": "the chip model looks at broadcasts itself",
    "forceGenerateCodelet": "a single operation costs the same as one generated vertex",
    "enableExpressionOptimizations": "expressions are computed as they are written",
}


def map_views(
    graph: Graph,
    expressions: Sequence[Expr],
    operands: Sequence[View],
    program: Sequence_,
    name: str,
    given: Mapping[str, str],
    into: Sequence[View] | None = None,
) -> list[View]:
    """Compute expressions over `operands`, into given tensors or new ones, which are returned."""
    function = "popops::map"
    options.check(function, given, (_FUSED,), _WITHOUT_EFFECT)
    fused = options.truth(function, given, _FUSED, True)
    if not operands:
        raise PoplibsError(f"an expression needs at least one tensor ({user_line()})")
    shape = broadcast_shape(operands)
    types = [Types(each, [operand.type for operand in operands]) for each in expressions]
    if into is None:
        made = [outputs.of_element_wise(graph, operands, shape, each.result, name) for each in types]
    else:
        made = [_checked(view, shape, each.result) for view, each in zip(into, types, strict=True)]
    trees = [_tree(each, found, graph) for each, found in zip(expressions, types, strict=True)]
    works = _works(expressions, operands, made, types, fused)
    calls.add_call(program, "popops.map", operands, made, {"trees": trees}, works, name or "popops::map")
    return made


def broadcast_shape(operands: Sequence[View]) -> tuple[int, ...]:
    """The shape that all operands are broadcast to."""
    try:
        return np.broadcast_shapes(*(tuple(each.shape) for each in operands))
    except ValueError:
        shapes = ", ".join(str(list(each.shape)) for each in operands)
        raise PoplibsError(
            f"tensors of shapes {shapes} cannot be broadcast together ({user_line()})"
        ) from None


def check_writeable(view: View, what: str) -> None:
    """Raise unless all elements of a tensor may be written at once."""
    if view.has_aliases():
        raise PoplibsError(
            f"{what} names some elements more than once, so it cannot be written ({user_line()})"
        )
    if outputs.has_constant(view):
        raise PoplibsError(f"{what} has elements of a constant, so it cannot be written ({user_line()})")


def _checked(view: View, shape: tuple[int, ...], type: Type) -> View:
    if tuple(view.shape) != shape:
        raise PoplibsError(
            f"the result is of shape {list(shape)}, the tensor for it of shape {list(view.shape)} ({user_line()})"
        )
    if view.type is not type:
        raise PoplibsError(
            f"the result is of type {type}, the tensor for it of type {view.type} ({user_line()})"
        )
    check_writeable(view, "the tensor for the result")
    return view


def _tree(part: Expr, types: Types, graph: Graph) -> list[Any]:
    """Nested lists with the host's types, as the kernel takes them."""
    if isinstance(part, PlaceHolder):
        return [part.index - 1]
    if isinstance(part, Const):
        return ["const", graph.storage(types.of_constant(part)).name, part.value]
    if isinstance(part, Cast):
        return ["cast", _tree(part.argument, types, graph), graph.storage(part.type).name]
    if not isinstance(part, Operated):
        raise PoplibsError(f"{part!r} is not part of an expression ({user_line()})")
    return [part.type.name, *(_tree(each, types, graph) for each in part.arguments)]


def operation_names(part: Expr) -> list[tuple[str, int]]:
    """The operations of an expression in the order of their execution, as the chip model calls them, and how many
    operands each has."""
    if isinstance(part, Cast):
        return [*operation_names(part.argument), ("trunc", 1)]
    if not isinstance(part, Operated):
        return []
    below = [pair for argument in part.arguments for pair in operation_names(argument)]
    return [*below, *((name, part.count) for name in WORK_NAMES[part.type.name].split("+"))]


def _works(
    expressions: Sequence[Expr],
    operands: Sequence[View],
    made: Sequence[View],
    types: Sequence[Types],
    fused: bool,
) -> list[work.Work]:
    elements = made[0].elements
    names = [pair for each in expressions for pair in operation_names(each)]
    if not names:
        return [_pure(operands[0], each) for each in made]
    small = max(
        (each for each in operands if each.elements != elements), key=lambda v: v.elements, default=None
    )
    computed, result = _computed_type(operands), work_type(types[0].result)

    def one_pass(operation: str, count: int, with_constant: bool) -> work.Work:
        return work.Elementwise(
            operation=operation,
            elements=elements,
            dtype=computed,
            operands=count,
            broadcast_elements=1 if with_constant else (small.elements if small is not None else None),
            broadcast_inner=not with_constant and small is not None and _inner(small, made[0]),
            output_dtype=result if result != computed else None,
            in_place=any(made[0].same_elements(each) for each in operands),
        )

    constant = len(names) == 1 and small is None and _has_constant(expressions[0])
    if fused:
        return [one_pass("+".join(name for name, _ in names), len(operands) + constant, constant)]
    return [one_pass(name, count, constant) for name, count in names]


def _pure(source: View, result: View) -> work.Work:
    if source.type is result.type:
        return work.Copy(result.elements, work_type(result.type), max(1, result.elements))
    return work.Cast(result.elements, work_type(source.type), work_type(result.type))


def _computed_type(operands: Sequence[View]) -> str:
    kept = [each for each in operands if each.type.name != "BOOL"] or list(operands)
    return work_type(max(kept, key=lambda view: view.elements).type)


def _has_constant(part: Expr) -> bool:
    if isinstance(part, Cast):
        return _has_constant(part.argument)
    return isinstance(part, Const) or (
        isinstance(part, Operated) and any(_has_constant(each) for each in part.arguments)
    )


def _inner(small: View, result: View) -> bool:
    """Whether a broadcast operand runs along the innermost dimension of the result."""
    return (
        bool(small.shape) and small.shape[-1] == result.shape[-1] and prod(small.shape) == small.shape[-1] > 1
    )
