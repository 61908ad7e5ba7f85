"""Recurrent layers with the device's shapes and gate orders: LSTM, GRU, and GRU with attention.

Sequences are time-major: `[time, batch, features]`. One kernel holds the input weights above the recurrent weights,
`[inputs + units, gates * units]`, with the gates in Keras's order: input, forget, candidate, output for an LSTM and
update, reset, candidate for a GRU. So a stock layer's weights fit after `concat([kernel, recurrent_kernel], 0)`.

The products with the inputs are made for all steps at once; only the recurrence is a loop. Half-precision products
accumulate in float32, as on the device, and their results are rounded to half.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import activations, facts
from tremula.frontends.tensorflow.static_shape import static_size

#: one step: this step's rows of the sequences and the states -> the output and the next states
Step = Callable[[Sequence[Any], Sequence[Any]], tuple[Any, list[Any]]]


def lstm(
    inputs: Any,
    kernel: Any,
    bias: Any,
    h: Any,
    c: Any,
    seq_len: Any = None,
    *,
    activation: str = "tanh",
    recurrent_activation: str = "sigmoid",
    **planning: Any,
) -> tuple[Any, Any, Any]:
    """Run an LSTM over a sequence.

    Args:
        inputs: `[time, batch, features]`.
        kernel: `[features + units, 4 * units]`; gates: input, forget, candidate, output.
        bias: `[4, units]`.
        h: the hidden state before the first step, `[batch, units]`.
        c: the cell state before the first step, `[batch, units]`.
        seq_len: the length of each sequence of the batch. Steps after it give zeros and leave the states alone.
        activation: for the candidate and the cell state.
        recurrent_activation: for the three gates.
        planning: facts for the chip model: `partials_dtype`, `options`, ...

    Returns:
        The outputs `[time, batch, units]`, the last hidden state and the last cell state.
    """
    with facts.composite("Lstm", **_sizes(inputs, h), **_plain(planning)):
        outputs, h, c = _lstm(inputs, kernel, bias, h, c, seq_len, activation, recurrent_activation)
    return facts.record(outputs, layer="lstm", **planning), h, c


def _lstm(
    inputs: Any,
    kernel: Any,
    bias: Any,
    h: Any,
    c: Any,
    seq_len: Any,
    activation: str,
    recurrent_activation: str,
) -> tuple[Any, Any, Any]:
    units = _units(h)
    outer, inner = activations.by_name(activation), activations.by_name(recurrent_activation)
    projected, recurrent = _project(inputs, kernel, units)
    projected += tf.reshape(tf.cast(bias, inputs.dtype), [-1])

    def step(rows: Sequence[Any], states: Sequence[Any]) -> tuple[Any, list[Any]]:
        h, c = states
        gates = rows[0] + _product(h, recurrent)
        i, f, candidate, o = tf.split(gates, 4, axis=-1)
        c = inner(f) * c + inner(i) * outer(candidate)
        h = inner(o) * outer(c)
        return h, [h, c]

    outputs, (h, c) = _loop(step, [projected], [h, c], seq_len)
    return outputs, h, c


def gru(
    inputs: Any,
    kernel: Any,
    bias: Any,
    h: Any,
    seq_len: Any = None,
    *,
    attention: Any = None,
    reset_after: bool = False,
    activation: str = "tanh",
    recurrent_activation: str = "sigmoid",
    **planning: Any,
) -> tuple[Any, Any]:
    """Run a GRU over a sequence.

    Args:
        inputs: `[time, batch, features]`.
        kernel: `[features + units, 3 * units]`; gates: update, reset, candidate.
        bias: `[3, units]`; with `reset_after` `[3, 2, units]`, for the inputs and for the recurrence.
        h: the state before the first step, `[batch, units]`.
        seq_len: the length of each sequence of the batch. Steps after it give zeros and leave the state alone.
        attention: scores `[time, batch]` that scale the update gate by 1 - score (AUGRU).
        reset_after: apply the reset gate after the product with the recurrent weights, not before.
        activation: for the candidate.
        recurrent_activation: for the two gates.
        planning: facts for the chip model: `partials_dtype`, `options`, ...

    Returns:
        The outputs `[time, batch, units]` and the last state.
    """
    kind = "Gru" if attention is None else "Augru"
    with facts.composite(kind, **_sizes(inputs, h), **_plain(planning)):
        outputs, h = _gru(
            inputs, kernel, bias, h, seq_len, attention, reset_after, activation, recurrent_activation
        )
    return facts.record(outputs, layer=kind.lower(), reset_after=reset_after, **planning), h


def _gru(
    inputs: Any,
    kernel: Any,
    bias: Any,
    h: Any,
    seq_len: Any,
    attention: Any,
    reset_after: bool,
    activation: str,
    recurrent_activation: str,
) -> tuple[Any, Any]:
    units = _units(h)
    outer, inner = activations.by_name(activation), activations.by_name(recurrent_activation)
    projected, recurrent = _project(inputs, kernel, units)
    bias = tf.cast(bias, inputs.dtype)
    if reset_after:
        if bias.shape.rank == 2:  # one vector for both sums
            bias = tf.stack([bias, tf.zeros_like(bias)], axis=1)
        projected += tf.reshape(bias[:, 0], [-1])
        recurrent_bias = tf.reshape(bias[:, 1], [-1])
    else:
        projected += tf.reshape(bias, [-1])
    gates_weights, candidate_weights = recurrent[:, : 2 * units], recurrent[:, 2 * units :]

    def step(rows: Sequence[Any], states: Sequence[Any]) -> tuple[Any, list[Any]]:
        (h,) = states
        if reset_after:
            products = _product(h, recurrent) + recurrent_bias
            z, r, candidate = tf.split(products, 3, axis=-1)
            xz, xr, xc = tf.split(rows[0], 3, axis=-1)
            z, r = inner(xz + z), inner(xr + r)
            candidate = outer(xc + r * candidate)
        else:
            z, r = tf.split(inner_gates(rows[0][:, : 2 * units] + _product(h, gates_weights)), 2, axis=-1)
            candidate = outer(rows[0][:, 2 * units :] + _product(r * h, candidate_weights))
        if attention is not None:
            z *= 1 - rows[1][:, tf.newaxis]
        h = z * h + (1 - z) * candidate
        return h, [h]

    def inner_gates(both: Any) -> Any:
        if recurrent_activation == "softmax":  # over the units of one gate
            return tf.concat([inner(half) for half in tf.split(both, 2, axis=-1)], -1)
        return inner(both)

    sequences = [projected] if attention is None else [projected, tf.cast(attention, inputs.dtype)]
    outputs, (h,) = _loop(step, sequences, [h], seq_len)
    return outputs, h


def _sizes(inputs: Any, h: Any) -> dict[str, int | None]:
    """What the chip model has to know of a layer."""
    return {
        "steps": static_size(inputs, 0),
        "batch": static_size(inputs, 1) or static_size(h, 0),
        "inputs": static_size(inputs, -1),
        "hidden": static_size(h, -1),
    }


def _plain(planning: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in planning.items() if value is not None}


def _units(state: Any) -> int:
    units = static_size(state, -1)
    if units is None:
        raise ValueError(
            "The number of units of a recurrent layer's state has to be known when the graph is built."
        )
    return int(units)


def _accumulated(dtype: Any) -> Any:
    return tf.float32 if dtype == tf.float16 else dtype


def _project(inputs: Any, kernel: Any, units: int) -> tuple[Any, Any]:
    """The inputs' products for all steps, and the recurrent weights ready for `_product`."""
    kernel = tf.cast(kernel, _accumulated(inputs.dtype))
    features = static_size(inputs, -1)
    rows = static_size(kernel, 0)
    if rows is not None and rows != features + units:
        raise ValueError(
            f"The kernel has {rows} rows, but the inputs have {features} features and the state {units} units."
        )
    flat = tf.reshape(tf.cast(inputs, kernel.dtype), [-1, features])
    shape = tf.concat([tf.shape(inputs)[:2], [static_size(kernel, 1)]], 0)
    projected = tf.cast(tf.reshape(tf.matmul(flat, kernel[:-units]), shape), inputs.dtype)
    projected.set_shape([static_size(inputs, 0), static_size(inputs, 1), static_size(kernel, 1)])
    return projected, kernel[-units:]


