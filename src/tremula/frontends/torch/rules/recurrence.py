"""Recurrent layers that torch records as one op: each is one layer and one direction.

An LSTM is recorded so; GRU and simple RNN layers arrive as their steps, and are lowered step by step.
"""

from __future__ import annotations

from tremula.frontends.torch.rules.call import Call
from tremula.frontends.torch.rules.products import proportion
from tremula.lowering.products import partials
from tremula.program.lowered import Lowered
from tremula.program.work import Recurrent

#: torch's numbers of the kinds
_KINDS = {0: "rnn", 1: "rnn", 2: "lstm", 3: "gru"}


def layer(call: Call) -> Lowered:
    """mkldnn_rnn_layer, forward and gradient: input of (steps, batch, width)."""
    source = call.tensor("input")
    if source is None or len(source.shape) != 3:
        return call.unknown()
    steps, batch, inputs = source.shape
    return call.lowered((
        Recurrent(
            kind=_KINDS.get(int(call.argument("mode", 2)), "lstm"),
            steps=steps,
            batch=batch,
            inputs=inputs,
            hidden=int(call.argument("hidden_size")),
            dtype=source.dtype,
            partials=partials(source.dtype, call.settings.partials),
            proportion=proportion(call),
            gradient="backward" in call.name,
        ),
    ))  # fmt: skip
