"""A small program of each kind: what has to work with every supported TensorFlow (`make test-tensorflow-newest`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu


@pytest.fixture(params=[1, 2], ids=["one replica", "two replicas"])
def replicas(request: pytest.FixtureRequest) -> Iterator[int]:
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = request.param
    config.configure_ipu_system()
    yield request.param
    ipu.config.reset_ipu_configuration()


def data(count: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(-1, 1, count * 4, dtype=np.float32).reshape(count, 4)
    return x, x.sum(1, keepdims=True)


def small_model() -> Any:
    ones = tf.keras.initializers.Constant(0.1)
    return tf.keras.Sequential(
        [
            tf.keras.Input((4,)),
            tf.keras.layers.Dense(3, kernel_initializer=ones),
            tf.keras.layers.Dense(1, kernel_initializer=ones),
        ]
    )


def reference(replicas: int, batch: int, steps: int, rate: float) -> list[np.ndarray]:
    """Plain stochastic gradient descent; the gradients of the replicas are summed."""
    x, y = data(replicas * batch * steps)
    model = small_model()
    optimizer = tf.keras.optimizers.SGD(rate)
    for step in range(steps):
        total: list[Any] | None = None
        for replica in range(replicas):
            start = (step * replicas + replica) * batch
            with tf.GradientTape() as tape:
                error = model(x[start : start + batch]) - y[start : start + batch]
                loss = tf.reduce_mean(tf.square(error))
            gradients = tape.gradient(loss, model.trainable_variables)
            total = gradients if total is None else [a + b for a, b in zip(total, gradients, strict=True)]
        optimizer.apply_gradients(zip(total or [], model.trainable_variables, strict=True))
    return model.get_weights()


def test_keras_trains_evaluates_and_predicts(replicas: int) -> None:
    x, y = data(replicas * 2 * 8)
    with ipu.ipu_strategy.IPUStrategy().scope():
        model = small_model()
        model.compile(tf.keras.optimizers.SGD(0.05), "mse", steps_per_execution=4)
        history = model.fit(x, y, batch_size=2, epochs=1, shuffle=False, verbose=0)
        assert np.isfinite(history.history["loss"]).all()
        predicted = model.predict(x, batch_size=2, verbose=0)
        assert np.isfinite(model.evaluate(x, y, batch_size=2, verbose=0))
    for found, expected in zip(model.get_weights(), reference(replicas, 2, 8, 0.05), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(predicted, small_model_output(model.get_weights(), x), rtol=1e-4, atol=1e-5)


def small_model_output(weights: list[np.ndarray], x: np.ndarray) -> np.ndarray:
    first, first_bias, second, second_bias = weights
    return (x @ first + first_bias) @ second + second_bias


def test_a_function_trains_with_a_loop_of_its_own(replicas: int) -> None:
    strategy = ipu.ipu_strategy.IPUStrategy()
    with strategy.scope():
        weight = tf.Variable(0.0)
        results = ipu.ipu_outfeed_queue.IPUOutfeedQueue()
        numbers = tf.data.Dataset.range(100).map(lambda n: tf.cast(n, tf.float32))

        @tf.function
        def train(iterator: Any) -> None:
            for _ in tf.range(3):
                value = next(iterator)
                weight.assign_add(ipu.cross_replica_ops.cross_replica_sum(value))
                results.enqueue(value)

        strategy.run(train, args=(iter(numbers),))
    assert weight.numpy() == sum(range(3 * replicas))
    assert results.dequeue().numpy().ravel().tolist() == list(range(3 * replicas))


def test_a_pipeline_equals_accumulation() -> None:
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 2
    config.configure_ipu_system()
    x, y = data(32)
    try:
        with ipu.ipu_strategy.IPUStrategy().scope():
            model = small_model()
            model.set_pipeline_stage_assignment([0, 1])
            model.set_pipelining_options(
                gradient_accumulation_steps_per_replica=4, gradient_accumulation_reduction_method="sum"
            )
            model.compile(tf.keras.optimizers.SGD(0.05), "mse", steps_per_execution=8)
            model.fit(x, y, batch_size=2, epochs=1, shuffle=False, verbose=0)
            pipelined = model.get_weights()
    finally:
        ipu.config.reset_ipu_configuration()
    # four micro-batches summed are four replicas summed
    for found, expected in zip(pipelined, reference(4, 2, 4, 0.05), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
