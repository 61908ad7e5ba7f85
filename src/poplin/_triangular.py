"""Triangular systems and Cholesky factors; constants that are evenly spaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poplar import Graph, Tensor, Type
from poplar._tensor import as_tensor, as_tensors
from poplar.program import Sequence as Program
from tremula.frontends.poplar.libs.outputs import like
from tremula.frontends.poplar.libs.poplin import mesh as _mesh
from tremula.frontends.poplar.libs.poplin import triangular as _core

from ._arguments import ending


def triangularMask(
    graph: Graph, a: Tensor, lower: bool, unitDiagonal: bool, prog: Program, debug: Any = ""
) -> Tensor:
    """One triangle of a matrix, zeros elsewhere."""
    return as_tensor(_core.mask(graph, a, lower, unitDiagonal, prog, str(debug or "")))


def triangularSolve(
    graph: Graph, a: Tensor, b: Tensor, leftSide: bool, lower: bool, unitDiagonal: bool, prog: Program, *rest: Any,
    debug: Any = "", options: Any = None,
) -> Tensor:  # fmt: skip
    """Solve `a x = b`, or `x a = b` where `leftSide` is false."""
    name, chosen = ending("triangularSolve", rest, debug, options).end()
    return as_tensor(_core.solve(graph, a, b, leftSide, lower, unitDiagonal, prog, name, chosen))


def createTriangularSolveInputLHS(
    graph: Graph, inputType: Type, outputType: Type, aShape: Sequence[int], bShape: Sequence[int], leftSide: bool,
    *rest: Any, debug: Any = "", options: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor for the matrix of a system."""
    name, chosen = ending("createTriangularSolveInputLHS", rest, debug, options).end()
    return as_tensor(_core.create_input(graph, inputType, aShape, name, "lhs", chosen))


def createTriangularSolveInputRHS(
    graph: Graph, inputType: Type, outputType: Type, aShape: Sequence[int], bShape: Sequence[int], leftSide: bool,
    *rest: Any, debug: Any = "", options: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor for the right side of a system."""
    name, chosen = ending("createTriangularSolveInputRHS", rest, debug, options).end()
    return as_tensor(_core.create_input(graph, inputType, bShape, name, "rhs", chosen))


def cholesky(
    graph: Graph, a: Tensor, lower: bool, prog: Program, *rest: Any, debug: Any = "", options: Any = None
) -> Tensor:
    """The lower or upper Cholesky factor of symmetric matrices."""
    name, chosen = ending("cholesky", rest, debug, options).end()
    made = like(graph, a, a.elementType(), name)
    _core.cholesky(a, made, lower, prog, name, chosen)
    return as_tensor(made)


def choleskyInPlace(
    graph: Graph, a: Tensor, lower: bool, prog: Program, *rest: Any, debug: Any = "", options: Any = None
) -> None:
    """Replace `a` by its Cholesky factor."""
    name, chosen = ending("choleskyInPlace", rest, debug, options).end()
    _core.cholesky(a, a, lower, prog, name, chosen)


def createCholeskyInput(
    graph: Graph,
    type: Type,
    shape: Sequence[int],
    lower: bool,
    *rest: Any,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """A tensor for the matrices."""
    name, chosen = ending("createCholeskyInput", rest, debug, options).end()
    return as_tensor(_core.create_input(graph, type, shape, name, "cholesky", chosen))


def linspace(graph: Graph, type: Type, left: float, right: float, count: int, debug: Any = "") -> Tensor:
    """A constant of `count` evenly spaced numbers."""
    return as_tensor(_mesh.linspace(graph, type, left, right, count, str(debug or "")))


def meshgrid2d(graph: Graph, x: Tensor, y: Tensor) -> list[Tensor]:
    """The coordinates of the points of a grid."""
    return as_tensors(_mesh.grid(x, y))
