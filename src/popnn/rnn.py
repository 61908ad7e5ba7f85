"""The forward pass of the plain recurrent layer, and the optional results that C++ returns through pointers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poplar import FLOAT, Graph, Tensor, Type
from poplar._tensor import as_tensor
from poplar.program import Sequence as Program
from tremula.frontends.poplar.libs.checks import joined as named
from tremula.frontends.poplar.libs.outputs import linear
from tremula.frontends.poplar.libs.poplin.matmul import multiply
from tremula.frontends.poplar.libs.popnn.cells import zero_state
from tremula.frontends.poplar.libs.popnn.nonlinearity import NonLinearityType
from tremula.frontends.poplar.libs.popnn.plain_rnn import iterate


class RnnParams:
    """`RnnParams(dataType, batchSize, timeSteps, layerSizes)`, or `RnnParams(dataType, batchSize, maxTimeSteps,
    timeSteps tensor, layerSizes)`."""

    def __init__(self, dataType: Type, batchSize: int, maxTimeSteps: int, *rest: Any) -> None:
        self.dataType, self.batchSize = dataType, int(batchSize)
        self.maxTimeSteps = self.timeSteps = int(maxTimeSteps)
        self.varTimeSteps: Tensor | None = rest[0] if isinstance(rest[0], Tensor) else None
        self.layerSizes = [int(size) for size in rest[-1]]

    def variableTimeSteps(self) -> bool:
        """Whether a tensor says how many steps count."""
        return self.varTimeSteps is not None

    def batchVariableTimeSteps(self) -> bool:
        """Whether it says so for each example."""
        return self.varTimeSteps is not None and self.varTimeSteps.numElements() > 1


def deliver(wish: Any, value: Any) -> list[Any]:
    """Give a result that was wished for: put it into a list, or return it where the wish was True."""
    if isinstance(wish, list):
        wish[:] = [value]
        return []
    return [value] if wish else []


def joined(first: Any, results: Sequence[Any]) -> Any:
    """A result, with those wished for after it."""
    whole = first if isinstance(first, tuple) and not hasattr(first, "_fields") else (first,)
    return first if not results else (*whole, *results)


def _options(partialsType: Type, inferenceOnly: bool) -> dict[str, str]:
    one_way = "INFERENCE_FWD" if inferenceOnly else "TRAINING_FWD"
    return {"partialsType": partialsType.toString(), "fullyConnectedPass": one_way}


def createInput(
    graph: Graph, numSteps: int, batchSize: int, inputSize: int, outputSize: int, dType: Type,
    partialsType: Type = FLOAT, inferenceOnly: bool = False, debug: Any = "", cache: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor for the inputs of a plain layer: steps by batch by inputs."""
    return as_tensor(linear(graph, dType, (numSteps, batchSize, inputSize), named(str(debug or ""), "input")))


def createFwdState(
    graph: Graph, dType: Type, batchSize: int, outputSize: int, prog: Program, initState: bool, inferenceOnly: bool,
    debug: Any = "", cache: Any = None,
) -> Tensor:  # fmt: skip
    """The state before the first step: batch by outputs, set to zero with `initState`."""
    made = linear(graph, dType, (batchSize, outputSize), named(str(debug or ""), "fwdState"))
    if initState:
        zero_state([made], prog, str(debug or ""))
    return as_tensor(made)


def getOutputFromFwdState(fwdState: Tensor) -> Tensor:
    """The output in a state, which is the state."""
    return fwdState


def createWeightsInput(
    graph: Graph, sequenceSize: int, batchSize: int, inputSize: int, outputSize: int, dType: Type,
    partialsType: Type = FLOAT, inferenceOnly: bool = False, debug: Any = "", cache: Any = None,
) -> Tensor:  # fmt: skip
    """The weights of the inputs: inputs by outputs."""
    return as_tensor(linear(graph, dType, (inputSize, outputSize), named(str(debug or ""), "weightsInput")))


def createWeightsFeedback(
    graph: Graph, batchSize: int, outputSize: int, dType: Type, partialsType: Type = FLOAT, inferenceOnly: bool = False,
    debug: Any = "", cache: Any = None,
) -> Tensor:  # fmt: skip
    """The weights of the step before: outputs by outputs."""
    return as_tensor(
        linear(graph, dType, (outputSize, outputSize), named(str(debug or ""), "weightsFeedback"))
    )


def forwardWeightInput(
    graph: Graph, actIn: Tensor, weights: Tensor, prog: Program, partialsType: Type = FLOAT,
    inferenceOnly: bool = False, debug: Any = "", cache: Any = None,
) -> Tensor:  # fmt: skip
    """What the inputs of all steps give: steps by batch by outputs."""
    flat = actIn.flatten(0, 2)
    made = multiply(
        graph, "forwardWeightInput", 2, flat, weights, prog,
        debug=str(debug or ""), options=_options(partialsType, inferenceOnly),
    )  # fmt: skip
    return as_tensor(made.reshape((actIn.dim(0), actIn.dim(1), weights.dim(1))))


def forwardIterate(
    graph: Graph, feedFwdIn: Tensor, initState: Tensor, feedbackWeights: Tensor, biases: Tensor, prog: Program,
    nonLinearityType: NonLinearityType, partialsType: Type = FLOAT, inferenceOnly: bool = False, debug: Any = "",
    cache: Any = None,
) -> Tensor:  # fmt: skip
    """The outputs of all steps."""
    kind, options = NonLinearityType(nonLinearityType), _options(partialsType, inferenceOnly)
    return as_tensor(
        iterate(graph, feedFwdIn, initState, feedbackWeights, biases, prog, kind, str(debug or ""), options)
    )