def _product(state: Any, weights: Any) -> Any:
    return tf.cast(tf.matmul(tf.cast(state, weights.dtype), weights), state.dtype)


def _loop(step: Step, sequences: Sequence[Any], states: Sequence[Any], seq_len: Any) -> tuple[Any, list[Any]]:
    steps = static_size(sequences[0], 0)
    count = tf.shape(sequences[0])[0] if steps is None else steps
    dtype = sequences[0].dtype
    batch = sequences[0].shape[1:2].merge_with(states[0].shape[:1])
    states = [tf.cast(state, dtype) for state in states]
    for state in states:
        state.set_shape(batch.concatenate(state.shape[1:]))
    element = batch.concatenate(states[0].shape[1:])
    rows = [
        tf.TensorArray(s.dtype, size=count, element_shape=batch.concatenate(s.shape[2:])).unstack(s)
        for s in sequences
    ]
    outputs = tf.TensorArray(dtype, size=count, element_shape=element)

    def body(t: Any, outputs: Any, *states: Any) -> tuple[Any, ...]:
        output, following = step([row.read(t) for row in rows], states)
        if seq_len is not None:
            going_on = (t < tf.cast(seq_len, tf.int32))[:, tf.newaxis]
            output = tf.where(going_on, output, tf.zeros_like(output))
            following = [tf.where(going_on, new, old) for new, old in zip(following, states, strict=True)]
        return (t + 1, outputs.write(t, output), *following)

    start = (tf.constant(0), outputs, *states)
    _, outputs, *states = tf.while_loop(lambda t, *_: t < count, body, start, maximum_iterations=steps)
    stacked = outputs.stack()
    stacked.set_shape([steps, *element])
    return stacked, list(states)
