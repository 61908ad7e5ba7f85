"""The plain recurrent layer: each step is a non-linearity of its input, the step before times weights, and biases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.checks import (
    call,
    joined,
    need_floats,
    need_rank,
    need_shape,
    refuse,
    single,
)
from tremula.frontends.poplar.libs.outputs import linear
from tremula.frontends.poplar.libs.poplin.matmul import work_of
from tremula.frontends.poplar.libs.poplin.options import Options
from tremula.frontends.poplar.libs.popnn.nonlinearity import (
    FORWARD,
    SOFTMAX_KINDS,
    NonLinearityType,
    operation,
)
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Program
from tremula.program.work import Elementwise, Work


def iterate(
    graph: Graph,
    fed: View,
    state: View,
    weights: View,
    biases: View,
    prog: Program,
    kind: NonLinearityType,
    debug: str,
    options: Options | None,
) -> View:
    """The outputs of all steps. `fed` is what the inputs give: steps by batch by outputs."""
    where = "forwardIterate"
    need_rank(where, "input", fed, 3)
    steps, batch, hidden = fed.shape
    if state.elements != batch * hidden or biases.elements != hidden:
        raise refuse(
            where,
            f"a state {list(state.shape)} or biases {list(biases.shape)} do not fit an input {list(fed.shape)}",
        )
    need_shape(where, "tensor of weights", weights, (hidden, hidden))
    need_floats(where, fed, state, weights, biases)
    if kind in SOFTMAX_KINDS:
        raise refuse(where, f"{kind.name} is not a non-linearity of a recurrent layer")
    made = linear(graph, fed.type, fed.shape, joined(debug, "actOut"))
    step: list[Work] = [
        work_of(where, (batch, hidden), (hidden, hidden), fed.type, options),
        Elementwise(
            f"add+add+{operation(kind)}", batch * hidden, work_type(fed.type), operands=3, in_place=True
        ),
    ]
    inputs = [fed, state.reshape((batch, hidden)), weights, biases.flatten()]
    call(prog, "popnn.rnnForward", inputs, [made], step * steps, debug, kind=kind.name)
    return made


@computing("popnn.rnnForward")
def _iterate(attributes: Mapping[str, Any]) -> Kernel:
    function = FORWARD[attributes["kind"]]

    def run(inputs: Arrays, outputs: Arrays) -> None:
        fed, state, weights, biases = map(single, inputs)
        for number, each in enumerate(fed):
            state = np.asarray(function(each + state @ weights + biases))
            outputs[0][number] = state

    return run
