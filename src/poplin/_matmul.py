"""Products of matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from poplar import Graph, Tensor, Type
from poplar._tensor import as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.libs.poplin import matmul as _core
from tremula.frontends.poplar.libs.poplin.options import matmul_planning

from ._arguments import ending


def matMul(
    graph: Graph, A: Tensor, B: Tensor, prog: Program, *rest: Any, debug: Any = "", options: Any = None
) -> Tensor:
    """`matMul(graph, A, B, prog[, outputType][, debug[, options[, cache]]])`: the product of two matrices."""
    return _multiply("matMul", 2, graph, A, B, None, prog, rest, debug, options)


def matMulGrouped(
    graph: Graph, A: Tensor, B: Tensor, prog: Program, *rest: Any, debug: Any = "", options: Any = None
) -> Tensor:
    """`matMulGrouped(graph, A, B, prog[, outputType][, debug[, options[, cache]]])`: products of groups of matrices."""
    return _multiply("matMulGrouped", 3, graph, A, B, None, prog, rest, debug, options)


def matMulWithOutput(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    out: Tensor,
    prog: Program,
    *rest: Any,
    debug: Any = "",
    options: Any = None,
) -> None:
    """The product of two matrices, written to `out`."""
    _multiply("matMulWithOutput", 2, graph, A, B, out, prog, rest, debug, options)


def matMulGroupedWithOutput(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    out: Tensor,
    prog: Program,
    *rest: Any,
    debug: Any = "",
    options: Any = None,
) -> None:
    """Products of groups of matrices, written to `out`."""
    _multiply("matMulGroupedWithOutput", 3, graph, A, B, out, prog, rest, debug, options)


def _multiply(
    where: str, rank: int, graph: Graph, A: Tensor, B: Tensor, out: Tensor | None, prog: Program, rest: Sequence[Any],
    debug: Any, options: Any,
) -> Tensor:  # fmt: skip
    given = ending(where, rest, debug, options)
    kind = given.maybe(Type)
    name, chosen = given.end()
    made = _core.multiply(graph, where, rank, A, B, prog, type=kind, output=out, debug=name, options=chosen)
    return as_tensor(made)


def matMulAcc(
    graph: Graph, C: Tensor, k: float | Tensor, A: Tensor, B: Tensor, prog: Program, *rest: Any, debug: Any = "",
    options: Any = None,
) -> None:  # fmt: skip
    """Add `k` times the product of `A` and `B` to `C`; `k` is a number or a tensor of one element."""
    name, chosen = ending("matMulAcc", rest, debug, options).end()
    _core.multiply_add("matMulAcc", 2, C, k, A, B, prog, debug=name, options=chosen)


def matMulGroupedAcc(
    graph: Graph, C: Tensor, k: float | Tensor, A: Tensor, B: Tensor, prog: Program, *rest: Any, debug: Any = "",
    options: Any = None,
) -> None:  # fmt: skip
    """Add `k` times the products of groups of matrices to `C`."""
    name, chosen = ending("matMulGroupedAcc", rest, debug, options).end()
    _core.multiply_add("matMulGroupedAcc", 3, C, k, A, B, prog, debug=name, options=chosen)


def _create(where: str, operand: str, rank: int) -> Callable[..., Tensor]:
    def create(graph: Graph, inputType: Type, *rest: Any, debug: Any = "", options: Any = None) -> Tensor:
        given = ending(where, rest, debug, options)
        outputType = given.maybe(Type) or inputType
        left, right = given.integers("aShape"), given.integers("bShape")
        name, chosen = given.end()
        kind = outputType if operand == "output" else inputType
        return as_tensor(_core.create_operand(graph, where, operand, rank, kind, left, right, name, chosen))

    create.__name__ = create.__qualname__ = where
    create.__doc__ = (
        f"`{where}(graph, inputType[, outputType], aShape, bShape[, debug[, options[, cache]]])`: "
        f"a tensor for the {operand} of a product."
    )
    return create


createMatMulInputLHS = _create("createMatMulInputLHS", "left", 2)
createMatMulInputRHS = _create("createMatMulInputRHS", "right", 2)
createMatMulOutput = _create("createMatMulOutput", "output", 2)
createMatMulGroupedInputLHS = _create("createMatMulGroupedInputLHS", "left", 3)
createMatMulGroupedInputRHS = _create("createMatMulGroupedInputRHS", "right", 3)
createMatMulGroupedOutput = _create("createMatMulGroupedOutput", "output", 3)


def preArrangeMatMulInputRHS(
    graph: Graph,
    aShape: Sequence[int],
    B: Tensor,
    prog: Program,
    *rest: Any,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """The right operand in the layout of a plan: layouts do not differ here, so it is `B` itself."""
    return _arranged("preArrangeMatMulInputRHS", aShape, B, rest, debug, options)


def preArrangeMatMulGroupedInputRHS(
    graph: Graph,
    aShape: Sequence[int],
    B: Tensor,
    prog: Program,
    *rest: Any,
    debug: Any = "",
    options: Any = None,
) -> Tensor:
    """The right operand of a grouped product in the layout of a plan. All layouts are equal here, so it is `B`."""
    return _arranged("preArrangeMatMulGroupedInputRHS", aShape, B, rest, debug, options)


def _arranged(
    where: str, aShape: Sequence[int], B: Tensor, rest: Sequence[Any], debug: Any, options: Any
) -> Tensor:
    given = ending(where, rest, debug, options)
    given.maybe(Type)
    _, chosen = given.end()
    matmul_planning(where, chosen)
    _core.output_shape(where, tuple(aShape), B.shape)
    return B


def transposeGroupedMatrix(A: Tensor) -> Tensor:
    """Exchange rows and columns of each matrix of a group."""
    return A.dimShufflePartial([1, 2], [2, 1])


def matmulValidateOptions(options: Any) -> None:
    """Raise an error if options are not those of a product of matrices."""
    matmul_planning("matMul", dict(options))


def preplan(convs: Any = (), matmuls: Any = (), cache: Any = None) -> None:
    """Make plans ahead: the chip model makes its plans when somebody asks for figures, so nothing is to do."""


preplanMatMuls = preplanConvolutions = preplan
