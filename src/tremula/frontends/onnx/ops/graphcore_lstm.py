"""The IPU's own form of the LSTM: weights of input and state in one tensor, by gate."""

from __future__ import annotations

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.recurrence import plain_lstm
from tremula.frontends.onnx.ops.table import GRAPHCORE, op


@op("LSTM", domain=GRAPHCORE)
def lstm(
    call: Call, source: Tensor, weights: Tensor, bias: Tensor | None = None, initial: Tensor | None = None
) -> list[Tensor]:
    """Weights (gates, inputs + hidden, hidden), gates in the order forget, input, cell, output."""
    inputs, batch = source.shape[2], source.shape[1]
    if weights.dim() != 3 or weights.shape[0] != 4 or weights.shape[1] != inputs + weights.shape[2]:
        raise Error(f"the weights {list(weights.shape)} must be (4, inputs + hidden, hidden).")
    hidden = weights.shape[2]
    forget, entry, cell, out = (each.T for each in weights.unbind(0))
    whole = torch.cat((entry, forget, cell, out))
    biases = source.new_zeros(4 * hidden)
    if bias is not None:
        forget, entry, cell, out = bias.unbind(0)
        biases = torch.cat((entry, forget, cell, out))
    if initial is None:
        initial = source.new_zeros((2, batch, hidden))
    output, _, last_cell = plain_lstm(
        source,
        initial[0],
        initial[1],
        whole[:, :inputs].contiguous(),
        whole[:, inputs:].contiguous(),
        biases,
        torch.zeros_like(biases),
    )
    full = call.flag("output_full_sequence", True)
    return [output if full else output[-1], last_cell]
