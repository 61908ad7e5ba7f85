"""LSTM layers: forward pass, gradients of inputs and states, gradients of weights.

The gates are numbered forget 0, input 1, candidate 2, output 3. What the forward pass keeps is, for each step, the four
gates, the cell state and its activation, and the output.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.calls import computing
from tremula.frontends.poplar.libs.checks import Array, call, joined, need_shape, refuse, single
from tremula.frontends.poplar.libs.outputs import linear
from tremula.frontends.poplar.libs.poplin.options import Options
from tremula.frontends.poplar.libs.popnn.cells import Activations, Layer, Weights, alive, weight_sums
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Program

FORGET, INPUT, CANDIDATE, OUTPUT = range(4)
#: what is kept of a step beside the gates
CELL, CELL_ACTIVATION, HIDDEN = 4, 5, 6
KEPT = 7

State = tuple[View, View]


def forward(
    graph: Graph,
    layer: Layer,
    state: State,
    source: View,
    weights: Weights,
    prog: Program,
    debug: str,
    options: Options | None,
) -> tuple[View, View, View]:
    """The outputs, the last cell state, and what the backward pass needs."""
    where = "lstmFwd"
    layer.check()
    need_shape(where, "input", source, layer.input_shape)
    _check(where, layer, state, weights)
    made = linear(graph, layer.type, layer.output_shape, joined(debug, "output"))
    cell = linear(graph, layer.type, layer.state_shape, joined(debug, "cellState"))
    kept = linear(graph, layer.type, (layer.steps, KEPT, *layer.state_shape), joined(debug, "intermediates"))
    inputs = [source, *state, *weights.views(), *layer.extra()]
    work = layer.work(where, options, gradient=False)
    call(prog, "popnn.lstmFwd", inputs, [made, cell, kept], [work], debug, **layer.plain())
    return made, cell, kept


def _check(where: str, layer: Layer, state: State, weights: Weights) -> None:
    for view in state:
        need_shape(where, "state", view, layer.state_shape)
    need_shape(where, "tensor of input weights", weights.inputs, (4, layer.inputs, layer.hidden))
    need_shape(where, "tensor of output weights", weights.outputs, (4, layer.hidden, layer.hidden))
    need_shape(where, "tensor of biases", weights.biases, layer.bias_shape)


def backward(
    graph: Graph,
    layer: Layer,
    prog: Program,
    state: State,
    kept: View,
    weights: Weights,
    outer: View,
    last: tuple[View | None, View | None],
    debug: str,
    options: Options | None,
) -> tuple[State, View, View]:
    """The gradients of the initial state, of the inputs, and of the sums of the gates."""
    where = "lstmBwd"
    layer.check()
    _check(where, layer, state, weights)
    need_shape(where, "gradient", outer, layer.output_shape)
    given = [each for each in last if each is not None]
    first = (
        linear(graph, layer.type, layer.state_shape, joined(debug, "outputGrad")),
        linear(graph, layer.type, layer.state_shape, joined(debug, "cellStateGrad")),
    )
    inner = linear(graph, layer.type, layer.input_shape, joined(debug, "inputGrad"))
    sums = linear(graph, layer.type, (layer.steps, 4, *layer.state_shape), joined(debug, "bwdIntermediates"))
    work = layer.work(where, options, gradient=True)
    call(
        prog,
        "popnn.lstmBwd",
        [outer, kept, *state, *weights.views(), *given, *layer.extra()],
        [*first, inner, sums],
        [work],
        debug,
        last=[each is not None for each in last],
        **layer.plain(),
    )
    return first, inner, sums


def weight_update(
    graph: Graph,
    layer: Layer,
    prog: Program,
    state: State,
    kept: View,
    sums: View,
    source: View,
    debug: str,
    options: Options | None,
) -> Weights:
    """The gradients of the weights."""
    where = "lstmWU"
    need_shape(where, "input", source, layer.input_shape)
    if kept.rank != 4 or kept.shape[1] != KEPT:
        raise refuse(where, "the intermediates are not those of lstmFwd")
    made = [
        linear(graph, layer.type, shape, joined(debug, name))
        for shape, name in (
            ((4, layer.inputs, layer.hidden), "inputWeightsGrad"),
            ((4, layer.hidden, layer.hidden), "outputWeightsGrad"),
            (layer.bias_shape, "biasesGrad"),
        )
    ]
    work = layer.work(where, options, gradient=True)
    call(prog, "popnn.lstmWU", [source, kept, sums, state[0]], made, [work], debug, **layer.plain())
    return Weights(*made)


# -- kernels ------------------------------------------------------------------------------------------------------


def _ordered(array: Array, order: list[int]) -> Array:
    """By gate: what is stored in the order of the user."""
    places = np.argsort(order)
    return single(array)[places]


@computing("popnn.lstmFwd")
def _forward(attributes: Mapping[str, Any]) -> Kernel:
    order, functions = attributes["order"], Activations(attributes)

    def run(inputs: Arrays, outputs: Arrays) -> None:
        source, hidden, cell = map(single, inputs[:3])
        inner, outer, biases = (_ordered(each, order) for each in inputs[3:6])
        steps, batch, _ = source.shape
        counts = alive(inputs[6:], steps, batch)
        sums = np.matmul(source[:, None], inner[None]) + biases[None, :, None]
        kept = np.zeros((steps, KEPT, batch, hidden.shape[1]), np.float32)
        for step in range(steps):
            now = sums[step] + np.matmul(hidden[None], outer)
            gates = kept[step]
            gates[FORGET], gates[INPUT] = functions.gate(now[FORGET]), functions.gate(now[INPUT])
            gates[CANDIDATE], gates[OUTPUT] = functions.state(now[CANDIDATE]), functions.gate(now[OUTPUT])
            gates[CELL] = gates[FORGET] * cell + gates[INPUT] * gates[CANDIDATE]
            gates[CELL_ACTIVATION] = functions.state(gates[CELL])
            gates[HIDDEN] = gates[OUTPUT] * gates[CELL_ACTIVATION]
            if counts is None:
                hidden, cell = gates[HIDDEN], gates[CELL]
            else:
                hidden, cell = (
                    np.where(counts[step], gates[HIDDEN], hidden),
                    np.where(counts[step], gates[CELL], cell),
                )
        if counts is not None:
            kept *= counts[:, None]
        outputs[0][...] = kept[:, HIDDEN] if attributes["full"] else hidden
        outputs[1][...] = cell
        outputs[2][...] = kept

    return run


@computing("popnn.lstmBwd")
def _backward(attributes: Mapping[str, Any]) -> Kernel:
    order, functions, given = attributes["order"], Activations(attributes), attributes["last"]

    def run(inputs: Arrays, outputs: Arrays) -> None:
        outer, kept, _, first_cell = map(single, inputs[:4])
        inner, recurrent = (_ordered(each, order) for each in inputs[4:6])
        rest = list(inputs[7:])
        hidden, cell = (
            single(rest.pop(0)) if there else np.zeros(first_cell.shape, np.float32) for there in given
        )
        steps, batch = kept.shape[0], kept.shape[2]
        counts = alive(rest if attributes["varying"] else [], steps, batch)
        sums = np.zeros((steps, 4, *first_cell.shape), np.float32)
        if not attributes["full"]:
            hidden = hidden + outer
        for step in reversed(range(steps)):
            gates = kept[step]
            total = hidden + outer[step] if attributes["full"] else hidden
            before = kept[step - 1, CELL] if step else first_cell
            active = gates[CELL_ACTIVATION]
            cells = cell + total * gates[OUTPUT] * functions.state_slope(active)
            now = sums[step]
            now[OUTPUT] = total * active * functions.gate_slope(gates[OUTPUT])
            now[FORGET] = cells * before * functions.gate_slope(gates[FORGET])
            now[INPUT] = cells * gates[CANDIDATE] * functions.gate_slope(gates[INPUT])
            now[CANDIDATE] = cells * gates[INPUT] * functions.state_slope(gates[CANDIDATE])
            next_cell = cells * gates[FORGET]
            if counts is not None:
                now *= counts[step][None]
                next_cell = np.where(counts[step], next_cell, cell)
            previous = np.matmul(now, recurrent.swapaxes(1, 2)).sum(axis=0)
            hidden = previous if counts is None else np.where(counts[step], previous, hidden)
            cell = next_cell
        outputs[0][...], outputs[1][...] = hidden, cell
        outputs[2][...] = np.matmul(sums, inner.swapaxes(1, 2)[None]).sum(axis=1)
        outputs[3][...] = sums

    return run


@computing("popnn.lstmWU")
def _weights(attributes: Mapping[str, Any]) -> Kernel:
    order = attributes["order"]

    def run(inputs: Arrays, outputs: Arrays) -> None:
        source, kept, sums, first = map(single, inputs)
        before = np.concatenate([first[None], kept[:-1, HIDDEN]])
        outputs[0][...] = weight_sums(source, sums)[order]
        outputs[1][...] = weight_sums(before, sums)[order]
        outputs[2][...] = sums.sum(axis=(0, 2))[order]

    return run
