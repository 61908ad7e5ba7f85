"""`fit` on the device against formulas in NumPy: replicas add gradients up, accumulation combines them before that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensorflow.python import ipu

BATCH, WIDTH = 2, 3
Rule = Callable[[np.ndarray, np.ndarray, dict[str, Any]], np.ndarray]


def sgd(weights: np.ndarray, gradient: np.ndarray, state: dict[str, Any]) -> np.ndarray:
    return weights - 0.05 * gradient


def momentum(weights: np.ndarray, gradient: np.ndarray, state: dict[str, Any]) -> np.ndarray:
    state["v"] = 0.9 * state.get("v", 0) - 0.05 * gradient
    return weights + state["v"]


def adam(weights: np.ndarray, gradient: np.ndarray, state: dict[str, Any]) -> np.ndarray:
    t = state["t"] = state.get("t", 0) + 1
    state["m"] = 0.9 * state.get("m", 0) + 0.1 * gradient
    state["v"] = 0.999 * state.get("v", 0) + 0.001 * gradient**2
    rate = 0.05 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    return weights - rate * state["m"] / (np.sqrt(state["v"]) + 1e-7)


def new(kind: str, **options: Any) -> Any:
    """An optimizer of today's Keras, which has an argument that the old ones do not have."""
    return getattr(keras.optimizers, kind)(0.05, jit_compile=False, **options)


OPTIMIZERS: dict[str, tuple[Callable[[], Any], Rule]] = {
    "legacy SGD": (lambda: keras.optimizers.legacy.SGD(0.05), sgd),
    "legacy momentum": (lambda: keras.optimizers.legacy.SGD(0.05, momentum=0.9), momentum),
    "legacy Adam": (lambda: keras.optimizers.legacy.Adam(0.05), adam),
    "new SGD": (lambda: new("SGD"), sgd),
    "new momentum": (lambda: new("SGD", momentum=0.9), momentum),
    "new Adam": (lambda: new("Adam"), adam),
    "TensorFlow 1": (lambda: tf.compat.v1.train.GradientDescentOptimizer(0.05), sgd),
}


def samples(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(count)
    x, y, weights = (random.normal(size=shape) for shape in ((count, WIDTH), (count, 1), (WIDTH, 1)))
    return x.astype(np.float32), y.astype(np.float32), weights.astype(np.float32)


def linear_model(weights: np.ndarray) -> Any:
    start = keras.initializers.Constant(weights)
    return keras.Sequential(
        [keras.Input((WIDTH,)), keras.layers.Dense(1, use_bias=False, kernel_initializer=start)]
    )


def combined(gradients: list[np.ndarray], method: str) -> np.ndarray:
    total = np.sum(gradients, axis=0)
    return total if method == "sum" else total / len(gradients)


def trained(
    rule: Rule, updates: int, replicas: int, accumulation: int, method: str, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """The weights and the loss of each replica after one epoch, by formulas in double precision."""
    x, y, weights = (array.astype(np.float64) for array in samples(count))
    state: dict[str, Any] = {}
    losses: list[list[float]] = [[] for _ in range(replicas)]
    number = 0
    for _ in range(updates):
        collected: list[list[np.ndarray]] = [[] for _ in range(replicas)]
        for _ in range(accumulation):
            for replica in range(replicas):
                rows = slice(number * BATCH, (number + 1) * BATCH)
                error = x[rows] @ weights - y[rows]
                losses[replica].append(float(np.mean(error**2)))
                collected[replica].append(2 / BATCH * x[rows].T @ error)
                number += 1
        weights = rule(weights, sum(combined(each, method) for each in collected), state)
    return weights, np.mean(losses, axis=1)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    replicas=st.sampled_from([1, 2, 4]),
    accumulation=st.integers(1, 4),
    updates_per_execution=st.integers(1, 3),
    executions=st.integers(1, 2),
    method=st.sampled_from(["sum", "mean", "running_mean"]),
    optimizer=st.sampled_from(sorted(OPTIMIZERS)),
    from_dataset=st.booleans(),
)
def test_weights_and_losses_are_those_of_the_formulas(
    on_ipus: Any,
    replicas: int,
    accumulation: int,
    updates_per_execution: int,
    executions: int,
    method: str,
    optimizer: str,
    from_dataset: bool,
) -> None:
    make, rule = OPTIMIZERS[optimizer]
    updates = updates_per_execution * executions
    count = BATCH * replicas * accumulation * updates
    x, y, weights = samples(count)
    with on_ipus(replicas).scope():
        model = linear_model(weights)
        model.compile(make(), "mse", steps_per_execution=accumulation * updates_per_execution)
        model.set_gradient_accumulation_options(accumulation, method)
        model.set_replication_options("LIST")
        if from_dataset:
            data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH, drop_remainder=True)
            history = model.fit(data, verbose=0)
        else:
            history = model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0)
        found = model.get_weights()[0]
    expected, losses = trained(rule, updates, replicas, accumulation, method, count)
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(np.ravel(history.history["loss"][0]), losses, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("steps_per_execution", [1, 2, 4, 8])
def test_the_number_of_steps_per_execution_changes_no_number(on_ipus: Any, steps_per_execution: int) -> None:
    x, y, weights = samples(8 * BATCH)
    plain = linear_model(weights)
    plain.compile(keras.optimizers.legacy.Adam(0.05), "mse", metrics=["mae"])
    expected = plain.fit(x, y, batch_size=BATCH, epochs=3, shuffle=False, verbose=0).history
    with on_ipus().scope():
        model = linear_model(weights)
        model.compile(
            keras.optimizers.legacy.Adam(0.05),
            "mse",
            metrics=["mae"],
            steps_per_execution=steps_per_execution,
        )
        found = model.fit(x, y, batch_size=BATCH, epochs=3, shuffle=False, verbose=0).history
    np.testing.assert_allclose(model.get_weights()[0], plain.get_weights()[0], rtol=1e-5)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-5)


