"""Recurrent layers: simple, LSTM and GRU, both directions, sequences of several lengths.

The plain LSTM is torch's own; all others are unrolled over their steps, with the products of the inputs taken at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.table import op

Function = Callable[[Tensor], Tensor]

#: steps that are unrolled
_MOST_STEPS = 2**16

#: names with the defaults of their alpha and beta
_DEFAULTS: dict[str, tuple[float, float]] = {
    "affine": (1.0, 0.0),
    "leakyrelu": (0.01, 0.0),
    "thresholdedrelu": (1.0, 0.0),
    "scaledtanh": (1.0, 1.0),
    "hardsigmoid": (0.2, 0.5),
    "elu": (1.0, 0.0),
}


def _activation(name: str, alpha: float | None, beta: float | None) -> Function:
    key = name.lower()
    default = _DEFAULTS.get(key, (0.0, 0.0))
    a = default[0] if alpha is None else alpha
    b = default[1] if beta is None else beta
    table: dict[str, Function] = {
        "relu": torch.relu,
        "tanh": torch.tanh,
        "sigmoid": torch.sigmoid,
        "affine": lambda x: a * x + b,
        "leakyrelu": lambda x: torch.where(x >= 0, x, a * x),
        "thresholdedrelu": lambda x: torch.where(x > a, x, torch.zeros_like(x)),
        "scaledtanh": lambda x: a * torch.tanh(b * x),
        "hardsigmoid": lambda x: torch.clamp(a * x + b, 0.0, 1.0),
        "elu": lambda x: torch.nn.functional.elu(x, alpha=a),
        "softsign": torch.nn.functional.softsign,
        "softplus": torch.nn.functional.softplus,
    }
    if key not in table:
        raise Error(
            f"'{name}' is not an activation of a recurrent layer; choose from {', '.join(sorted(table))}."
        )
    return table[key]


@dataclass(frozen=True)
class _Layer:
    """What the three kinds share."""

    call: Call
    hidden: int
    directions: int
    functions: list[list[Function]]
    default_functions: bool
    clip: float

    def clipped(self, tensor: Tensor) -> Tensor:
        return tensor.clamp(-self.clip, self.clip) if self.clip else tensor


def _layer(call: Call, recurrent: Tensor, names: Sequence[str]) -> _Layer:
    direction = call.text("direction", "forward")
    if direction not in ("forward", "reverse", "bidirectional"):
        raise Error(f"'{direction}' is not a direction; choose from forward, reverse and bidirectional.")
    directions = 2 if direction == "bidirectional" else 1
    chosen = call.texts("activations", ()) or list(names) * directions
    if len(chosen) != len(names) * directions:
        raise Error(f"there must be {len(names) * directions} activations, not {len(chosen)}.")
    alphas, betas = iter(call.numbers("activation_alpha", ())), iter(call.numbers("activation_beta", ()))
    functions = [
        _activation(
            name,
            next(alphas, None) if name.lower() in _DEFAULTS else None,
            next(betas, None) if name.lower() in ("affine", "scaledtanh", "hardsigmoid") else None,
        )
        for name in chosen
    ]
    return _Layer(
        call,
        call.integer("hidden_size", recurrent.shape[-1]),
        directions,
        [functions[i * len(names) : (i + 1) * len(names)] for i in range(directions)],
        [name.lower() for name in chosen] == [name.lower() for name in names] * directions,
        call.number("clip", 0.0),
    )


#: step(inputs' product at a step, state) -> new state, the hidden one first
Step = Callable[[Tensor, "list[Tensor]"], "list[Tensor]"]


def _unrolled(
    products: Tensor, state: list[Tensor], lengths: Tensor | None, step: Step, reverse: bool
) -> tuple[Tensor, list[Tensor]]:
    """Outputs of all steps and the last state; beyond its length a sequence keeps its state and gives zeros."""
    steps = range(products.shape[0])
    if len(steps) > _MOST_STEPS:
        raise Error(f"a sequence of {len(steps):,} steps is too long to be unrolled.")
    outputs: list[Tensor] = []
    for number in reversed(steps) if reverse else steps:
        new = step(products[number], state)
        if lengths is None:
            outputs.append(new[0])
            state = new
            continue
        active = (lengths > number).reshape(-1, 1)
        outputs.append(torch.where(active, new[0], torch.zeros_like(new[0])))
        state = [torch.where(active, now, before) for now, before in zip(new, state, strict=True)]
    if reverse:
        outputs.reverse()
    return torch.stack(outputs), state


def _in_steps(call: Call, tensor: Tensor) -> Tensor:
    return tensor.transpose(0, 1) if call.integer("layout", 0) else tensor


def _lengths(call: Call, lengths: Tensor | None, steps: int) -> Tensor | None:
    """Lengths of sequences, None if all are whole."""
    if lengths is None or call.bounds(4) == (steps, steps):
        return None
    return lengths


def _state(layer: _Layer, given: Tensor | None, like: Tensor, batch: int) -> list[Tensor]:
    if given is None:
        return [like.new_zeros((batch, layer.hidden)) for _ in range(layer.directions)]
    if layer.call.integer("layout", 0):
        given = given.transpose(0, 1)
    return list(given.unbind(0))


def _joined(layer: _Layer, outputs: list[Tensor], states: Sequence[list[Tensor]]) -> list[Tensor]:
    whole = torch.stack(outputs, 1)
    last = [torch.stack(each) for each in states]
    if layer.call.integer("layout", 0):
        return [whole.permute(2, 0, 1, 3), *(each.transpose(0, 1) for each in last)]
    return [whole, *last]


def _biases(bias: Tensor | None, direction: int, width: int, like: Tensor) -> tuple[Tensor, Tensor]:
    if bias is None:
        zero = like.new_zeros(width)
        return zero, zero
    first, second = torch.split(bias[direction], width)
    return first, second


def _reverse(layer: _Layer, direction: int) -> bool:
    return direction == 1 or layer.call.text("direction", "forward") == "reverse"


@op("RNN")
def rnn(
    call: Call,
    source: Tensor,
    weights: Tensor,
    recurrent: Tensor,
    bias: Tensor | None = None,
    lengths: Tensor | None = None,
    initial: Tensor | None = None,
) -> list[Tensor]:
    source = _in_steps(call, source)
    layer = _layer(call, recurrent, ["Tanh"])
    lengths = _lengths(call, lengths, source.shape[0])
    start = _state(layer, initial, source, source.shape[1])
    outputs, last = [], []
    for d in range(layer.directions):
        (function,) = layer.functions[d]
        from_input, from_state = _biases(bias, d, layer.hidden, source)
        turned = recurrent[d].T

        def step(
            product: Tensor, state: list[Tensor], turned: Tensor = turned, function: Function = function
        ) -> list[Tensor]:
            return [function(layer.clipped(product + state[0] @ turned))]

        products = source @ weights[d].T + (from_input + from_state)
        output, state = _unrolled(products, [start[d]], lengths, step, _reverse(layer, d))
        outputs.append(output)
        last.append(state[0])
    return _joined(layer, outputs, [last])


@op("LSTM")
def lstm(
    call: Call,
    source: Tensor,
    weights: Tensor,
    recurrent: Tensor,
    bias: Tensor | None = None,
    lengths: Tensor | None = None,
    initial_h: Tensor | None = None,
    initial_c: Tensor | None = None,
    peepholes: Tensor | None = None,
) -> list[Tensor]:
    source = _in_steps(call, source)
    layer = _layer(call, recurrent, ["Sigmoid", "Tanh", "Tanh"])
    lengths = _lengths(call, lengths, source.shape[0])
    batch = source.shape[1]
    start_h, start_c = _state(layer, initial_h, source, batch), _state(layer, initial_c, source, batch)
    plain = layer.default_functions and lengths is None and peepholes is None and not layer.clip
    outputs, last_h, last_c = [], [], []
    for d in range(layer.directions):
        from_input, from_state = _biases(bias, d, 4 * layer.hidden, source)
        reverse = _reverse(layer, d)
        if plain and not call.flag("input_forget"):
            output, h, c = plain_lstm(
                source.flip(0) if reverse else source,
                start_h[d],
                start_c[d],
                *(_torch_order(each) for each in (weights[d], recurrent[d], from_input, from_state)),
            )
            outputs.append(output.flip(0) if reverse else output)
            last_h.append(h)
            last_c.append(c)
            continue
        step = _lstm_step(layer, d, recurrent[d].T, None if peepholes is None else peepholes[d])
        products = source @ weights[d].T + (from_input + from_state)
        output, state = _unrolled(products, [start_h[d], start_c[d]], lengths, step, reverse)
        outputs.append(output)
        last_h.append(state[0])
        last_c.append(state[1])
    return _joined(layer, outputs, [last_h, last_c])


def _lstm_step(layer: _Layer, direction: int, turned: Tensor, peepholes: Tensor | None) -> Step:
    f, g, h = layer.functions[direction]
    peep_i, peep_o, peep_f = (0.0, 0.0, 0.0) if peepholes is None else torch.split(peepholes, layer.hidden)
    coupled = layer.call.flag("input_forget")

    def step(product: Tensor, state: list[Tensor]) -> list[Tensor]:
        hidden, cell = state
        i, o, forget, c = torch.split(product + hidden @ turned, layer.hidden, -1)
        i = f(layer.clipped(i + peep_i * cell))
        forget = 1 - i if coupled else f(layer.clipped(forget + peep_f * cell))
        new = forget * cell + i * g(layer.clipped(c))
        o = f(layer.clipped(o + peep_o * new))
        return [o * h(new), new]

    return step


def _torch_order(gates: Tensor) -> Tensor:
    """ONNX has the gates in the order input, output, forget, cell; torch in the order input, forget, cell, output."""
    i, o, f, c = gates.chunk(4, 0)
    return torch.cat((i, f, c, o))


def plain_lstm(
    source: Tensor, h: Tensor, c: Tensor, weights: Tensor, recurrent: Tensor, bias: Tensor, more: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """One layer of torch's LSTM in one direction: outputs of all steps, last hidden and cell state."""
    output, last_h, last_c = torch.lstm(
        source,
        [h.unsqueeze(0).contiguous(), c.unsqueeze(0).contiguous()],
        [weights, recurrent, bias, more],
        True,
        1,
        0.0,
        False,
        False,
        False,
    )
    return output, last_h.squeeze(0), last_c.squeeze(0)


