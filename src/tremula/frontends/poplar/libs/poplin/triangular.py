"""Cholesky factors, triangular masks and triangular systems: computed in NumPy, costed as the products that they are.

The real functions work in blocks: half of the multiplications of a full product for a solve, a third of those of an
n by n product for a factor. The planner gets products of about that size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.checks import Array, call, joined, need_floats, refuse, single
from tremula.frontends.poplar.libs.outputs import like, linear
from tremula.frontends.poplar.libs.poplin.options import Options, matmul_planning
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Program
from tremula.program.work import Elementwise, MatMul


def _rest(options: Options | None) -> Options:
    """The options that are those of products; the size of blocks is the chip model's own matter."""
    return {name: value for name, value in (options or {}).items() if name != "blockSize"}


def _square(where: str, matrix: View) -> tuple[int, int]:
    """How many matrices there are, and their extent."""
    if matrix.rank < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise refuse(where, f"square matrices are needed, not a tensor of shape {list(matrix.shape)}")
    need_floats(where, matrix)
    size = matrix.shape[-1]
    return matrix.elements // max(size * size, 1), size


def mask(graph: Graph, matrix: View, lower: bool, unit: bool, prog: Program, debug: str) -> View:
    """One triangle of a matrix, zeros elsewhere; with `unit` ones on the diagonal."""
    _square("triangularMask", matrix)
    made = like(graph, matrix, matrix.type, joined(debug, "triangularMask"))
    work = Elementwise("select", matrix.elements, work_type(matrix.type), operands=2)
    call(prog, "poplin.triangularMask", [matrix], [made], [work], debug, lower=bool(lower), unit=bool(unit))
    return made


def solve(
    graph: Graph,
    matrix: View,
    right: View,
    left_side: bool,
    lower: bool,
    unit: bool,
    prog: Program,
    debug: str,
    options: Options | None,
) -> View:
    """Solve `matrix x = right`, or `x matrix = right` where `left_side` is false."""
    where = "triangularSolve"
    matmul_planning(where, _rest(options))
    groups, size = _square(where, matrix)
    need_floats(where, right)
    if right.rank != matrix.rank or right.shape[-2 if left_side else -1] != size:
        raise refuse(where, f"a system of {size} has no right side of shape {list(right.shape)}")
    if tuple(right.shape[:-2]) != tuple(matrix.shape[:-2]):
        raise refuse(where, f"the groups of {list(matrix.shape)} and {list(right.shape)} differ")
    made = like(graph, right, right.type, joined(debug, where))
    columns = right.shape[-1 if left_side else -2]
    work = MatMul(size, max(size // 2, 1), columns, groups, work_type(matrix.type))
    call(
        prog,
        "poplin.triangularSolve",
        [matrix, right],
        [made],
        [work],
        debug,
        left=bool(left_side),
        lower=bool(lower),
        unit=bool(unit),
    )
    return made


def cholesky(
    matrix: View, output: View, lower: bool, prog: Program, debug: str, options: Options | None
) -> None:
    """The Cholesky factor of symmetric matrices: the lower or the upper one."""
    where = "cholesky"
    matmul_planning(where, _rest(options))
    groups, size = _square(where, matrix)
    work = MatMul(size, max(size // 3, 1), size, groups, work_type(matrix.type))
    call(prog, "poplin.cholesky", [matrix], [output], [work], debug, lower=bool(lower))


def create_input(
    graph: Graph, type: Any, shape: Any, debug: str, part: str, options: Options | None = None
) -> View:
    """A matrix for these functions, spread over the tiles."""
    matmul_planning(part, _rest(options))
    return linear(graph, type, shape, joined(debug, part))


# -- kernels ------------------------------------------------------------------------------------------------------


def _triangle(matrix: Array, lower: bool, unit: bool) -> Array:
    kept = np.tril(matrix) if lower else np.triu(matrix)
    if unit:
        places = np.arange(matrix.shape[-1])
        kept[..., places, places] = 1
    return kept


@computing("poplin.triangularMask")
def _mask(attributes: Mapping[str, Any]) -> Kernel:
    lower, unit = attributes["lower"], attributes["unit"]

    def run(inputs: Arrays, outputs: Arrays) -> None:
        outputs[0][...] = _triangle(inputs[0], lower, unit)

    return run


@computing("poplin.triangularSolve")
def _solve(attributes: Mapping[str, Any]) -> Kernel:
    left, lower, unit = attributes["left"], attributes["lower"], attributes["unit"]

    def run(inputs: Arrays, outputs: Arrays) -> None:
        matrix = _triangle(single(inputs[0]), lower, unit)
        right = single(inputs[1])
        if left:
            outputs[0][...] = np.linalg.solve(matrix, right)
        else:
            turned = np.linalg.solve(matrix.swapaxes(-1, -2), right.swapaxes(-1, -2))
            outputs[0][...] = turned.swapaxes(-1, -2)

    return run


@computing("poplin.cholesky")
def _cholesky(attributes: Mapping[str, Any]) -> Kernel:
    lower = attributes["lower"]

    def run(inputs: Arrays, outputs: Arrays) -> None:
        matrix = single(inputs[0])
        symmetric = (
            np.tril(matrix) + np.tril(matrix, -1).swapaxes(-1, -2)
            if lower
            else (np.triu(matrix) + np.triu(matrix, 1).swapaxes(-1, -2))
        )
        try:
            factor = np.linalg.cholesky(symmetric)
        except np.linalg.LinAlgError:
            factor = np.full_like(symmetric, np.nan)
        outputs[0][...] = factor if lower else factor.swapaxes(-1, -2)

    return run