def test_shuffled_epochs_take_each_sample_once(on_ipus: Any) -> None:
    seen: list[np.ndarray] = []

    class Keeps(keras.layers.Layer):
        def call(self, inputs: Any) -> Any:
            tf.numpy_function(lambda value: seen.append(value.copy()), [inputs], [])
            return inputs

    with on_ipus().scope():
        model = keras.Sequential([keras.Input((1,)), Keeps(), keras.layers.Dense(1)])
        model.compile("sgd", "mse", steps_per_execution=4)
        x = np.arange(16, dtype=np.float32)[:, np.newaxis]
        model.fit(x, x, batch_size=4, epochs=2, verbose=0)
    epochs = np.reshape(np.concatenate(seen), [2, 16])
    np.testing.assert_array_equal(np.sort(epochs, axis=1), np.tile(x[:, 0], (2, 1)))
    assert (epochs[0] != epochs[1]).any()


def test_training_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(on_ipus: Any, tmp_path: Any) -> None:
    x, y, weights = samples(16 * BATCH)

    def model() -> Any:
        made = linear_model(weights)
        made.compile(keras.optimizers.legacy.Adam(0.05), "mse", steps_per_execution=4)
        made.set_gradient_accumulation_options(2, "mean")
        return made

    options = {"batch_size": BATCH, "shuffle": False, "verbose": 0}
    with on_ipus(2).scope():
        whole = model()
        whole.fit(x, y, epochs=4, **options)
        first = model()
        first.fit(x, y, epochs=2, **options)
        tf.train.Checkpoint(model=first, optimizer=first.optimizer).write(str(tmp_path / "state"))
        second = model()
        second.fit(x, y, epochs=1, **options)
        tf.train.Checkpoint(model=second, optimizer=second.optimizer).read(str(tmp_path / "state"))
        second.fit(x, y, epochs=4, initial_epoch=2, **options)
    assert int(second.optimizer.iterations) == int(whole.optimizer.iterations) == 16
    np.testing.assert_array_equal(second.get_weights()[0], whole.get_weights()[0])


def test_weights_that_the_host_sets_hold_on_all_replicas(on_ipus: Any) -> None:
    x, y, weights = samples(4 * BATCH)
    with on_ipus(2).scope():
        model = linear_model(weights)
        model.compile("sgd", "mse", steps_per_execution=2)
        model.set_replication_options("LIST")
        model.fit(x, y, batch_size=BATCH, verbose=0)
        model.set_weights([np.zeros_like(weights)])
        losses = model.evaluate(x, y, batch_size=BATCH, verbose=0)
    expected = np.mean(np.reshape(y**2, [2, 2, BATCH]), axis=(0, 2))
    np.testing.assert_allclose(losses, expected, rtol=1e-5)