@op("GRU")
def gru(
    call: Call,
    source: Tensor,
    weights: Tensor,
    recurrent: Tensor,
    bias: Tensor | None = None,
    lengths: Tensor | None = None,
    initial: Tensor | None = None,
) -> list[Tensor]:
    source = _in_steps(call, source)
    layer = _layer(call, recurrent, ["Sigmoid", "Tanh"])
    lengths = _lengths(call, lengths, source.shape[0])
    start = _state(layer, initial, source, source.shape[1])
    outputs, last = [], []
    for d in range(layer.directions):
        from_input, from_state = _biases(bias, d, 3 * layer.hidden, source)
        products = source @ weights[d].T + from_input
        step = _gru_step(layer, d, recurrent[d], from_state)
        output, state = _unrolled(products, [start[d]], lengths, step, _reverse(layer, d))
        outputs.append(output)
        last.append(state[0])
    return _joined(layer, outputs, [last])


def _gru_step(layer: _Layer, direction: int, recurrent: Tensor, bias: Tensor) -> Step:
    f, g = layer.functions[direction]
    width = layer.hidden
    gates, candidate = recurrent[: 2 * width].T, recurrent[2 * width :].T
    gate_bias, candidate_bias = bias[: 2 * width], bias[2 * width :]
    linear_first = layer.call.flag("linear_before_reset")

    def step(product: Tensor, state: list[Tensor]) -> list[Tensor]:
        (hidden,) = state
        z, r = torch.split(product[:, : 2 * width] + hidden @ gates + gate_bias, width, -1)
        z, r = f(layer.clipped(z)), f(layer.clipped(r))
        if linear_first:
            inner = r * (hidden @ candidate + candidate_bias)
        else:
            inner = (r * hidden) @ candidate + candidate_bias
        n = g(layer.clipped(product[:, 2 * width :] + inner))
        return [(1 - z) * n + z * hidden]

    return step
