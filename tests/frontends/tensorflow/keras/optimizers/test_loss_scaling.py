"""The loss scaling factor follows the gradients, and updates do not depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from keras.ipu import optimizers
from tensorflow import keras
from tensorflow.python import ipu

legacy = keras.optimizers.legacy
EDGE = 100.0


def _factors(
    overflows: Sequence[bool],
    frequency: int,
    increase: int,
    first: int,
    largest: int,
    accumulate: bool,
) -> list[float]:
    """The rule in plain Python: one element for each step, beyond the edge or below it."""
    factor, step, counts, found = float(first), 0, [0, 0], []
    for overflow in overflows:
        due = frequency == 1 or (step > 0 and step % frequency == 0)
        if accumulate or due:
            counts[overflow] += 1
        if due:
            candidate = factor / increase if counts[1] / max(sum(counts), 1) > 1e-5 else factor * increase
            if 1 <= candidate < largest:
                factor = candidate
            step, counts = 0, [0, 0]
        else:
            step += 1
        found.append(factor)
    return found


@settings(max_examples=25, deadline=None)
@given(
    overflows=st.lists(st.booleans(), min_size=3, max_size=12),
    frequency=st.integers(1, 3),
    increase=st.sampled_from([2, 4]),
    first=st.sampled_from([1, 8]),
    accumulate=st.booleans(),
)
def test_the_factor_follows_the_rule(
    overflows: list[bool], frequency: int, increase: int, first: int, accumulate: bool
) -> None:
    largest = 256
    optimizer = optimizers.ALSOptimizer(
        legacy.SGD(0.0),
        initial_loss_scaling_factor=first,
        update_frequency=frequency,
        increase_factor=increase,
        max_loss_scaling_factor=largest,
        accumulate_statistics_over_update_period=accumulate,
        histogram_bin_edge=EDGE,
    )
    variable = tf.Variable(tf.zeros([1], tf.float16))
    found = []
    for overflow in overflows:
        optimizer.apply_gradients([(tf.constant([2 * EDGE if overflow else 1.0], tf.float16), variable)])
        found.append(float(optimizer.loss_scaling_factor))
    assert found == _factors(overflows, frequency, increase, first, largest, accumulate)


def test_only_gradients_in_half_precision_count_and_captured_ones_with_them() -> None:
    optimizer = optimizers.ALSOptimizer(legacy.SGD(0.0), histogram_bin_edge=EDGE)
    single, half = tf.Variable(tf.zeros([4])), tf.Variable(tf.zeros([2], tf.float16))
    captured = {"layer": [tf.constant([1.0, -500.0], tf.float16)], "other": tf.constant([np.inf], tf.float16)}
    optimizer.apply_gradients([(tf.fill([4], 1e6), single), (tf.ones([2], tf.float16), half)], captured)
    np.testing.assert_array_equal(optimizer.histogram, [3, 2])
    np.testing.assert_allclose(optimizer.normalized_histogram, [0.6, 0.4])
    optimizer.captured_grads_only = True
    np.testing.assert_array_equal(optimizer.histogram, [0, 0])
    optimizer.apply_gradients([(tf.ones([2], tf.float16), half)], captured)
    np.testing.assert_array_equal(optimizer.histogram, [1, 2])


def test_former_counts_are_kept_by_the_low_pass_filter() -> None:
    optimizer = optimizers.ALSOptimizer(legacy.SGD(0.0), lpf_alpha=0.5, histogram_bin_edge=EDGE)
    variable = tf.Variable(tf.zeros([1], tf.float16))
    for expected in (0.5, 1.0, 1.5):
        optimizer.apply_gradients([(tf.ones([1], tf.float16), variable)])
        np.testing.assert_allclose(optimizer.histogram, [expected, 0])


@pytest.mark.parametrize("factor", [1, 64])
@pytest.mark.parametrize("inner", [legacy.SGD, legacy.Adam, legacy.RMSprop, legacy.Adagrad])
def test_updates_are_those_of_the_inner_optimizer(inner: Any, factor: int) -> None:
    results = []
    for wrap in (lambda o: o, lambda o: optimizers.ALSOptimizer(o, factor, update_frequency=2)):
        optimizer, variable = wrap(inner(0.1)), tf.Variable([1.0, -2.0])
        for _ in range(7):
            optimizer.minimize(lambda v=variable: tf.reduce_sum(v**2), [variable])
        results.append(variable.numpy())
        assert int(optimizer.iterations) == 7
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5)


SPECIAL = [
    (optimizers.ALSOptimizerSGD, legacy.SGD, {}),
    (optimizers.ALSOptimizerSGD, legacy.SGD, {"momentum": 0.9}),
    (optimizers.ALSOptimizerAdam, legacy.Adam, {}),
    (optimizers.ALSOptimizerRMSProp, legacy.RMSprop, {}),
    (optimizers.ALSOptimizerRMSProp, legacy.RMSprop, {"momentum": 0.5}),
    (optimizers.ALSOptimizerRMSProp, legacy.RMSprop, {"centered": True}),
    (optimizers.ALSOptimizerRMSProp, legacy.RMSprop, {"centered": True, "momentum": 0.5}),
]


@pytest.mark.parametrize(("mine", "stock", "arguments"), SPECIAL)
def test_updates_with_scaled_state_are_those_of_stock_optimizers(
    mine: Any, stock: Any, arguments: dict[str, Any]
) -> None:
    scaled = mine(
        0.05, **arguments, initial_loss_scaling_factor=2, update_frequency=1, max_loss_scaling_factor=64
    )
    results, seen = [], set()
    for optimizer in (stock(0.05, **arguments), scaled):
        variable = tf.Variable([1.0, -2.0])
        for _ in range(9):
            optimizer.minimize(lambda v=variable: tf.reduce_sum(tf.cos(v) * v), [variable])
            seen.add(float(scaled.loss_scaling_factor))
        results.append(variable.numpy())
    np.testing.assert_allclose(results[1], results[0], rtol=2e-4)
    assert len(seen) > 3  # the scale of the state did change


def test_scaled_state_in_half_precision_keeps_gradients_that_would_vanish() -> None:
    tiny = 2.0**-26  # less than any half precision number
    optimizer = optimizers.ALSOptimizerSGD(2.0**15, initial_loss_scaling_factor=2**12)
    variable = tf.Variable(tf.zeros([1], tf.float16))
    optimizer.apply_gradients([(tf.constant([tiny * 2**12], tf.float16), variable)])
    np.testing.assert_allclose(variable, [-(2.0**-11)])


def test_an_overflow_gives_the_largest_number_as_on_the_device() -> None:
    optimizer = optimizers.ALSOptimizer(legacy.SGD(1.0), initial_loss_scaling_factor=8)
    variable = tf.Variable(tf.zeros([2], tf.float16))
    optimizer.apply_gradients([(tf.constant([np.inf, -np.inf], tf.float16), variable)])
    np.testing.assert_array_equal(variable, [-65504 / 8, 65504 / 8])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"initial_loss_scaling_factor": 5}, "power of two"),
        ({"increase_factor": 3}, "power of two"),
        ({"max_loss_scaling_factor": 12}, "power of two"),
        ({"update_frequency": 0}, "nonzero and positive"),
        ({"ratio_threshold": 1}, "less than one"),
        ({"lpf_alpha": 1.5}, "between zero and one"),
        ({"initial_loss_scaling_factor": 8, "max_loss_scaling_factor": 8}, "less than max"),
        ({"increase_factor": 8, "max_loss_scaling_factor": 8}, "x increase_factor"),
    ],
)
def test_wrong_arguments_are_refused_at_once_and_later(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        optimizers.ALSOptimizer(legacy.SGD(), **arguments)
    optimizer = optimizers.ALSOptimizer(legacy.SGD())
    before = optimizer.get_config()
    if len(arguments) == 1:
        (name, value) = next(iter(arguments.items()))
        with pytest.raises(ValueError, match=text):
            setattr(optimizer, name, value)
        assert optimizer.get_config() == before


def test_a_traced_program_follows_changed_arguments() -> None:
    optimizer = optimizers.ALSOptimizer(legacy.SGD(0.0), update_frequency=100)
    variable = tf.Variable(tf.zeros([1], tf.float16))

    @tf.function
    def step() -> None:
        optimizer.apply_gradients([(tf.ones([1], tf.float16), variable)])

    step()
    step()
    assert float(optimizer.loss_scaling_factor) == 1
    optimizer.update_frequency = 1
    step()
    assert float(optimizer.loss_scaling_factor) == 2
    optimizer.reset()
    assert float(optimizer.loss_scaling_factor) == 1


def test_a_model_in_half_precision_trains_on_the_device() -> None:
    x, y = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32), np.ones((64, 1), np.float32)
    with ipu.ipu_strategy.IPUStrategy().scope():
        model = keras.Sequential([keras.Input((3,), batch_size=8), keras.layers.Dense(1, dtype=tf.float16)])
        optimizer = optimizers.ALSOptimizer(legacy.SGD(0.05), update_frequency=3)
        model.compile(optimizer, "mse", steps_per_execution=4)
        losses = model.fit(x, y, batch_size=8, epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert float(optimizer.loss_scaling_factor) == 2 ** (24 // 4)