def test_batch_statistics_are_those_of_each_replica(on_ipus: Any) -> None:
    x = np.concatenate([np.full((4, 1), value, np.float32) for value in (2.0, 10.0)])
    with on_ipus(2).scope():
        model = keras.Sequential([keras.Input((1,)), keras.layers.BatchNormalization(momentum=0.0)])
        model.compile("sgd", "mse")
        model.set_replication_options("LIST")
        losses = model.fit(x, x, batch_size=4, verbose=0, shuffle=False).history["loss"][0]
    # each normalises its constant batch to 0; the host sees the moving mean of replica 0
    np.testing.assert_allclose(losses, [4.0, 100.0], rtol=1e-5)
    np.testing.assert_allclose(model.layers[0].moving_mean, [2.0], rtol=1e-5)


def test_dropout_differs_between_replicas(on_ipus: Any) -> None:
    class Ones(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.dropout = keras.layers.Dropout(0.5)

        def call(self, inputs: Any) -> Any:
            return self.dropout(inputs, training=True)

    with on_ipus(2).scope():
        values = Ones().predict(np.ones((2, 64), np.float32), batch_size=1)
    assert (values[0] != values[1]).any()


def test_half_precision_trains_with_a_scaled_loss_as_in_stock_keras(on_ipus: Any) -> None:
    x, y, weights = samples(8 * BATCH)

    def model(**options: Any) -> Any:
        made = linear_model(weights)
        made.compile(keras.optimizers.legacy.SGD(0.05), "mse", **options)
        made.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0, epochs=4)
        return made

    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        plain = model()
        with on_ipus().scope():
            extended = model(steps_per_execution=8)
    finally:
        keras.mixed_precision.set_global_policy("float32")
    assert isinstance(extended.optimizer, keras.mixed_precision.LossScaleOptimizer)
    assert float(extended.optimizer.loss_scale) == float(plain.optimizer.loss_scale)
    np.testing.assert_allclose(extended.get_weights()[0], plain.get_weights()[0], rtol=1e-3)


def test_losses_and_weights_of_samples_and_classes_count(on_ipus: Any) -> None:
    random = np.random.default_rng(3)
    x, labels = random.normal(size=(16, WIDTH)).astype(np.float32), random.integers(0, 2, 16).astype(np.int32)
    sample_weight = random.random(16).astype(np.float32)

    def model() -> Any:
        inputs = keras.Input((WIDTH,))
        hidden = keras.layers.Dense(4, kernel_initializer="ones", kernel_regularizer="l2")(inputs)
        outputs = keras.layers.Dense(2, kernel_initializer="zeros", activation="softmax")(hidden)
        made = keras.Model(inputs, outputs)
        made.add_loss(tf.reduce_mean(outputs**2))
        made.compile(keras.optimizers.legacy.SGD(0.1), "sparse_categorical_crossentropy")
        return made

    options = {"batch_size": 4, "shuffle": False, "verbose": 0, "class_weight": {0: 0.5, 1: 3.0}}
    plain = model()
    expected = plain.fit(x, labels, sample_weight=sample_weight, **options).history["loss"]
    with on_ipus().scope():
        extended = model()
        found = extended.fit(x, labels, sample_weight=sample_weight, **options).history["loss"]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    for one, other in zip(extended.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["sum", "mean", "running_mean"])
def test_sparse_gradients_are_accumulated_like_dense_ones(on_ipus: Any, method: str) -> None:
    random = np.random.default_rng(5)
    words = random.integers(0, 6, (16, 4)).astype(np.int32)
    y = random.normal(size=(16, 1)).astype(np.float32)
    table = random.normal(size=(6, 2)).astype(np.float32)

    def model(dense: bool) -> Any:
        inputs = keras.Input((4,), dtype="int32")
        if dense:
            start = keras.initializers.Constant(table)
            found = keras.layers.Dense(2, use_bias=False, kernel_initializer=start)(tf.one_hot(inputs, 6))
        else:
            found = keras.layers.Embedding(6, 2, embeddings_initializer=keras.initializers.Constant(table))(
                inputs
            )
        made = keras.Model(inputs, tf.reduce_sum(found, axis=[1, 2], keepdims=True)[:, 0])
        made.compile(keras.optimizers.legacy.Adam(0.1), "mse", steps_per_execution=4)
        made.set_gradient_accumulation_options(2, method)
        made.fit(words, y, batch_size=2, shuffle=False, verbose=0)
        return made.get_weights()[0]

    with on_ipus(2).scope():
        np.testing.assert_allclose(model(dense=False), model(dense=True), rtol=1e-4)


def test_a_model_outside_of_a_scope_is_stock(on_ipus: Any) -> None:
    on_ipus()
    assert not hasattr(linear_model(np.zeros((WIDTH, 1), np.float32)), "set_replication_options")
    assert ipu.__name__ == "tensorflow.python.ipu"
