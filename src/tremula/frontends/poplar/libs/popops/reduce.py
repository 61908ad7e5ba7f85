"""Reductions as calls: a sequence gets one call, a list of compute sets gets vertices in one or two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.vertices import ComputeSet
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs import calls, options, outputs
from tremula.frontends.poplar.libs.calls import work_type
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops import reducing as reducing  # registers the kernel
from tremula.frontends.poplar.libs.popops.operations import Operation
from tremula.frontends.poplar.libs.popops.reduce_vertices import add_vertices
from tremula.frontends.poplar.lines import user_line
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.frontends.poplar.types import BOOL, Type
from tremula.program import work

_ACCUMULATORS = {
    "accumType.interTile": "halves are accumulated in single precision",
    "accumType.inVertex": "halves are accumulated in single precision",
}
_TRUTHS = (Operation.LOGICAL_AND, Operation.LOGICAL_OR)
_SCALED = (Operation.ADD, Operation.SQUARE_ADD, Operation.LOG_ADD)
_WORK_NAMES = {
    Operation.LOGICAL_AND: "and",
    Operation.LOGICAL_OR: "or",
}


@dataclass
class Reduction:
    """What a reduction does beside its operands."""

    operation: Operation
    update: bool = False
    scale: View | None = None


def reduce_views(
    graph: Graph,
    view: View,
    dims: Sequence[int],
    what: Reduction,
    where: Sequence_ | list[ComputeSet],
    name: str,
    given: Mapping[str, str],
    *,
    type: Type | None = None,
    out: View | None = None,
) -> View:
    """Reduce `view` along `dims` into `out`, or into a new tensor of `type`."""
    options.check("popops::reduce", given, without_effect=_ACCUMULATORS)
    dims = sorted(dims)
    shape = _checked(view, dims, what)
    if out is None:
        if what.update:
            raise PoplibsError(
                f"a reduction that updates its output needs one: use reduceWithOutput ({user_line()})"
            )
        out = outputs.linear(graph, type or view.type, shape, name)
    _check_output(out, shape, view, what)
    if not isinstance(where, Sequence_):
        add_vertices(graph, view, dims, out, what.operation.name, what.update, what.scale, where, name)
        return out
    inputs = [view, *([out] if what.update else []), *([what.scale] if what.scale is not None else [])]
    attributes = {
        "operation": what.operation.name,
        "dims": list(dims),
        "update": what.update,
        "scaled": what.scale is not None,
    }
    works = reduction_works(view, dims, out, what)
    calls.add_call(where, "popops.reduce", inputs, [out], attributes, works, name or "popops::reduce")
    return out


def _checked(view: View, dims: Sequence[int], what: Reduction) -> tuple[int, ...]:
    if len(set(dims)) != len(dims) or any(not 0 <= each < view.rank for each in dims):
        raise PoplibsError(
            f"dimensions {list(dims)} do not name different ones of a tensor of shape {list(view.shape)} "
            f"({user_line()})"
        )
    if (view.type is BOOL) != (what.operation in _TRUTHS):
        raise PoplibsError(
            f"{what.operation.name} does not reduce elements of type {view.type} ({user_line()})"
        )
    if (what.update or what.scale is not None) and what.operation not in _SCALED:
        raise PoplibsError(
            f"only sums are scaled or update their output, not {what.operation.name} ({user_line()})"
        )
    if what.scale is not None and what.scale.elements != 1:
        raise PoplibsError(
            f"the scale of a reduction is one element, not {what.scale.elements} ({user_line()})"
        )
    return tuple(length for place, length in enumerate(view.shape) if place not in dims)


def _check_output(out: View, shape: tuple[int, ...], view: View, what: Reduction) -> None:
    if tuple(out.shape) != shape:
        raise PoplibsError(
            f"the reduced tensor is of shape {list(shape)}, the one for it of shape {list(out.shape)} ({user_line()})"
        )
    same = out.type is view.type or (out.type.is_floating and view.type.is_floating and what.operation not in (
        Operation.MAX, Operation.MIN,
    ))  # fmt: skip
    if not same:
        raise PoplibsError(
            f"{what.operation.name} does not reduce elements of type {view.type} to {out.type} ({user_line()})"
        )


def reduction_works(view: View, dims: Sequence[int], out: View, what: Reduction) -> list[work.Work]:
    """One reduction; where the dimensions are not neighbours, the kept ones count as those before."""
    shape = view.shape
    together = list(dims) == list(range(dims[0], dims[0] + len(dims))) if dims else True
    first = dims[0] if dims else view.rank
    before = prod(shape[:first])
    after = prod(shape[first + len(dims) :]) if together else 1
    count = prod(shape[each] for each in dims)
    if not view.elements:
        return [work.Fill(out.elements, work_type(out.type))]
    found: list[work.Work] = [
        work.Reduction(
            outer=before if together else out.elements,
            reduced=count,
            inner=after,
            dtype=work_type(view.type),
            operation=_WORK_NAMES.get(what.operation, what.operation.name.lower()),
            output_dtype=work_type(out.type) if out.type is not view.type else None,
        )
    ]
    return found
