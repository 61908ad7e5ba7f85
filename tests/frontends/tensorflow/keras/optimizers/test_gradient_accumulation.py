"""Gradients of mini-batches are applied together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from keras.ipu import optimizers
from tensorflow import keras

from ipu_tensorflow_addons.keras.optimizers import SGDIpuOptimizer

legacy = keras.optimizers.legacy
INNER = {
    "sgd": lambda: legacy.SGD(0.1, momentum=0.9),
    "adam": lambda: legacy.Adam(0.1),
    "rmsprop": lambda: legacy.RMSprop(0.1),
}


def _gradients(count: int) -> Any:
    return np.random.default_rng(0).normal(size=(count, 3)).astype(np.float32)


@settings(max_examples=20, deadline=None)
@given(
    batches=st.integers(1, 4),
    updates=st.integers(1, 3),
    method=st.sampled_from(["SUM", "MEAN", "RUNNING_MEAN"]),
    inner=st.sampled_from(sorted(INNER)),
    traced=st.booleans(),
    rest=st.integers(0, 1),
)
def test_an_update_applies_the_sum_or_mean_of_its_mini_batches(
    batches: int, updates: int, method: str, inner: str, traced: bool, rest: int
) -> None:
    gradients = _gradients(batches * updates + rest)
    reference, expected = INNER[inner](), tf.Variable(tf.ones([3]))
    for part in np.split(gradients[: batches * updates], updates):
        total = part.sum(0) if method == "SUM" else part.mean(0)
        reference.apply_gradients([(tf.constant(total), expected)])
    if batches == 1 and rest:
        reference.apply_gradients([(tf.constant(gradients[-1]), expected)])

    optimizer = optimizers.GradientAccumulationOptimizer(INNER[inner](), batches, reduction_method=method)
    variable = tf.Variable(tf.ones([3]))

    def step(gradient: Any) -> None:
        optimizer.apply_gradients([(gradient, variable)])

    run = tf.function(step) if traced else step
    for gradient in gradients:
        run(tf.constant(gradient))
    np.testing.assert_allclose(variable, expected, rtol=1e-4, atol=1e-6)
    assert int(optimizer.iterations) == int(reference.iterations)


def test_one_mini_batch_needs_no_wrapper() -> None:
    inner = legacy.SGD()
    assert optimizers.GradientAccumulationOptimizer(inner, 1) is inner
    with pytest.raises(ValueError, match="num_mini_batches"):
        optimizers.GradientAccumulationOptimizer(inner, 0)


def test_accumulators_have_the_chosen_type_and_are_no_weights() -> None:
    variable = tf.Variable(tf.zeros([1], tf.float16))
    # 2048 + 1 is 2048 in half precision
    gradients = [2048.0, 1.0, 1.0, 1.0]
    results = []
    for dtype in (None, tf.float32, lambda _: tf.float32):
        variable.assign([0.0])
        optimizer = optimizers.GradientAccumulationOptimizer(
            SGDIpuOptimizer(1.0), 4, dtype=dtype, reduction_method="SUM"
        )
        for gradient in gradients:
            optimizer.apply_gradients([(tf.constant([gradient], tf.float16), variable)])
        results.append(float(variable[0]))
        assert [weight.dtype for weight in optimizer.weights] == [tf.int64]
    assert results == [-2048.0, -2052.0, -2052.0]


def test_hyperparameters_of_the_inner_optimizer_are_those_of_the_wrapper() -> None:
    inner = legacy.SGD(0.5)
    optimizer = optimizers.GradientAccumulationOptimizer(optimizers.ALSOptimizer(inner), 2)
    assert float(optimizer.lr) == 0.5
    optimizer.learning_rate = 0.25
    assert float(keras.backend.get_value(inner.learning_rate)) == 0.25
    assert {"learning_rate", "lr"} <= set(dir(optimizer))
    with pytest.raises(AttributeError, match="no_such"):
        _ = optimizer.no_such_thing


@settings(max_examples=10, deadline=None)
@given(batches=st.integers(2, 3), factor=st.sampled_from([1, 16]), special=st.booleans())
def test_loss_scaling_changes_once_for_an_update_and_leaves_updates_alone(
    batches: int, factor: int, special: bool
) -> None:
    arguments = {
        "initial_loss_scaling_factor": factor,
        "update_frequency": 1,
        "max_loss_scaling_factor": 1024,
    }
    if special:
        scaling = optimizers.ALSOptimizerSGD(0.1, momentum=0.5, **arguments)
    else:
        scaling = optimizers.ALSOptimizer(legacy.SGD(0.1, momentum=0.5), **arguments)
    optimizer = optimizers.ALSGradientAccumulationOptimizer(scaling, batches)
    reference, expected = legacy.SGD(0.1, momentum=0.5), tf.Variable(tf.ones([3]))
    variable = tf.Variable(tf.ones([3]))
    factors = []
    for part in np.split(_gradients(3 * batches), 3):
        reference.apply_gradients([(tf.constant(part.sum(0)), expected)])
        for gradient in part:
            factors.append(float(optimizer.loss_scaling_factor))
            optimizer.apply_gradients([(optimizer.get_scaled_loss(tf.constant(gradient)), variable)])
    np.testing.assert_allclose(variable, expected, rtol=1e-4)
    assert factors == [factor * 2.0**update for update in range(3) for _ in range(batches)]


def test_loss_scaling_with_accumulation_needs_a_scaling_optimizer() -> None:
    with pytest.raises(ValueError, match="ALSOptimizer"):
        optimizers.ALSGradientAccumulationOptimizer(legacy.SGD(), 2)


def _wrapped(name: str) -> Any:
    return {
        "als": lambda: optimizers.ALSOptimizer(legacy.Adam(0.1), 4),
        "adam": lambda: optimizers.ALSOptimizerAdam(0.1, initial_loss_scaling_factor=4),
        "accumulation": lambda: optimizers.GradientAccumulationOptimizer(legacy.Adam(0.1), 2),
        "both": lambda: optimizers.ALSGradientAccumulationOptimizer(
            optimizers.ALSOptimizer(legacy.Adam(0.1), 4), 2
        ),
    }[name]()


@pytest.mark.parametrize("name", ["als", "adam", "accumulation", "both"])
def test_state_comes_back_from_a_checkpoint(name: str, tmp_path: Any) -> None:
    optimizer, variable = _wrapped(name), tf.Variable(tf.ones([3]))
    gradients = _gradients(8)
    for gradient in gradients[:4]:
        optimizer.apply_gradients([(tf.constant(gradient), variable)])
    saved = tf.train.Checkpoint(v=variable, optimizer=optimizer).save(str(tmp_path / "state"))
    again, other = _wrapped(name), tf.Variable(tf.zeros([3]))
    tf.train.Checkpoint(v=other, optimizer=again).restore(saved).assert_existing_objects_matched()
    for gradient in gradients[4:]:
        optimizer.apply_gradients([(tf.constant(gradient), variable)])
        again.apply_gradients([(tf.constant(gradient), other)])
    np.testing.assert_allclose(other, variable, rtol=1e-6)
    assert int(again.iterations) == int(optimizer.iterations)


@pytest.mark.parametrize("name", ["als", "adam", "accumulation", "both"])
def test_an_optimizer_from_a_configuration_has_the_same_one(name: str) -> None:
    optimizer = _wrapped(name)
    config = optimizer.get_config()
    again = type(optimizer).from_config(dict(config))
    assert type(again) is type(optimizer)
    assert again.get_config() == config


def test_a_configuration_without_an_inner_optimizer_is_refused() -> None:
    with pytest.raises(ValueError, match="inner_optimizer_config"):
        optimizers.ALSOptimizer.from_config({"inner_optimizer_type": legacy.SGD})
    with pytest.raises(ValueError, match="inner_optimizer_type"):
        optimizers.ALSOptimizer.from_config({"inner_optimizer_type": dict, "inner_optimizer_config": {}})
