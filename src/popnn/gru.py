"""GRU layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from poplar import Graph, Tensor, Type
from poplar._tensor import as_tensor, as_tensors
from poplar.program import Sequence as Program
from poplin._arguments import ending
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.checks import joined as named
from tremula.frontends.poplar.libs.outputs import linear
from tremula.frontends.poplar.libs.popnn import gru as _core
from tremula.frontends.poplar.libs.popnn.cells import Layer, Weights
from tremula.frontends.poplar.libs.popnn.nonlinearity import NonLinearityType

from .rnn import RnnParams, deliver, joined


class BasicGruCellUnit(IntEnum):
    """The gates."""

    BASIC_GRU_CELL_RESET_GATE = 0
    BASIC_GRU_CELL_UPDATE_GATE = 1
    BASIC_GRU_CELL_CANDIDATE = 2
    BASIC_GRU_CELL_NUM_UNITS = 3


def getDefaultBasicGruCellOrder() -> list[BasicGruCellUnit]:
    """Reset, update, candidate."""
    return list(BasicGruCellUnit)[:3]


class GruParams:
    """`GruParams(dataType, batchSize, timeSteps, layerSizes[, activation[, recurrentActivation]])`; a tensor of time
    steps may follow the largest number of them."""

    def __init__(self, dataType: Type, batchSize: int, timeSteps: int, *rest: Any) -> None:
        values = list(rest)
        lengths = [values.pop(0)] if isinstance(values[0], Tensor) else []
        self.rnn = RnnParams(dataType, batchSize, timeSteps, *lengths, values.pop(0))
        self.outputFullSequence = True
        self.calcInputGradients = True
        self.cellOrder = getDefaultBasicGruCellOrder()
        self.resetAfter = False
        self.activation = NonLinearityType(values.pop(0)) if values else NonLinearityType.TANH
        self.recurrentActivation = NonLinearityType(values.pop(0)) if values else NonLinearityType.SIGMOID
        for name, value in values[0].items() if values else ():
            setattr(self, name, value)

    def layer(self, lengths: Tensor | None = None) -> Layer:
        """The layer as the library works with it."""
        rnn = self.rnn
        return Layer(
            kind="gru",
            type=rnn.dataType,
            batch=rnn.batchSize,
            steps=rnn.maxTimeSteps,
            inputs=rnn.layerSizes[0],
            hidden=rnn.layerSizes[1],
            order=tuple(int(unit) for unit in self.cellOrder),
            activation=self.activation,
            gate_activation=self.recurrentActivation,
            full_sequence=self.outputFullSequence,
            lengths=rnn.varTimeSteps if lengths is None else lengths,
            reset_after=self.resetAfter,
        )


class GruWeights(NamedTuple):
    """The weights: gates by inputs by outputs, gates by outputs by outputs, gates by outputs."""

    inputWeights: Tensor
    outputWeights: Tensor
    biases: Tensor


def _layer(params: Any, lengths: Any = None) -> Layer:
    return (params if isinstance(params, GruParams) else GruParams(*params)).layer(lengths)


def _create(where: str, shape: Any) -> Callable[..., Tensor]:
    def create(graph: Graph, params: GruParams, *rest: Any, debug: Any = "", options: Any = None) -> Tensor:
        layer = _layer(params)
        name, chosen = ending(where, rest, debug, options).end()
        layer.work(where, chosen, gradient=False)
        return as_tensor(linear(graph, layer.type, shape(layer), named(name, where.removeprefix("create"))))

    create.__name__ = create.__qualname__ = where
    create.__doc__ = f"`{where}(graph, params[, debug[, options[, cache]]])`: a tensor for a GRU layer."
    return create


createInput = _create("createInput", lambda layer: layer.input_shape)
createInitialState = _create("createInitialState", lambda layer: layer.state_shape)
createWeightsBiases = _create("createWeightsBiases", lambda layer: layer.bias_shape)
createAttention = _create("createAttention", lambda layer: (layer.batch, layer.steps))
_input_weights = _create("inputWeights", lambda layer: (3, layer.inputs, layer.hidden))
_output_weights = _create("outputWeights", lambda layer: (3, layer.hidden, layer.hidden))


def createWeightsKernel(graph: Graph, params: GruParams, *rest: Any, **named_: Any) -> tuple[Tensor, Tensor]:
    """The weights of inputs and outputs."""
    return _input_weights(graph, params, *rest, **named_), _output_weights(graph, params, *rest, **named_)


def createWeights(graph: Graph, params: GruParams, *rest: Any, **named_: Any) -> GruWeights:
    """All weights."""
    kernel = createWeightsKernel(graph, params, *rest, **named_)
    return GruWeights(*kernel, createWeightsBiases(graph, params, *rest, **named_))


def _forward(
    where: str, graph: Graph, params: GruParams, state: Tensor, source: Tensor, rest: Sequence[Any], debug: Any,
    options: Any, attended: bool,
) -> Any:  # fmt: skip
    given = ending(where, rest, debug, options)
    lengths = given.view("realTimeSteps") if given.next_is(Tensor) else None
    weights, wish = given.any("weights"), given.any("intermediates")
    attention = given.view("attScores") if attended else None
    prog = given.program()
    name, chosen = given.end()
    layer = _layer(params, lengths)
    made, kept = _core.forward(graph, layer, state, source, Weights(*weights), attention, prog, name, chosen)
    return joined(made, deliver(wish, kept))


def gruFwd(
    graph: Graph,
    params: GruParams,
    stateInit: Tensor,
    in_: Tensor,
    *rest: Any,
    debug: Any = "",
    options: Any = None,
) -> Any:
    """`gruFwd(graph, params, stateInit, in[, realTimeSteps], weights, intermediates, prog)`: the outputs.
    `intermediates`: None, a list for what the backward pass needs, or True to have it as a second result."""
    return _forward("gruFwd", graph, params, stateInit, in_, rest, debug, options, False)


def auGruFwd(
    graph: Graph,
    params: GruParams,
    stateInit: Tensor,
    in_: Tensor,
    *rest: Any,
    debug: Any = "",
    options: Any = None,
) -> Any:
    """`gruFwd` with attention scores, after the intermediates. They scale down the update gate."""
    return _forward("auGruFwd", graph, params, stateInit, in_, rest, debug, options, True)


class _Backward:
    """The arguments of a backward pass: those that its forms share."""

    def __init__(self, where: str, params: GruParams, rest: Sequence[Any], debug: Any, options: Any) -> None:
        self.given = ending(where, rest, debug, options)
        self.prog = self.given.program()
        self.state, self.kept = self.given.view("fwdOutputInit"), self.given.view("fwdIntermediates")
        self.weights, self.input = self.given.any("weights"), self.given.view("fwdInputSeq")
        tensors = []
        while self.given.next_is(Tensor):
            tensors.append(self.given.view("tensor"))
        # the real time steps may stand before output and gradient
        self.layer = _layer(params, tensors[0] if len(tensors) == 3 else None)
        self.output, self.outer = tensors[-2:]

    def run(self, graph: Graph, attention: View | None, name: str, chosen: Any) -> Any:
        return _core.backward(
            graph,
            self.layer,
            self.prog,
            self.state,
            self.kept,
            Weights(*self.weights),
            self.outer,
            attention,
            name,
            chosen,
        )

    def update(self, graph: Graph, sums: Any, name: str, chosen: Any) -> GruWeights:
        made = _core.weight_update(
            graph, self.layer, self.prog, self.state, self.kept, sums, self.input, name, chosen
        )
        return GruWeights(*as_tensors(made.views()))


def gruBwd(graph: Graph, params: GruParams, *rest: Any, debug: Any = "", options: Any = None) -> Any:
    """`gruBwd(graph, params, prog, fwdOutputInit, fwdIntermediates, weights, fwdInputSeq[, realTimeSteps], fwdOutput,
    gradLayerNext, inputGrad, bwdIntermediates)`: the gradient of the initial state. The last two: None, a list to put
    it into, or True to have it as a further result."""
    back = _Backward("gruBwd", params, rest, debug, options)
    wish_input, wish_sums = back.given.any("inputGrad"), back.given.any("bwdIntermediates")
    first, inner, sums, _ = back.run(graph, None, *back.given.end())
    return joined(first, [*deliver(wish_input, inner), *deliver(wish_sums, sums)])


def gruBwdWithWU(graph: Graph, params: GruParams, *rest: Any, debug: Any = "", options: Any = None) -> Any:
    """`gruBwd` with `weightsGrad` (a GruWeights) instead of the intermediates."""
    back = _Backward("gruBwdWithWU", params, rest, debug, options)
    wish_input, wish_weights = back.given.any("inputGrad"), back.given.any("weightsGrad")
    name, chosen = back.given.end()
    first, inner, sums, _ = back.run(graph, None, name, chosen)
    grads = back.update(graph, sums, name, chosen)
    return joined(first, [*deliver(wish_input, inner), *deliver(wish_weights, grads)])


def auGruBwd(graph: Graph, params: GruParams, *rest: Any, debug: Any = "", options: Any = None) -> Any:
    """As `gruBwd`, with attention scores and the wish for their gradient after the intermediates."""
    back = _Backward("auGruBwd", params, rest, debug, options)
    wish_input, wish_sums = back.given.any("inputGrad"), back.given.any("bwdIntermediates")
    attention, wish_scores = back.given.view("attentions"), back.given.any("attentionsGrad")
    first, inner, sums, scores = back.run(graph, attention, *back.given.end())
    wishes = ((wish_input, inner), (wish_sums, sums), (wish_scores, scores))
    return joined(first, [each for wish, value in wishes for each in deliver(wish, value)])


def auGruBwdWithWU(graph: Graph, params: GruParams, *rest: Any, debug: Any = "", options: Any = None) -> Any:
    """As `gruBwdWithWU`, with attention scores and the wish for their gradient at the end."""
    back = _Backward("auGruBwdWithWU", params, rest, debug, options)
    wish_input, wish_weights = back.given.any("inputGrad"), back.given.any("weightsGrad")
    attention, wish_scores = back.given.view("attentions"), back.given.any("attentionsGrad")
    name, chosen = back.given.end()
    first, inner, sums, scores = back.run(graph, attention, name, chosen)
    grads = back.update(graph, sums, name, chosen)
    wishes = ((wish_input, inner), (wish_weights, grads), (wish_scores, scores))
    return joined(first, [each for wish, value in wishes for each in deliver(wish, value)])


def gruWU(
    graph: Graph, params: GruParams, prog: Program, fwdOutputInit: Tensor, fwdIntermediates: Tensor,
    bwdIntermediates: Tensor, weights: GruWeights, input: Tensor, output: Tensor, *rest: Any, debug: Any = "",
    options: Any = None,
) -> GruWeights:  # fmt: skip
    """The gradients of the weights."""
    name, chosen = ending("gruWU", rest, debug, options).end()
    made = _core.weight_update(
        graph, _layer(params), prog, fwdOutputInit, fwdIntermediates, bwdIntermediates, input, name, chosen
    )
    return GruWeights(*as_tensors(made.views()))


auGruWU = gruWU


def _flops(params: Any, rest: int) -> int:
    layer = _layer(params)
    products = 3 * 2 * layer.batch * layer.hidden * (layer.inputs + layer.hidden)
    return layer.steps * (products + rest * layer.batch * layer.hidden)


def getBasicGruCellFwdFlops(params: GruParams) -> int:
    """Multiplications and additions of the forward pass."""
    return _flops(params, 7)


def getBasicGruCellBwdFlops(params: GruParams) -> int:
    """Those of the gradients of inputs and state."""
    return _flops(params, 12)


def getBasicGruCellWuFlops(params: GruParams) -> int:
    """Those of the gradients of the weights."""
    return _flops(params, 3)
