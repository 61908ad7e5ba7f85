"""LSTM layers."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

from poplar import Graph, Tensor, Type
from poplar._tensor import as_tensor, as_tensors
from poplar.program import Sequence as Program
from poplin._arguments import ending
from tremula.frontends.poplar.libs.checks import joined as named
from tremula.frontends.poplar.libs.outputs import linear
from tremula.frontends.poplar.libs.popnn import lstm as _core
from tremula.frontends.poplar.libs.popnn.cells import Layer, Weights, zero_state
from tremula.frontends.poplar.libs.popnn.nonlinearity import NonLinearityType

from .rnn import RnnParams, deliver, joined


class BasicLstmCellUnit(IntEnum):
    """The gates."""

    BASIC_LSTM_CELL_FORGET_GATE = 0
    BASIC_LSTM_CELL_INPUT_GATE = 1
    BASIC_LSTM_CELL_CANDIDATE = 2
    BASIC_LSTM_CELL_OUTPUT_GATE = 3
    BASIC_LSTM_CELL_NUM_UNITS = 4


def getDefaultBasicLstmCellOrder() -> list[BasicLstmCellUnit]:
    """Forget, input, candidate, output."""
    return list(BasicLstmCellUnit)[:4]


class LstmParams:
    """`LstmParams(dataType, batchSize, timeSteps, layerSizes[, activation[, recurrentActivation]])`; a tensor of time
    steps may follow the largest number of them."""

    def __init__(self, dataType: Type, batchSize: int, timeSteps: int, *rest: Any) -> None:
        values = list(rest)
        lengths = [values.pop(0)] if isinstance(values[0], Tensor) else []
        self.rnn = RnnParams(dataType, batchSize, timeSteps, *lengths, values.pop(0))
        self.outputFullSequence = True
        self.doInputWeightCalc = True
        self.calcInputGradients = True
        self.preserveFinalState = False
        self.cellOrder = getDefaultBasicLstmCellOrder()
        self.activation = NonLinearityType(values.pop(0)) if values else NonLinearityType.TANH
        self.recurrentActivation = NonLinearityType(values.pop(0)) if values else NonLinearityType.SIGMOID
        for name, value in values[0].items() if values else ():
            setattr(self, name, value)

    def layer(self) -> Layer:
        """The layer as the library works with it."""
        rnn = self.rnn
        return Layer(
            kind="lstm",
            type=rnn.dataType,
            batch=rnn.batchSize,
            steps=rnn.maxTimeSteps,
            inputs=rnn.layerSizes[0],
            hidden=rnn.layerSizes[1],
            order=tuple(int(unit) for unit in self.cellOrder),
            activation=self.activation,
            gate_activation=self.recurrentActivation,
            full_sequence=self.outputFullSequence,
            lengths=rnn.varTimeSteps,
        )


class LstmState(NamedTuple):
    """Output and cell state of a step."""

    output: Tensor
    cellState: Tensor

    def getAsTensor(self) -> Tensor:
        """Both as one tensor."""
        from poplar import concat

        return concat([self.output.expand([0]), self.cellState.expand([0])])


class LstmWeights(NamedTuple):
    """The weights: gates by inputs by outputs, gates by outputs by outputs, gates by outputs."""

    inputWeights: Tensor
    outputWeights: Tensor
    biases: Tensor


def _layer(params: Any) -> Layer:
    return (params if isinstance(params, LstmParams) else LstmParams(*params)).layer()


def _create(where: str, shape: Any) -> Callable[..., Tensor]:
    def create(graph: Graph, params: LstmParams, *rest: Any, debug: Any = "", options: Any = None) -> Tensor:
        layer = _layer(params)
        name, chosen = ending(where, rest, debug, options).end()
        layer.work(where, chosen, gradient=False)
        return as_tensor(linear(graph, layer.type, shape(layer), named(name, where.removeprefix("create"))))

    create.__name__ = create.__qualname__ = where
    create.__doc__ = f"`{where}(graph, params[, debug[, options[, cache]]])`: a tensor for an LSTM layer."
    return create


createInput = _create("createInput", lambda layer: layer.input_shape)
createInitialOutput = _create("createInitialOutput", lambda layer: layer.state_shape)
createInitialCellState = _create("createInitialCellState", lambda layer: layer.state_shape)
createWeightsBiases = _create("createWeightsBiases", lambda layer: layer.bias_shape)
_input_weights = _create("inputWeights", lambda layer: (4, layer.inputs, layer.hidden))
_output_weights = _create("outputWeights", lambda layer: (4, layer.hidden, layer.hidden))


def createInitialState(graph: Graph, params: LstmParams, *rest: Any, **named_: Any) -> LstmState:
    """The state before the first step."""
    return LstmState(
        createInitialOutput(graph, params, *rest, **named_),
        createInitialCellState(graph, params, *rest, **named_),
    )


def zeroInitialState(graph: Graph, initialState: LstmState, prog: Program, debug: Any = "") -> None:
    """Set a state to zero."""
    zero_state(list(initialState), prog, str(debug or ""))


def createWeightsKernel(graph: Graph, params: LstmParams, *rest: Any, **named_: Any) -> tuple[Tensor, Tensor]:
    """The weights of inputs and outputs."""
    return _input_weights(graph, params, *rest, **named_), _output_weights(graph, params, *rest, **named_)


def createWeights(graph: Graph, params: LstmParams, *rest: Any, **named_: Any) -> LstmWeights:
    """All weights."""
    kernel = createWeightsKernel(graph, params, *rest, **named_)
    return LstmWeights(*kernel, createWeightsBiases(graph, params, *rest, **named_))


def lstmFwd(
    graph: Graph, params: LstmParams, stateInit: LstmState, in_: Tensor, weights: LstmWeights, intermediates: Any,
    fwdProg: Program, *rest: Any, debug: Any = "", options: Any = None,
) -> Any:  # fmt: skip
    """The outputs and the last cell state. `intermediates`: None, a list for what the backward pass needs, or True to
    have it as a third result."""
    name, chosen = ending("lstmFwd", rest, debug, options).end()
    made, cell, kept = _core.forward(
        graph, _layer(params), (stateInit[0], stateInit[1]), in_, Weights(*weights), fwdProg, name, chosen
    )
    return joined((made, cell), deliver(intermediates, kept))


def _backward(
    graph: Graph, params: LstmParams, prog: Program, state: LstmState, kept: Tensor, weights: LstmWeights,
    outer: Tensor, last: Any, name: str, chosen: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    given: Any = (None, None)
    if isinstance(last, Tensor):
        given = (None, last)
    elif last is not None:
        given = tuple(last)
    return _core.backward(
        graph, _layer(params), prog, (state[0], state[1]), kept, Weights(*weights), outer, given, name, chosen
    )


def lstmBwd(
    graph: Graph, params: LstmParams, prog: Program, fwdStateInit: LstmState, fwdIntermediates: Tensor,
    weights: LstmWeights, input: Tensor, output: Tensor, outputGrad: Tensor, lastStepStateGrad: Any, inputGrad: Any,
    bwdIntermediates: Any, *rest: Any, debug: Any = "", options: Any = None,
) -> Any:  # fmt: skip
    """The gradient of the initial state. `lastStepStateGrad`: None, a state, or the gradient of the cell state.
    `inputGrad` and `bwdIntermediates`: None, a list to put it into, or True to have it as a further result."""
    name, chosen = ending("lstmBwd", rest, debug, options).end()
    first, inner, sums = _backward(
        graph,
        params,
        prog,
        fwdStateInit,
        fwdIntermediates,
        weights,
        outputGrad,
        lastStepStateGrad,
        name,
        chosen,
    )
    return joined(LstmState(*first), [*deliver(inputGrad, inner), *deliver(bwdIntermediates, sums)])


def lstmWU(
    graph: Graph, params: LstmParams, prog: Program, fwdStateInit: LstmState, fwdIntermediates: Tensor,
    bwdIntermediates: Tensor, weights: LstmWeights, input: Tensor, output: Tensor, *rest: Any, debug: Any = "",
    options: Any = None,
) -> LstmWeights:  # fmt: skip
    """The gradients of the weights."""
    name, chosen = ending("lstmWU", rest, debug, options).end()
    made = _core.weight_update(
        graph,
        _layer(params),
        prog,
        (fwdStateInit[0], fwdStateInit[1]),
        fwdIntermediates,
        bwdIntermediates,
        input,
        name,
        chosen,
    )
    return LstmWeights(*as_tensors(made.views()))


def lstmBwdWithWU(
    graph: Graph, params: LstmParams, prog: Program, fwdStateInit: LstmState, fwdIntermediates: Tensor,
    weights: LstmWeights, input: Tensor, output: Tensor, outputGrad: Tensor, lastStepStateGrad: Any, inputGrad: Any,
    weightsGrad: Any, *rest: Any, debug: Any = "", options: Any = None,
) -> Any:  # fmt: skip
    """The gradient of the initial state. `inputGrad` and `weightsGrad` (an LstmWeights): None, a list to put it into,
    or True to have it as a further result."""
    name, chosen = ending("lstmBwdWithWU", rest, debug, options).end()
    first, inner, sums = _backward(
        graph,
        params,
        prog,
        fwdStateInit,
        fwdIntermediates,
        weights,
        outputGrad,
        lastStepStateGrad,
        name,
        chosen,
    )
    grads = lstmWU(
        graph, params, prog, fwdStateInit, fwdIntermediates, sums, weights, input, output, name, chosen
    )
    return joined(LstmState(*first), [*deliver(inputGrad, inner), *deliver(weightsGrad, grads)])


def _flops(params: Any, products: int, rest: int) -> int:
    layer = _layer(params)
    each = 2 * layer.batch * layer.hidden
    return layer.steps * (
        4 * each * (layer.inputs + layer.hidden) * products + rest * layer.batch * layer.hidden
    )


def getBasicLstmCellFwdFlops(params: LstmParams) -> int:
    """Multiplications and additions of the forward pass."""
    return _flops(params, 1, 8)


def getBasicLstmCellBwdFlops(params: LstmParams) -> int:
    """Those of the gradients of inputs and states."""
    return _flops(params, 1, 14)


def getBasicLstmCellWuFlops(params: LstmParams) -> int:
    """Those of the gradients of the weights."""
    return _flops(params, 1, 4)
