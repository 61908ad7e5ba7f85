"""Products of matrices, plain and grouped: NumPy computes them, the planner of matrix products costs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.checks import Array, call, joined, need_floats, need_shape, refuse, single
from tremula.frontends.poplar.libs.outputs import linear
from tremula.frontends.poplar.libs.poplin.options import Options, matmul_planning
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Program
from tremula.frontends.poplar.types import FLOAT, HALF, Type
from tremula.program.work import Elementwise, MatMul

Shape = Sequence[int]


def output_shape(where: str, left: Shape, right: Shape) -> tuple[int, ...]:
    """The shape of a product. With three dimensions the first one counts groups."""
    rank = len(left)
    if rank not in (2, 3) or len(right) != rank:
        raise refuse(where, f"matrices of shapes {list(left)} and {list(right)} cannot be multiplied")
    if left[-1] != right[-2] or tuple(left[:-2]) != tuple(right[:-2]):
        raise refuse(
            where,
            f"matrices of shapes {list(left)} and {list(right)} cannot be multiplied: the inner extents"
            f"{' and the numbers of groups' if rank == 3 else ''} have to be equal",
        )
    return (*left[:-1], right[-1])


def _rank(where: str, rank: int, *views: View) -> None:
    for view in views:
        if view.rank != rank:
            kind = "a matrix" if rank == 2 else "a group of matrices with three dimensions"
            raise refuse(where, f"{kind} is needed, not a tensor of shape {list(view.shape)}")


def work_of(where: str, left: Shape, right: Shape, type: Type, options: Options | None) -> MatMul:
    """A product for the planner."""
    planning = matmul_planning(where, options)
    groups = left[0] if len(left) == 3 else 1
    return MatMul(
        rows=left[-2],
        inner=left[-1],
        columns=right[-1],
        groups=groups,
        dtype=work_type(type),
        partials=planning.partials,
        proportion=planning.proportion,
        role=planning.role,
    )


def multiply(
    graph: Graph,
    where: str,
    rank: int,
    left: View,
    right: View,
    prog: Program,
    *,
    type: Type | None = None,
    output: View | None = None,
    debug: str = "",
    options: Options | None = None,
) -> View:
    """Multiply matrices; the result is `output`, or a new tensor of `type`."""
    _rank(where, rank, left, right)
    need_floats(where, left, right)
    shape = output_shape(where, left.shape, right.shape)
    if output is None:
        output = linear(graph, left.type if type is None else type, shape, joined(debug, "product"))
    need_floats(where, output)
    need_shape(where, "output", output, shape)
    work = work_of(where, left.shape, right.shape, left.type, options)
    call(prog, "poplin.matMul", [left, right], [output], [work], debug)
    return output


def multiply_add(
    where: str,
    rank: int,
    total: View,
    scale: float | View,
    left: View,
    right: View,
    prog: Program,
    *,
    debug: str = "",
    options: Options | None = None,
) -> None:
    """Add a scaled product of matrices to a tensor."""
    _rank(where, rank, total, left, right)
    need_floats(where, total, left, right)
    need_shape(where, "tensor to add to", total, output_shape(where, left.shape, right.shape))
    works = (
        work_of(where, left.shape, right.shape, left.type, options),
        Elementwise("scaled_add", total.elements, work_type(total.type), operands=2, in_place=True),
    )
    inputs = [total, left, right]
    if isinstance(scale, View):
        if scale.elements != 1:
            raise refuse(where, f"the scale has {scale.elements} elements instead of one")
        call(prog, "poplin.matMulAcc", [*inputs, scale], [total], works, debug)
    else:
        call(prog, "poplin.matMulAcc", inputs, [total], works, debug, scale=float(scale))


def _product(left: Array, right: Array) -> Array:
    return np.asarray(np.matmul(single(left), single(right)))


@computing("poplin.matMul")
def _multiply(_: Mapping[str, Any]) -> Kernel:
    def run(inputs: Arrays, outputs: Arrays) -> None:
        left, right = inputs
        (out,) = outputs
        if left.dtype == right.dtype == out.dtype == np.float32:
            np.matmul(left, right, out=out)
        else:
            out[...] = _product(left, right)

    return run


@computing("poplin.matMulAcc")
def _multiply_add(attributes: Mapping[str, Any]) -> Kernel:
    fixed = attributes.get("scale")

    def run(inputs: Arrays, outputs: Arrays) -> None:
        total, left, right, *scales = inputs
        factor = np.float32(fixed) if fixed is not None else single(scales[0]).reshape(-1)[0]
        outputs[0][...] = single(total) + factor * _product(left, right)

    return run


# -- operands ---------------------------------------------------------------------------------------------------


def create_operand(
    graph: Graph,
    where: str,
    operand: str,
    rank: int,
    type: Type,
    left: Shape,
    right: Shape,
    debug: str,
    options: Options | None,
) -> View:
    """An operand of a product, spread over the tiles: left, right or output."""
    matmul_planning(where, options)
    if len(left) != rank:
        raise refuse(where, f"shapes of {rank} dimensions are needed, not {list(left)}")
    if type not in (HALF, FLOAT):
        raise refuse(where, f"elements have to be half or float, not {type}")
    shapes = {"left": left, "right": right, "output": output_shape(where, left, right)}
    return linear(graph, type, shapes[operand], joined(debug, operand))
