"""The connectionist temporal classification loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from poplar import Graph, Tensor, Type
from poplar._tensor import as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.libs.arguments import Arguments
from tremula.frontends.poplar.libs.checks import joined
from tremula.frontends.poplar.libs.outputs import linear
from tremula.frontends.poplar.libs.popnn import ctc as _core


class Plan:
    """How real functions spread the work. The chip model does not need it, so it holds nothing."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan)

    def __hash__(self) -> int:
        return hash(Plan)


def plan(
    graph: Graph, inType: Type, outType: Type, batchSize: int, maxTime: int, maxLabelLength: int, numClasses: int,
    options: Any = None,
) -> Plan:  # fmt: skip
    """A plan for the loss."""
    return Plan()


def createDataInput(
    graph: Graph, type: Type, batchSize: int, maxTime: int, numClasses: int, plan: Plan, debug: Any = ""
) -> Tensor:
    """A tensor for data: time by batch by classes."""
    return as_tensor(linear(graph, type, (maxTime, batchSize, numClasses), joined(str(debug or ""), "data")))


def createLabelsInput(
    graph: Graph, type: Type, batchSize: int, maxLabelLength: int, plan: Plan, debug: Any = ""
) -> Tensor:
    """A tensor for labels: batch by length."""
    return as_tensor(linear(graph, type, (batchSize, maxLabelLength), joined(str(debug or ""), "labels")))


def _loss(where: str, logits: bool, gradient: bool) -> Callable[..., Any]:
    def loss(
        graph: Graph, outType: Type, data: Tensor, labels: Tensor, dataLengths: Tensor, labelLengths: Tensor,
        prog: Program, blankClass: int, plan: Plan | None = None, *rest: Any, debug: Any = "", options: Any = None,
    ) -> Any:  # fmt: skip
        name, chosen = Arguments(where, rest, debug, options).end()
        made = _core.loss(
            graph, outType, data, labels, dataLengths, labelLengths, prog, blankClass,
            logits=logits, gradient=gradient, debug=name, options=chosen,
        )  # fmt: skip
        return made if gradient else made[0]

    loss.__name__ = loss.__qualname__ = where
    loss.__doc__ = f"The loss of each example{' and the gradient of the data' if gradient else ''}."
    return loss


calcLossAndGradientLogProbabilities = _loss("calcLossAndGradientLogProbabilities", False, True)
calcLossAndGradientLogits = _loss("calcLossAndGradientLogits", True, True)
calcCTCLossLogProbabilities = _loss("calcCTCLossLogProbabilities", False, False)
calcCTCLossLogits = _loss("calcCTCLossLogits", True, False)
