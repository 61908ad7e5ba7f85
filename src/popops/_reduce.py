"""reduce, reduceWithOutput and reduceMany."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poplar import Graph, Tensor
from poplar._tensor import as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popops.operations import Operation
from tremula.frontends.poplar.libs.popops.reduce import Reduction, reduce_views
from tremula.frontends.poplar.program.programs import Sequence_
from tremula.frontends.poplar.types import Type


class ReduceParams:
    """The operation of a reduction, whether the output is updated, and a tensor of one element that scales."""

    def __init__(
        self, op: Operation = Operation.ADD, update: bool = False, scale: Tensor | None = None
    ) -> None:
        if not isinstance(op, Operation):
            raise PoplibsError(f"a reduction needs a popops.Operation, not {op!r}")
        if not isinstance(update, bool):
            raise PoplibsError(
                "the second argument of ReduceParams is whether to update; a scale is a tensor"
            )
        self.op, self.update, self.scale = op, update, scale
        self.useScale = scale is not None

    def __repr__(self) -> str:
        return f"ReduceParams({self.op.name}, update={self.update}, scale={self.scale})"


class SingleReduceOp:
    """One reduction of `reduceMany`: `SingleReduceOp(in, dims, params[, outType][, debugName])`."""

    def __init__(
        self,
        in_: Tensor,
        dims: Sequence[int],
        params: Any,
        *rest: Any,
        outType: Type | None = None,
        debugName: str = "",
    ) -> None:
        self.in_, self.dims, self.params = in_, tuple(dims), _params(params)
        given = list(rest)
        if given and isinstance(given[0], Type):
            outType = given.pop(0)
        if given:
            debugName = given.pop(0)
        self.outType, self.debugName = outType, str(debugName)
        self.useOutType = outType is not None


def _params(params: Any) -> ReduceParams:
    if isinstance(
        params, list | tuple
    ):  # operation, update, scale: as a program in another language sends them
        return ReduceParams(*params)
    return params if isinstance(params, ReduceParams) else ReduceParams(params)


def _reduction(params: Any) -> Reduction:
    given = _params(params)
    return Reduction(given.op, given.update, given.scale)


def _where(taken: Arguments) -> Any:
    return taken.program() if not taken.next_is(list) else taken.take("css", list)


def reduce(graph: Graph, A: Tensor, *arguments: Any, debug: Any = "", options: Any = None) -> Tensor:
    """`reduce(graph, in[, outType], dims, params, prog)`: a new tensor; with a list in place of `prog`, vertices are
    put into its compute sets, which the list gets where it has too few."""
    taken = Arguments("popops::reduce", arguments, debug, options)
    kind = taken.maybe(Type)
    dims, params = taken.integers("dims"), taken.any("params")
    where = _where(taken)
    name, given = taken.end()
    return as_tensor(reduce_views(graph, A, dims, _reduction(params), where, name, given, type=kind))


def reduceWithOutput(
    graph: Graph, A: Tensor, out: Tensor, *arguments: Any, debug: Any = "", options: Any = None
) -> None:
    """`reduceWithOutput(graph, in, out, dims, params, prog)`, or with a list of compute sets."""
    taken = Arguments("popops::reduceWithOutput", arguments, debug, options)
    dims, params = taken.integers("dims"), taken.any("params")
    where = _where(taken)
    name, given = taken.end()
    reduce_views(graph, A, dims, _reduction(params), where, name, given, out=out)


def reduceMany(
    graph: Graph,
    reductions: Sequence[Any],
    outputs: list[Tensor],
    prog: Program,
    debug: Any = "",
    options: Any = None,
) -> list[Tensor]:
    """All reductions of a list; outputs that are missing are appended to the list `outputs`, which is returned too."""
    taken = Arguments("popops::reduceMany", [prog], debug, options)
    program: Sequence_ = taken.program()
    name, given = taken.end()
    if len(outputs) not in (0, len(reductions)):
        raise PoplibsError(f"{len(reductions)} reductions, but {len(outputs)} tensors for their results")
    known = list(outputs)
    for number, each in enumerate(reductions):
        label = f"{name}/{each.debugName}".strip("/")
        made = reduce_views(
            graph, each.in_, each.dims, _reduction(each.params), program, label, given,
            type=each.outType, out=known[number] if known else None,
        )  # fmt: skip
        if not known:
            outputs.append(as_tensor(made))
    return outputs


__all__ = ["Operation", "ReduceParams", "SingleReduceOp", "reduce", "reduceMany", "reduceWithOutput"]
