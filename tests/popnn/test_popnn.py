"""The public functions of popnn take their arguments as the C++ ones do, and fit together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.poplin.test_poplin import World, counted

import poplar
import poplin
import popnn


@pytest.fixture
def world() -> World:
    return World()


def normalised(values: Any, axes: tuple[int, ...]) -> Any:
    mean = values.mean(axis=axes, keepdims=True)
    return (values - mean) / np.sqrt(values.var(axis=axes, keepdims=True) + 1e-3)


def test_batch_norms_have_two_forms(world: World) -> None:
    graph, prog, acts = world.graph, world.prog, world.tensor(2, 3, 4)
    ones, zeros = world.tensor(3), world.tensor(3)
    graph.setInitialValue(ones, np.ones(3))
    graph.setInitialValue(zeros, np.zeros(3))
    mean, deviation = popnn.bn.batchNormStatistics(
        graph, acts, 1e-3, prog, False, False, poplar.FLOAT, "bn", {}
    )
    made, whitened = popnn.bn.batchNormalise(graph, acts, ones, zeros, mean, deviation, prog, "bn")
    combined = popnn.bn.batchNormalise(graph, acts, ones, mean, prog, "combined")
    first = popnn.bn.batchNormGradients(graph, acts, made, mean, deviation, ones, prog, poplar.FLOAT)
    second = popnn.bn.batchNormGradients(graph, whitened, made, deviation, ones, prog)
    found = world.run(made, whitened, combined, mean, first, second)
    np.testing.assert_allclose(found[0], normalised(counted(2, 3, 4), (0, 2)), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[2], counted(2, 3, 4) + found[3][:, None], rtol=1e-5)
    np.testing.assert_allclose(found[4], found[5], atol=1e-6)


@pytest.mark.parametrize("apart", ["true", "false"])
def test_group_norms_take_groups_of_channels(world: World, apart: str) -> None:
    graph, prog, acts = world.graph, world.prog, world.tensor(2, 4, 3)
    options = {"groupNormStridedChannelGrouping": apart}
    statistics = popnn.gn.groupNormStatistics(
        graph, acts, 1e-3, prog, 2, False, False, poplar.FLOAT, "gn", options
    )
    made = popnn.gn.groupNormWhiten(graph, acts, *statistics, prog, "gn", options)
    values = counted(2, 4, 3)
    split = values.reshape(2, 2, 2, 3)
    expected = normalised(split, (1, 3) if apart == "true" else (2, 3)).reshape(2, 4, 3)
    np.testing.assert_allclose(world.run(made)[0], expected, rtol=1e-4, atol=1e-5)


def test_layer_and_instance_norms_are_group_norms(world: World) -> None:
    graph, prog, acts = world.graph, world.prog, world.tensor(2, 4, 3)
    layer = popnn.ln.layerNormStatistics(graph, acts, 1e-3, prog, False)
    instance = getattr(popnn, "in").instanceNormStatistics(graph, acts, 1e-3, prog, False, False)
    made = popnn.ln.layerNormWhiten(graph, acts, *layer, prog)
    other = popnn.in_.instanceNormWhiten(graph, acts, *instance, prog)
    found = world.run(made, other)
    np.testing.assert_allclose(found[0], normalised(counted(2, 4, 3), (1, 2)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], normalised(counted(2, 4, 3), (2,)), rtol=1e-4, atol=1e-5)


def test_norm_parameters_are_updated(world: World) -> None:
    gamma, beta, slopes = world.tensor(3), world.tensor(3), (world.tensor(3), world.tensor(3))
    scale = world.tensor(1)
    popnn.bn.batchNormParamUpdate(world.graph, *slopes, -0.5, gamma, beta, world.prog)
    popnn.gn.groupNormParamUpdate(world.graph, *slopes, scale, gamma, beta, world.prog, "update")
    first, second = world.run(gamma, beta)
    np.testing.assert_allclose(first, counted(3) * (1 - 0.5 - 1), rtol=1e-5)
    np.testing.assert_array_equal(first, second)


def test_losses_have_four_forms(world: World) -> None:
    graph, kind = world.graph, popnn.LossType.CROSS_ENTROPY_LOSS
    chances = popnn.nonLinearity(
        graph, popnn.NonLinearityType.SOFTMAX, world.tensor(2, 3), world.prog, "softmax"
    )
    labels, right = (graph.addVariable(poplar.UNSIGNED_INT, [size]) for size in (2, 1))
    for each in (labels, right):
        graph.setTileMapping(each, 0)
    loss, deltas, one = world.tensor(2), world.tensor(2, 3), world.tensor(1)
    world.prog.add(popnn.calcLoss(graph, chances, labels, loss, deltas, kind, "loss"))
    world.prog.add(popnn.calcLoss(graph, chances, labels, loss, deltas, right, kind))
    world.prog.add(popnn.calcLoss(graph, chances, labels, loss, deltas, one, one, right, kind))
    world.prog.add(popnn.calcLoss(graph, chances, labels, loss, deltas, one, one, kind))
    world.prog.add(popnn.calcAccuracy(graph, chances, labels, right))
    places: list[poplar.Tensor] = []
    values = popnn.topK(graph, chances, places, 1, True, world.prog)
    found = world.run(right, values, popnn.maxAndArgMax(graph, chances, world.prog)[0], places[0])
    assert found[0].tolist() == [0]
    np.testing.assert_array_equal(found[1].reshape(-1), found[2])
    assert found[3].reshape(-1).tolist() == [2, 2]


def test_lstm_results_come_through_lists_or_after_the_result(world: World) -> None:
    graph, prog = world.graph, world.prog
    params = popnn.lstm.LstmParams(poplar.FLOAT, 2, 3, [4, 5])
    state = popnn.lstm.createInitialState(graph, params, "state")
    popnn.lstm.zeroInitialState(graph, state, prog)
    weights = popnn.lstm.createWeights(graph, params, "weights", {})
    source = popnn.lstm.createInput(graph, params, "in")
    kept: list[poplar.Tensor] = []
    out, cell = popnn.lstm.lstmFwd(graph, params, state, source, weights, kept, prog, "fwd", {})
    again = popnn.lstm.lstmFwd(graph, params, state, source, weights, True, prog)
    assert len(again) == 3
    assert state.getAsTensor().shape == (2, 2, 5)
    slopes: list[Any] = []
    first = popnn.lstm.lstmBwdWithWU(
        graph, params, prog, state, kept[0], weights, source, out, out, cell, None, slopes
    )
    assert isinstance(first, popnn.lstm.LstmState)
    assert [each.shape for each in slopes[0]] == [each.shape for each in weights]
    world.run(out)


def test_gru_takes_real_time_steps(world: World) -> None:
    graph, prog = world.graph, world.prog
    params = popnn.gru.GruParams(poplar.FLOAT, 2, 3, [4, 5])
    state, source = (
        popnn.gru.createInitialState(graph, params, "s"),
        popnn.gru.createInput(graph, params, "i"),
    )
    weights = popnn.gru.createWeights(graph, params, "w")
    steps = graph.addVariable(poplar.UNSIGNED_INT, [2], poplar.VariableMappingMethod.LINEAR)
    graph.setInitialValue(steps, [1, 3])
    out, kept = popnn.gru.gruFwd(graph, params, state, source, steps, weights, True, prog)
    slope = popnn.gru.gruBwd(
        graph, params, prog, state, kept, weights, source, steps, out, out, None, None, "bwd", {}
    )
    assert slope.shape == (2, 5)
    graph.setInitialValue(weights.biases, np.ones(15))
    found = world.run(out)[0]
    assert (found[1:, 0] == 0).all()
    assert (found[:, 1] != 0).all()


def test_pooling_gradients_have_two_forms(world: World) -> None:
    graph, prog = world.graph, world.prog
    shape = ([4, 4], [2, 2], [2, 2], [0, 0], [0, 0], 3, 2, poplar.FLOAT)
    largest = popnn.pooling.PoolParams(popnn.PoolingType.MAX, *shape)
    source = world.tensor(2, 3, 4, 4)
    pooled = popnn.pooling.pool(graph, largest, source, prog, "pool", {"optimizeForSpeed": "true"})
    first = popnn.pooling.poolInputGradient(graph, largest, source, pooled, pooled, False, prog)
    mean = popnn.pooling.PoolParams(popnn.PoolingType.AVG, *shape)
    second = popnn.pooling.poolInputGradient(graph, mean, 1, pooled, prog, "gradient")
    found = world.run(pooled, first, second)
    assert found[0].shape == (2, 3, 2, 2)
    np.testing.assert_array_equal(found[1].max(axis=(2, 3)), found[0].max(axis=(2, 3)))
    np.testing.assert_allclose(found[2][:, :, ::2, ::2], found[0] / 4)
    with pytest.raises(poplar.poplar_error, match="needs input and output"):
        popnn.pooling.poolInputGradient(graph, largest, 1, pooled, prog)


@pytest.mark.parametrize("kind", ["RELU", "GELU_ERF", "HARD_SIGMOID"])
def test_compute_sets_get_vertices_that_compute_the_same(world: World, kind: str) -> None:
    graph, prog, which = world.graph, world.prog, popnn.NonLinearityType[kind]
    acts, outer = world.tensor(7, 50), world.tensor(7, 50)
    forward, backward = graph.addComputeSet("forward"), graph.addComputeSet("backward")
    slope = popnn.nonLinearityInputGradient(graph, which, acts, outer, backward, "gradient")
    expected_slope = popnn.nonLinearityInputGradient(graph, which, acts, outer, prog)
    expected = popnn.nonLinearity(graph, which, acts, prog)
    popnn.nonLinearityInPlace(graph, which, acts, forward)
    for each in (backward, forward):
        prog.add(poplar.Execute(each))
    found = world.run(expected_slope, slope, expected, acts)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[2], found[3])


def test_a_softmax_is_refused_in_a_compute_set(world: World) -> None:
    with pytest.raises(poplar.poplar_error, match="give a Sequence"):
        popnn.nonLinearityInPlace(
            world.graph, popnn.NonLinearityType.SOFTMAX, world.tensor(2), world.graph.addComputeSet("cs")
        )


def test_scaling_and_types_of_parameters(world: World) -> None:
    assert popnn.nonLinearityScaling(popnn.NonLinearityType.SOFTMAX_SCALED) == 62000
    assert (
        poplin.createNormGamma(world.graph, world.tensor(2, 3), poplar.HALF, "g").elementType() is poplar.HALF
    )


def test_a_plain_recurrent_layer_repeats_its_non_linearity(world: World) -> None:
    graph, prog = world.graph, world.prog
    inner = popnn.rnn.createWeightsInput(graph, 3, 2, 4, 5, poplar.FLOAT)
    outer = popnn.rnn.createWeightsFeedback(graph, 2, 5, poplar.FLOAT)
    source = popnn.rnn.createInput(graph, 3, 2, 4, 5, poplar.FLOAT, debug="in")
    biases = world.tensor(5)
    random = np.random.default_rng(0)
    values = [random.normal(size=each.shape).astype(np.float32) for each in (source, inner, outer)]
    for each, start in zip((source, inner, outer), values, strict=True):
        graph.setInitialValue(each, start)
    state = popnn.rnn.createFwdState(graph, poplar.FLOAT, 2, 5, prog, True, True)
    fed = popnn.rnn.forwardWeightInput(graph, source, inner, prog)
    out = popnn.rnn.forwardIterate(graph, fed, state, outer, biases, prog, popnn.NonLinearityType.TANH)
    before, expected = np.zeros((2, 5), np.float32), []
    for each in values[0]:
        before = np.tanh(each @ values[1] + before @ values[2] + counted(5))
        expected.append(before)
    np.testing.assert_allclose(world.run(out)[0], expected, rtol=1e-4, atol=1e-5)
