"""GRU layers: forward pass, gradients of inputs and state, gradients of weights; with attention scores as well.

The gates are numbered reset 0, update 1, candidate 2. A step gives `update * before + (1 - update) * candidate`. What
the forward pass keeps is, for each step, the three gates, the output, what the candidate's weights met or, where the
reset gate comes late, the product it scaled, and the update gate before attention.
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

RESET, UPDATE, CANDIDATE = range(3)
#: what is kept of a step beside the gates
HIDDEN, MET, PLAIN_UPDATE = 3, 4, 5
KEPT = 6
#: gradients of a step: of the three sums, and of the candidate's recurrent product
PRODUCT = 3


def forward(
    graph: Graph,
    layer: Layer,
    state: View,
    source: View,
    weights: Weights,
    attention: View | None,
    prog: Program,
    debug: str,
    options: Options | None,
) -> tuple[View, View]:
    """The outputs, and what the backward pass needs."""
    where = "gruFwd"
    layer.check()
    need_shape(where, "input", source, layer.input_shape)
    _check(where, layer, state, weights, attention)
    made = linear(graph, layer.type, layer.output_shape, joined(debug, "output"))
    kept = linear(graph, layer.type, (layer.steps, KEPT, *layer.state_shape), joined(debug, "intermediates"))
    inputs = [
        source,
        state,
        *weights.views(),
        *([attention] if attention is not None else []),
        *layer.extra(),
    ]
    call(
        prog,
        "popnn.gruFwd",
        inputs,
        [made, kept],
        [layer.work(where, options, gradient=False)],
        debug,
        attention=attention is not None,
        **layer.plain(),
    )
    return made, kept


def _check(where: str, layer: Layer, state: View, weights: Weights, attention: View | None) -> None:
    need_shape(where, "state", state, layer.state_shape)
    need_shape(where, "tensor of input weights", weights.inputs, (3, layer.inputs, layer.hidden))
    need_shape(where, "tensor of output weights", weights.outputs, (3, layer.hidden, layer.hidden))
    need_shape(where, "tensor of biases", weights.biases, layer.bias_shape)
    if attention is not None:
        need_shape(where, "tensor of attention scores", attention, (layer.batch, layer.steps))


def backward(
    graph: Graph,
    layer: Layer,
    prog: Program,
    state: View,
    kept: View,
    weights: Weights,
    outer: View,
    attention: View | None,
    debug: str,
    options: Options | None,
) -> tuple[View, View, View, View | None]:
    """The gradients of the initial state, of the inputs, of the sums of the gates, and of the attention scores."""
    where = "gruBwd"
    layer.check()
    _check(where, layer, state, weights, attention)
    need_shape(where, "gradient", outer, layer.output_shape)
    first = linear(graph, layer.type, layer.state_shape, joined(debug, "stateGrad"))
    inner = linear(graph, layer.type, layer.input_shape, joined(debug, "inputGrad"))
    sums = linear(graph, layer.type, (layer.steps, 4, *layer.state_shape), joined(debug, "bwdIntermediates"))
    scores = (
        None
        if attention is None
        else linear(graph, layer.type, attention.shape, joined(debug, "attScoresGrad"))
    )
    call(
        prog,
        "popnn.gruBwd",
        [
            outer,
            kept,
            state,
            *weights.views(),
            *([attention] if attention is not None else []),
            *layer.extra(),
        ],
        [first, inner, sums, *([scores] if scores is not None else [])],
        [layer.work(where, options, gradient=True)],
        debug,
        attention=attention is not None,
        **layer.plain(),
    )
    return first, inner, sums, scores


def weight_update(
    graph: Graph,
    layer: Layer,
    prog: Program,
    state: View,
    kept: View,
    sums: View,
    source: View,
    debug: str,
    options: Options | None,
) -> Weights:
    """The gradients of the weights."""
    where = "gruWU"
    need_shape(where, "input", source, layer.input_shape)
    if kept.rank != 4 or kept.shape[1] != KEPT:
        raise refuse(where, "the intermediates are not those of gruFwd")
    made = [
        linear(graph, layer.type, shape, joined(debug, name))
        for shape, name in (
            ((3, layer.inputs, layer.hidden), "inputWeightsGrad"),
            ((3, layer.hidden, layer.hidden), "outputWeightsGrad"),
            (layer.bias_shape, "biasesGrad"),
        )
    ]
    work = layer.work(where, options, gradient=True)
    call(prog, "popnn.gruWU", [source, kept, sums, state], made, [work], debug, **layer.plain())
    return Weights(*made)


# -- kernels ------------------------------------------------------------------------------------------------------


def _ordered(array: Array, order: list[int]) -> Array:
    return np.asarray(single(array)[np.argsort(order)])


def _scores(
    attributes: Mapping[str, Any], rest: list[Array], steps: int, batch: int
) -> tuple[Array | None, Array | None]:
    """One minus the attention scores of each step, and which steps count."""
    scores = single(rest.pop(0)).T[:, :, None] if attributes["attention"] else None
    return None if scores is None else 1 - scores, alive(rest if attributes["varying"] else [], steps, batch)


@computing("popnn.gruFwd")
def _forward(attributes: Mapping[str, Any]) -> Kernel:
    order, late, functions = attributes["order"], attributes["reset_after"], Activations(attributes)

    def run(inputs: Arrays, outputs: Arrays) -> None:
        source, hidden = map(single, inputs[:2])
        inner, recurrent, biases = (_ordered(each, order) for each in inputs[2:5])
        steps, batch, _ = source.shape
        scores, counts = _scores(attributes, list(inputs[5:]), steps, batch)
        own, other = (biases[:, 0], biases[:, 1]) if late else (biases, np.zeros_like(biases))
        sums = np.matmul(source[:, None], inner[None]) + own[None, :, None]
        kept = np.zeros((steps, KEPT, batch, hidden.shape[1]), np.float32)
        for step in range(steps):
            now, gates = sums[step], kept[step]
            met = np.matmul(hidden[None], recurrent[:CANDIDATE]) + other[:CANDIDATE, None]
            gates[RESET], gates[PLAIN_UPDATE] = (
                functions.gate(now[RESET] + met[RESET]),
                functions.gate(now[UPDATE] + met[UPDATE]),
            )
            gates[UPDATE] = gates[PLAIN_UPDATE] if scores is None else gates[PLAIN_UPDATE] * scores[step]
            if late:
                gates[MET] = np.matmul(hidden, recurrent[CANDIDATE]) + other[CANDIDATE]
                gates[CANDIDATE] = functions.state(now[CANDIDATE] + gates[RESET] * gates[MET])
            else:
                gates[MET] = gates[RESET] * hidden
                gates[CANDIDATE] = functions.state(
                    now[CANDIDATE] + np.matmul(gates[MET], recurrent[CANDIDATE])
                )
            gates[HIDDEN] = gates[UPDATE] * hidden + (1 - gates[UPDATE]) * gates[CANDIDATE]
            hidden = gates[HIDDEN] if counts is None else np.where(counts[step], gates[HIDDEN], hidden)
        if counts is not None:
            kept *= counts[:, None]
        outputs[0][...] = kept[:, HIDDEN] if attributes["full"] else hidden
        outputs[1][...] = kept

    return run


@computing("popnn.gruBwd")
def _backward(attributes: Mapping[str, Any]) -> Kernel:
    order, late, functions = attributes["order"], attributes["reset_after"], Activations(attributes)

    def run(inputs: Arrays, outputs: Arrays) -> None:
        outer, kept, first = map(single, inputs[:3])
        inner, recurrent = (_ordered(each, order) for each in inputs[3:5])
        turned = recurrent.swapaxes(1, 2)
        steps, batch = kept.shape[0], kept.shape[2]
        scores, counts = _scores(attributes, list(inputs[6:]), steps, batch)
        sums = np.zeros((steps, 4, *first.shape), np.float32)
        hidden = np.zeros(first.shape, np.float32) if attributes["full"] else outer
        score_gradients = np.zeros((steps, batch), np.float32)
        for step in reversed(range(steps)):
            gates, now = kept[step], sums[step]
            total = hidden + outer[step] if attributes["full"] else hidden
            before = kept[step - 1, HIDDEN] if step else first
            update = total * (before - gates[CANDIDATE])
            if scores is not None:
                score_gradients[step] = -(update * gates[PLAIN_UPDATE]).sum(axis=1)
                update = update * scores[step]
            now[UPDATE] = update * functions.gate_slope(gates[PLAIN_UPDATE])
            now[CANDIDATE] = total * (1 - gates[UPDATE]) * functions.state_slope(gates[CANDIDATE])
            previous = total * gates[UPDATE]
            if late:
                now[PRODUCT] = now[CANDIDATE] * gates[RESET]
                reset = now[CANDIDATE] * gates[MET]
                previous = previous + np.matmul(now[PRODUCT], turned[CANDIDATE])
            else:
                now[PRODUCT] = now[CANDIDATE]
                product = np.matmul(now[CANDIDATE], turned[CANDIDATE])
                reset = product * before
                previous = previous + product * gates[RESET]
            now[RESET] = reset * functions.gate_slope(gates[RESET])
            if counts is not None:
                now *= counts[step][None]
            previous = previous + np.matmul(now[:CANDIDATE], turned[:CANDIDATE]).sum(axis=0)
            hidden = previous if counts is None else np.where(counts[step], previous, hidden)
        if counts is not None:
            score_gradients *= counts[:, :, 0]
        outputs[0][...] = hidden
        outputs[1][...] = np.matmul(sums[:, :PRODUCT], inner.swapaxes(1, 2)[None]).sum(axis=1)
        outputs[2][...] = sums
        if scores is not None:
            outputs[3][...] = score_gradients.T

    return run


@computing("popnn.gruWU")
def _weights(attributes: Mapping[str, Any]) -> Kernel:
    order, late = attributes["order"], attributes["reset_after"]

    def run(inputs: Arrays, outputs: Arrays) -> None:
        source, kept, sums, first = map(single, inputs)
        before = np.concatenate([first[None], kept[:-1, HIDDEN]])
        outputs[0][...] = weight_sums(source, sums[:, :PRODUCT])[order]
        recurrent = weight_sums(before, sums[:, :PRODUCT])
        met = before if late else kept[:, MET]
        recurrent[CANDIDATE] = weight_sums(met, sums[:, PRODUCT:])[0]
        outputs[1][...] = recurrent[order]
        biases = sums[:, :PRODUCT].sum(axis=(0, 2))
        if late:
            other = biases.copy()
            other[CANDIDATE] = sums[:, PRODUCT].sum(axis=(0, 1))
            biases = np.stack([biases, other], axis=1)
        outputs[2][...] = biases[order]

    return run
