"""Losses, counts of right answers, largest and smallest elements of rows."""

from __future__ import annotations

from typing import Any

from poplar import Graph, Tensor
from poplar._tensor import as_pair, as_tensor
from poplar.program import Program, Sequence
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.checks import refuse
from tremula.frontends.poplar.libs.popnn import loss as _core
from tremula.frontends.poplar.libs.popnn.loss import LossType as LossType


def calcLoss(
    graph: Graph,
    modelOutputs: Tensor,
    expected: Tensor,
    loss: Tensor,
    deltas: Tensor,
    *rest: Any,
    debug: Any = "",
) -> Program:
    """`calcLoss(graph, modelOutputs, expected, loss, deltas[, deltasScale, modelOutputScaling][, numCorrect], lossType
    [, debug])`: a program that computes the loss of each row and the gradient of the outputs, and adds the number of
    right rows to `numCorrect`."""
    given = Arguments("calcLoss", rest, debug)
    extra: list[View] = []
    while given.next_is(Tensor):
        extra.append(given.view("tensor"))
    kind = LossType(given.any("lossType"))
    name, _ = given.end()
    if len(extra) > 3:
        raise refuse("calcLoss", f"{len(extra)} tensors follow the deltas; there are at most three")
    scales = (extra[0], extra[1]) if len(extra) >= 2 else None
    made = _core.loss(modelOutputs, expected, loss, deltas, scales, kind, name)
    if len(extra) % 2:
        made.add(_core.accuracy(modelOutputs, expected, extra[-1], name))
    return made


def calcAccuracy(
    graph: Graph, modelOutputs: Tensor, expected: Tensor, numCorrect: Tensor, debug: Any = ""
) -> Program:
    """A program that adds the number of rows whose largest element is that of the label to `numCorrect`."""
    return _core.accuracy(modelOutputs, expected, numCorrect, str(debug or ""))


def maxAndArgMax(graph: Graph, input: Tensor, prog: Sequence, debug: Any = "") -> tuple[Tensor, Tensor]:
    """The largest element of each row, and its place."""
    return as_pair(_core.extremes(graph, "maxAndArgMax", input, True, prog, str(debug or "")))


def minAndArgMin(graph: Graph, input: Tensor, prog: Sequence, debug: Any = "") -> tuple[Tensor, Tensor]:
    """The smallest element of each row, and its place."""
    return as_pair(_core.extremes(graph, "minAndArgMin", input, False, prog, str(debug or "")))


def argMax(graph: Graph, input: Tensor, prog: Sequence, debug: Any = "") -> Tensor:
    """The place of the largest element of each row."""
    return as_tensor(_core.extremes(graph, "argMax", input, True, prog, str(debug or ""))[1])


def argMin(graph: Graph, input: Tensor, prog: Sequence, debug: Any = "") -> Tensor:
    """The place of the smallest element of each row."""
    return as_tensor(_core.extremes(graph, "argMin", input, False, prog, str(debug or ""))[1])


def topK(
    graph: Graph,
    input: Tensor,
    indices: list[Tensor] | None,
    K: int,
    sort: bool,
    prog: Sequence,
    debug: Any = "",
) -> Tensor | tuple[Tensor, Tensor]:
    """The `K` largest elements of each row. `indices` is a list that receives their positions. With None, both are
    returned."""
    values, places = _core.largest(graph, input, int(K), sort, prog, str(debug or ""))
    if indices is None:
        return as_pair((values, places))
    indices[:] = [as_tensor(places)]
    return as_tensor(values)
