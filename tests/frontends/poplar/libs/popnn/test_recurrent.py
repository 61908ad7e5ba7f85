"""LSTM and GRU layers with their gradients agree with the same steps in torch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.frontends.poplar.libs.bench import Bench, normal

from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popnn import gru, lstm
from tremula.frontends.poplar.libs.popnn.cells import Layer, Weights
from tremula.frontends.poplar.libs.popnn.nonlinearity import NonLinearityType
from tremula.frontends.poplar.types import FLOAT

STEPS, BATCH, INPUTS, HIDDEN = 4, 3, 2, 5


def layer(kind: str, order: tuple[int, ...], *, full: bool, late: bool = False) -> Layer:
    activations = (NonLinearityType.TANH, NonLinearityType.SIGMOID)
    return Layer(kind, FLOAT, BATCH, STEPS, INPUTS, HIDDEN, order, *activations, full, None, late)


def leaves(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    return [torch.from_numpy(normal(*shape, seed=n)).requires_grad_() for n, shape in enumerate(shapes)]


def compare(found: list[np.ndarray], expected: list[torch.Tensor | None]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert theirs is not None
        np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=2e-4, atol=2e-5)


def lengths_of(varying: bool) -> list[int]:
    return [2, STEPS, 3] if varying else [STEPS] * BATCH


def chosen(step: int, lengths: list[int], new: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
    return torch.stack([new[b] if step < lengths[b] else old[b] for b in range(BATCH)])


def outputs_of(steps: list[torch.Tensor], lengths: list[int], last: torch.Tensor, full: bool) -> torch.Tensor:
    if not full:
        return last
    zero = torch.zeros(HIDDEN)
    return torch.stack(
        [torch.stack([h[b] if t < lengths[b] else zero for b in range(BATCH)]) for t, h in enumerate(steps)]
    )


@settings(max_examples=12, deadline=None)
@given(st.permutations(range(4)), st.booleans(), st.booleans())
def test_an_lstm_agrees_with_torch(order: list[int], full: bool, varying: bool) -> None:
    source, inner, outer, biases, h, c = parameters = leaves(
        (STEPS, BATCH, INPUTS),
        (4, INPUTS, HIDDEN),
        (4, HIDDEN, HIDDEN),
        (4, HIDDEN),
        (BATCH, HIDDEN),
        (BATCH, HIDDEN),
    )
    lengths, states = lengths_of(varying), []
    hidden, cell = h, c
    for step in range(STEPS):
        sums = {
            gate: source[step] @ inner[place] + hidden @ outer[place] + biases[place]
            for place, gate in enumerate(order)
        }
        new = torch.sigmoid(sums[0]) * cell + torch.sigmoid(sums[1]) * torch.tanh(sums[2])
        now = torch.sigmoid(sums[3]) * torch.tanh(new)
        hidden, cell = chosen(step, lengths, now, hidden), chosen(step, lengths, new, cell)
        states.append(now)
    expected = outputs_of(states, lengths, hidden, full)
    deltas = torch.from_numpy(normal(*expected.shape, seed=9))
    expected.backward(deltas)

    bench = Bench()
    shape = layer("lstm", tuple(order), full=full)
    if varying:
        shape = replace(shape, lengths=bench.tensor(np.array(lengths, np.uint32)))
    views = [bench.tensor(each.detach().numpy()) for each in parameters]
    weights, state = Weights(*views[1:4]), (views[4], views[5])
    made, last, kept = lstm.forward(bench.graph, shape, state, views[0], weights, bench.prog, "", None)
    first, slope, sums_slope = lstm.backward(
        bench.graph,
        shape,
        bench.prog,
        state,
        kept,
        weights,
        bench.tensor(deltas.numpy()),
        (None, None),
        "",
        None,
    )
    grads = lstm.weight_update(bench.graph, shape, bench.prog, state, kept, sums_slope, views[0], "", None)
    found = bench.run(made, last, slope, *grads.views(), *first)
    compare(found, [expected, cell, *(each.grad for each in parameters)])


@settings(max_examples=16, deadline=None)
@given(st.permutations(range(3)), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_a_gru_agrees_with_torch(
    order: list[int], full: bool, late: bool, varying: bool, attended: bool
) -> None:
    bias_shape = (3, 2, HIDDEN) if late else (3, HIDDEN)
    source, inner, outer, biases, h, scores = parameters = leaves(
        (STEPS, BATCH, INPUTS),
        (3, INPUTS, HIDDEN),
        (3, HIDDEN, HIDDEN),
        bias_shape,
        (BATCH, HIDDEN),
        (BATCH, STEPS),
    )
    lengths, states, hidden = lengths_of(varying), [], h
    places = {gate: place for place, gate in enumerate(order)}
    for step in range(STEPS):

        def part(gate: int, before: torch.Tensor, step: int = step) -> tuple[torch.Tensor, torch.Tensor]:
            place = places[gate]
            own, other = (biases[place][0], biases[place][1]) if late else (biases[place], torch.zeros(()))
            return source[step] @ inner[place] + own, before @ outer[place] + other

        reset, update = (torch.sigmoid(sum(part(gate, hidden))) for gate in (0, 1))  # type: ignore[arg-type]
        if attended:
            update = update * (1 - scores[:, step : step + 1])
        own, other = part(2, hidden if late else reset * hidden)
        candidate = torch.tanh(own + (reset * other if late else other))
        now = update * hidden + (1 - update) * candidate
        hidden = chosen(step, lengths, now, hidden)
        states.append(now)
    expected = outputs_of(states, lengths, hidden, full)
    deltas = torch.from_numpy(normal(*expected.shape, seed=9))
    expected.backward(deltas)

    bench = Bench()
    shape = layer("gru", tuple(order), full=full, late=late)
    if varying:
        shape = replace(shape, lengths=bench.tensor(np.array(lengths, np.uint32)))
    views = [bench.tensor(each.detach().numpy()) for each in parameters]
    weights, attention = Weights(*views[1:4]), views[5] if attended else None
    made, kept = gru.forward(bench.graph, shape, views[4], views[0], weights, attention, bench.prog, "", None)
    given_deltas = bench.tensor(deltas.numpy())
    first, slope, sums, score_slope = gru.backward(
        bench.graph, shape, bench.prog, views[4], kept, weights, given_deltas, attention, "", None
    )
    grads = gru.weight_update(bench.graph, shape, bench.prog, views[4], kept, sums, views[0], "", None)
    extra = [score_slope] if score_slope is not None else []
    found = bench.run(made, slope, *grads.views(), first, *extra)
    compare(found, [expected, *(each.grad for each in parameters[: 5 + len(extra)])])


def test_activations_without_derivative_are_errors() -> None:
    with pytest.raises(PoplibsError, match="not an activation"):
        replace(layer("lstm", (0, 1, 2, 3), full=True), activation=NonLinearityType.GELU).check()
