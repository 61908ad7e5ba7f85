"""Optimizers against stock ones and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow import keras
from tensorflow.python import ipu

from ipu_tensorflow_addons.keras import optimizers

legacy = keras.optimizers.legacy


def _trained(optimizer: Any, steps: int = 4, dtype: Any = tf.float32) -> Any:
    variables = [tf.Variable(tf.linspace(-1.0, 2.0, 6)), tf.Variable([[3.0, 0.5]])]
    variables = [tf.Variable(tf.cast(v, dtype)) for v in variables]
    generator = np.random.default_rng(0)
    for _ in range(steps):
        grads = [tf.cast(generator.normal(size=v.shape), dtype) for v in variables]
        optimizer.apply_gradients(zip(grads, variables, strict=True))
    return np.concatenate([v.numpy().ravel() for v in variables])


@settings(max_examples=12, deadline=None)
@given(
    rate=st.floats(1e-3, 0.1),
    momentum=st.sampled_from([0.0, 0.5, 0.9]),
    nesterov=st.booleans(),
    outline=st.booleans(),
)
def test_sgd_equals_that_of_keras(rate: float, momentum: float, nesterov: bool, outline: bool) -> None:
    mine = optimizers.SGDIpuOptimizer(rate, momentum, nesterov, outline_apply_gradients=outline)
    np.testing.assert_allclose(_trained(mine), _trained(legacy.SGD(rate, momentum, nesterov)), rtol=1e-5)


@settings(max_examples=12, deadline=None)
@given(rate=st.floats(1e-3, 0.1), beta_1=st.floats(0.5, 0.95), outline=st.booleans())
def test_adam_equals_that_of_keras(rate: float, beta_1: float, outline: bool) -> None:
    # epsilon is added at another place than in the stock optimizer
    mine = optimizers.AdamIpuOptimizer(rate, beta_1, epsilon=1e-12, outline_apply_gradients=outline)
    np.testing.assert_allclose(_trained(mine), _trained(legacy.Adam(rate, beta_1, epsilon=1e-12)), rtol=1e-4)


def test_a_learning_rate_schedule_counts_updates() -> None:
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    np.testing.assert_allclose(
        _trained(optimizers.SGDIpuOptimizer(schedule)), _trained(legacy.SGD(schedule)), rtol=1e-6
    )


@pytest.mark.parametrize(("clip", "decay"), [(None, 0.0), (0.5, 0.1)])
def test_lamb_scales_the_step_by_the_norm_of_the_weights(clip: float | None, decay: float) -> None:
    start, grad, rate = np.array([3.0, 4.0]), np.array([0.5, -1.0]), 0.1
    variable = tf.Variable(start.astype(np.float32), name="layer/kernel")
    optimizer = optimizers.LAMBIpuOptimizer(
        rate, weight_decay_rate=decay, weight_norm_clip=clip, epsilon=1e-9
    )
    optimizer.apply_gradients([(tf.constant(grad, tf.float32), variable)])
    # after one step without bias the moments are the gradient and its square
    update = np.sign(grad) + decay * start
    norm = min(np.linalg.norm(start), clip or np.inf)
    np.testing.assert_allclose(variable, start - rate * norm / np.linalg.norm(update) * update, rtol=1e-4)


def test_lamb_leaves_out_what_the_expressions_name() -> None:
    start = tf.constant([3.0, 4.0])
    variable = tf.Variable(start, name="layer/bias")
    optimizer = optimizers.LAMBIpuOptimizer(
        0.1,
        weight_decay_rate=0.5,
        exclude_from_weight_decay=["bias"],
        exclude_from_layer_adaptation=["layer/.*"],
    )
    optimizer.apply_gradients([(tf.constant([2.0, -2.0]), variable)])
    np.testing.assert_allclose(variable, start - [0.1, -0.1], rtol=1e-4)


@pytest.mark.parametrize(
    ("make", "slots"),
    [
        (lambda dtype: optimizers.SGDIpuOptimizer(momentum=0.5, momentum_accum_dtype=dtype), ["momentum"]),
        (
            lambda dtype: optimizers.AdamIpuOptimizer(
                amsgrad=True, m_dtype=dtype, v_dtype=dtype, vhat_dtype=dtype
            ),
            ["m", "v", "vhat"],
        ),
        (lambda dtype: optimizers.LAMBIpuOptimizer(m_dtype=dtype, v_dtype=dtype), ["m", "v"]),
    ],
)
def test_state_has_the_chosen_type_and_comes_back_from_a_checkpoint(
    make: Any, slots: list[str], tmp_path: Any
) -> None:
    variable = tf.Variable(tf.ones([3], tf.float16))
    optimizer = make(tf.float32)
    optimizer.apply_gradients([(tf.constant([0.5, 1.0, 2.0], tf.float16), variable)])
    assert {optimizer.get_slot(variable, slot).dtype for slot in slots} == {tf.float32}
    saved = tf.train.Checkpoint(v=variable, optimizer=optimizer).save(str(tmp_path / "state"))
    fresh, other = make(tf.float32), tf.Variable(tf.zeros([3], tf.float16))
    tf.train.Checkpoint(v=other, optimizer=fresh).restore(saved)
    for slot in slots:
        np.testing.assert_array_equal(fresh.get_slot(other, slot), optimizer.get_slot(variable, slot))
    assert fresh.get_slot(other, slots[0]).dtype == tf.float32


def test_half_state_rounds_and_single_state_does_not() -> None:
    arguments = {"learning_rate": 0.1, "optimizer_compute_precisions": (tf.float32,)}
    half = _trained(optimizers.SGDIpuOptimizer(momentum=0.9, momentum_accum_dtype=tf.float16, **arguments))
    single = _trained(optimizers.SGDIpuOptimizer(momentum=0.9, momentum_accum_dtype=tf.float32, **arguments))
    assert 0 < np.abs(half - single).max() < 1e-2


@pytest.mark.parametrize(
    "optimizer",
    [
        optimizers.SGDIpuOptimizer(0.1, 0.9, momentum_accum_dtype="float16"),
        optimizers.AdamIpuOptimizer(m_dtype=tf.float16, debiasing=False, outline_apply_gradients=True),
        optimizers.LAMBIpuOptimizer(exclude_from_weight_decay=["bias"], weight_norm_clip=3.0),
    ],
)
def test_an_optimizer_from_a_configuration_has_the_same_one(optimizer: Any) -> None:
    config = optimizer.get_config()
    assert type(optimizer).from_config(dict(config)).get_config() == config


def test_a_sparse_gradient_is_refused() -> None:
    table = tf.Variable(tf.ones([4, 2]))
    gradient = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([2]), tf.constant([4, 2]))
    for optimizer in (
        optimizers.SGDIpuOptimizer(),
        optimizers.AdamIpuOptimizer(),
        optimizers.LAMBIpuOptimizer(),
    ):
        with pytest.raises(NotImplementedError, match="sparse gradient"):
            optimizer.apply_gradients([(gradient, table)])


def test_lamb_needs_two_precisions() -> None:
    with pytest.raises(ValueError, match="two precisions"):
        optimizers.LAMBIpuOptimizer(optimizer_compute_precisions=(tf.float32,))


def test_a_model_trains_with_them_on_the_device() -> None:
    x, y = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32), np.ones((64, 1), np.float32)
    with ipu.ipu_strategy.IPUStrategy().scope():
        for make in (optimizers.SGDIpuOptimizer, optimizers.AdamIpuOptimizer, optimizers.LAMBIpuOptimizer):
            model = keras.Sequential([keras.Input((3,), batch_size=8), keras.layers.Dense(1)])
            model.compile(make(0.05), "mse", steps_per_execution=4)
            losses = model.fit(x, y, batch_size=8, epochs=3, verbose=0).history["loss"]
            assert losses[-1] < losses[0]
