"""Pipelined Keras models on the device: the numbers of gradient accumulation, stage by stage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensorflow.python import ipu

from tremula.frontends.tensorflow import sharding
from tremula.frontends.tensorflow.keras import pipeline_run

from keras.ipu import PipelineStage  # isort: skip

LEARNING_RATE = 0.05


def configure(ipus: int) -> None:
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = ipus
    config.configure_ipu_system()


@pytest.fixture(autouse=True)
def scope() -> Iterator[None]:
    configure(2)
    with ipu.ipu_strategy.IPUStrategy().scope():
        yield
    ipu.config.reset_ipu_configuration()


def data(samples: int = 24, width: int = 3) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    return random.normal(size=(samples, width)).astype(np.float32), random.normal(size=(samples, 1)).astype(
        np.float32
    )


FIRST = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
SECOND = np.linspace(0.5, -0.5, 4, dtype=np.float32).reshape(4, 1)


def layer(values: np.ndarray, **options: Any) -> Any:
    start = keras.initializers.Constant(values)
    return keras.layers.Dense(values.shape[1], use_bias=False, kernel_initializer=start, **options)


def functional() -> Any:
    inputs = keras.Input(3)
    with PipelineStage(0):
        x = layer(FIRST)(inputs)
    with PipelineStage(1):
        x = layer(SECOND)(x)
    return keras.Model(inputs, x)


def sequential() -> Any:
    model = keras.Sequential([layer(FIRST), layer(SECOND)])
    model.set_pipeline_stage_assignment([0, 1])
    return model


class Subclassed(keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = layer(FIRST), layer(SECOND)

    def call(self, inputs: Any) -> Any:
        with PipelineStage(0):
            x = self.first(inputs)
        with PipelineStage(1):
            return self.second(x)


def nested() -> Any:
    inner_inputs, inputs = keras.Input(4), keras.Input(3)
    inner = keras.Model(inner_inputs, layer(SECOND)(inner_inputs))
    model = keras.Model(inputs, inner(layer(FIRST)(inputs)))
    assignments = model.get_pipeline_stage_assignment()
    assignments[0].pipeline_stage = 0
    assignments[1].pipeline_stage_assignments[0].pipeline_stage = 1
    model.set_pipeline_stage_assignment(assignments)
    return model


MODELS = (functional, sequential, Subclassed, nested)


def reference(
    x: np.ndarray, y: np.ndarray, batch: int, count: int, replicas: int = 1, method: str = "sum"
) -> tuple[list[np.ndarray], list[list[float]]]:
    """Stochastic gradient descent in NumPy: the weights, and the losses of the micro-batches of each update."""
    first, second = FIRST.astype(np.float64), SECOND.astype(np.float64)
    losses = []
    for start in range(0, len(x), batch * count * replicas):
        totals = [np.zeros_like(first), np.zeros_like(second)]
        losses.append([])
        for n in range(count * replicas):
            part = slice(start + n * batch, start + (n + 1) * batch)
            hidden = x[part] @ first
            error = hidden @ second - y[part]
            losses[-1].append(float(np.mean(error**2)))
            outer = 2 * error / error.size
            totals[0] += x[part].T @ (outer @ second.T)
            totals[1] += hidden.T @ outer
        scale = LEARNING_RATE / (1 if method == "sum" else count)
        first -= scale * totals[0]
        second -= scale * totals[1]
    return [first, second], losses


def trained(model: Any, x: Any, y: Any, batch: int, steps: int, **options: Any) -> Any:
    model.compile(keras.optimizers.SGD(LEARNING_RATE), "mse", steps_per_execution=steps)
    return model.fit(x, y, batch_size=batch, shuffle=False, verbose=0, **options)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("method", ["sum", "mean", "running_mean"])
def test_training_is_gradient_descent_on_accumulated_gradients(make: Any, method: str) -> None:
    x, y = data()
    model = make()
    model.set_pipelining_options(4, gradient_accumulation_reduction_method=method)
    trained(model, x, y, batch=2, steps=12)
    for found, expected in zip(model.weights, reference(x, y, 2, 4, method=method)[0], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("make", MODELS)
def test_replicas_add_their_gradients(make: Any) -> None:
    configure(4)
    x, y = data()
    model = make()
    model.set_pipelining_options(3)
    trained(model, x, y, batch=2, steps=6)
    for found, expected in zip(model.weights, reference(x, y, 2, 3, replicas=2)[0], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@given(
    count=st.sampled_from([1, 2, 3, 6]),
    batch=st.sampled_from([1, 2]),
    updates=st.sampled_from([1, 2]),
    method=st.sampled_from(["sum", "mean"]),
)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pipelining_changes_nothing_about_accumulation(
    count: int, batch: int, updates: int, method: str
) -> None:
    x, y = data(24)
    steps = count * updates
    plain = keras.Sequential([layer(FIRST), layer(SECOND)])
    plain.set_gradient_accumulation_options(count, gradient_accumulation_reduction_method=method)
    configure(1)
    trained(plain, x, y, batch=batch, steps=steps)
    configure(2)
    piped = sequential()
    piped.set_pipelining_options(count, gradient_accumulation_reduction_method=method)
    trained(piped, x, y, batch=batch, steps=steps)
    for one, other in zip(plain.weights, piped.weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("make", MODELS)
def test_predictions_are_those_of_the_model(make: Any) -> None:
    x, _ = data()
    model = make()
    model.compile(steps_per_execution=6)
    np.testing.assert_allclose(
        model.predict(x, batch_size=2, verbose=0), x @ FIRST @ SECOND, rtol=1e-4, atol=1e-6
    )


def test_metrics_of_training_are_the_mean_over_the_last_micro_batches_of_updates() -> None:
    x, y = data()
    model = functional()
    model.set_pipelining_options(4)
    found = trained(model, x, y, batch=2, steps=12).history["loss"]
    _, losses = reference(x, y, 2, 4)
    np.testing.assert_allclose(found, [np.mean([update[-1] for update in losses])], rtol=1e-4)


def test_accumulated_metrics_of_training_count_all_micro_batches_of_an_update() -> None:
    x, y = data(8)
    model = functional()
    model.set_pipelining_options(4, accumulate_outfeed=True)
    found = trained(model, x, y, batch=2, steps=4).history["loss"]
    np.testing.assert_allclose(found, [np.mean(reference(x, y, 2, 4)[1][0])], rtol=1e-4)


@pytest.mark.parametrize("accumulate", [False, True])
def test_metrics_of_evaluation_are_of_the_last_step_or_accumulated(accumulate: bool) -> None:
    x, y = data(12)
    model = functional()
    model.set_pipelining_options(accumulate_outfeed=accumulate)
    model.compile(loss="mse", steps_per_execution=6)
    losses = np.mean((x @ FIRST @ SECOND - y).reshape(6, 2) ** 2, axis=1)
    expected = np.mean(losses) if accumulate else losses[-1]
    np.testing.assert_allclose(model.evaluate(x, y, batch_size=2, verbose=0), expected, rtol=1e-4)


def test_accumulators_have_the_type_that_was_asked_for() -> None:
    seen = []

    class Watching(keras.optimizers.legacy.SGD):  # type: ignore[misc]
        def apply_gradients(self, grads_and_vars: Any, **options: Any) -> Any:
            pairs = list(grads_and_vars)
            seen.extend(gradient.dtype for gradient, _ in pairs)
            return super().apply_gradients([(tf.cast(g, v.dtype), v) for g, v in pairs], **options)

    x, y = data(8)
    model = keras.Sequential([layer(FIRST, dtype="float16"), layer(SECOND, dtype="float16")])
    model.set_pipeline_stage_assignment([0, 1])
    model.set_pipelining_options(4, gradient_accumulation_dtype=lambda variable: tf.float32)
    model.compile(Watching(LEARNING_RATE), "mse", steps_per_execution=4)
    model.fit(x, y, batch_size=2, verbose=0)
    assert set(seen) == {tf.float32}


@pytest.mark.parametrize("train", [True, False])
def test_metrics_are_accumulated_in_the_type_that_was_asked_for(train: bool) -> None:
    def half_for_the_first(output: Any) -> Any:
        # the loss comes before the metrics in training
        return tf.float16 if output.name == f"PipelineStage:{int(train)}" else output.dtype

    x, y = data(4)
    model = functional()
    model.set_pipelining_options(2, accumulate_outfeed=True, accumulate_outfeed_dtype=half_for_the_first)
    model.compile(keras.optimizers.SGD(0.0), "mse", metrics=["mae"], steps_per_execution=2)
    # the square of 1000 is too much for half precision
    run = model.fit if train else model.evaluate
    run(x, y + 1000, batch_size=2, verbose=0)
    found = (
        model.history.history
        if train
        else model.evaluate(x, y + 1000, batch_size=2, verbose=0, return_dict=True)
    )
    assert np.all(np.isinf(found["loss"]))
    np.testing.assert_allclose(np.ravel(found["mae"]), [1000], rtol=1e-2)


def test_batch_normalisation_keeps_the_last_micro_batch_and_warns(capfd: pytest.CaptureFixture[str]) -> None:
    inputs = keras.Input(3)
    with PipelineStage(0):
        x = keras.layers.BatchNormalization(momentum=0.5)(inputs)
    with PipelineStage(1):
        x = layer(FIRST)(x)
    model = keras.Model(inputs, x)
    model.set_pipelining_options(4)
    values, _ = data(8)
    trained(model, values, np.zeros((8, 4), np.float32), batch=2, steps=4)
    moving_mean = model.layers[1].moving_mean
    np.testing.assert_allclose(moving_mean, 0.5 * values[-2:].mean(0), rtol=1e-5)


def test_layers_know_whether_they_are_trained() -> None:
    seen = []

    class Watching(keras.layers.Layer):  # type: ignore[misc]
        def call(self, inputs: Any, training: Any = None) -> Any:
            seen.append(training)
            return inputs

    model = keras.Sequential([layer(FIRST), Watching(), layer(SECOND)])
    model.set_pipeline_stage_assignment([0, 0, 1])
    model.set_pipelining_options(4)
    x, y = data(8)
    trained(model, x, y, batch=2, steps=4)
    assert True in seen
    seen.clear()
    model.predict(x, batch_size=2, verbose=0)
    assert True not in seen


def test_masks_pass_from_stage_to_stage() -> None:
    inputs = keras.Input(3)
    with PipelineStage(0):
        x = keras.layers.Embedding(5, 4, mask_zero=True)(inputs)
    with PipelineStage(1):
        x = keras.layers.LSTM(2)(x)
    model = keras.Model(inputs, x)
    values = np.array([[1, 2, 0], [3, 0, 0], [1, 1, 1], [2, 4, 3]], np.int32)
    model.compile(steps_per_execution=2)
    np.testing.assert_allclose(model.predict(values, batch_size=2, verbose=0), model(values), rtol=1e-5)


def test_losses_of_layers_count() -> None:
    model = keras.Sequential([layer(FIRST, kernel_regularizer=keras.regularizers.L2(0.5)), layer(SECOND)])
    model.set_pipeline_stage_assignment([0, 1])
    model.compile(loss="mse", steps_per_execution=2)
    x, y = data(4)
    found = model.evaluate(x, y, batch_size=2, verbose=0)
    last = np.mean((x[2:] @ FIRST @ SECOND - y[2:]) ** 2)
    np.testing.assert_allclose(found, last + 0.5 * np.sum(FIRST**2), rtol=1e-4)


def test_traced_ops_carry_their_stage_and_ipu() -> None:
    model = functional()
    model.set_pipelining_options(device_mapping=[1, 0])

    @tf.function
    def gradients(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(pipeline_run.call_in_stages(model, x, training=True))
        found = tape.gradient(loss, model.trainable_variables)
        pipeline_run.mark_backward_pass()
        return found

    graph = gradients.get_concrete_function(tf.TensorSpec([2, 3])).graph
    found = [
        (op.get_attr("_tremula_pass"), op.get_attr("_tremula_stage"), *sharding.get_sharding(op))
        for op in graph.get_operations()
        if op.type == "MatMul"
    ]
    # forward, then the gradients of both arguments of the second product, and of the weights of the first
    second, first = (b"backward", 1, 0), (b"backward", 0, 1)
    assert found == [(b"forward", 0, 1), (b"forward", 1, 0), second, second, first]


# errors


def test_training_needs_the_number_of_micro_batches() -> None:
    x, y = data()
    with pytest.raises(ValueError, match="`gradient_accumulation_steps_per_replica` has not been set"):
        trained(functional(), x, y, batch=2, steps=12)


def test_an_execution_is_a_whole_number_of_updates() -> None:
    x, y = data()
    model = functional()
    model.set_pipelining_options(5)
    with pytest.raises(RuntimeError, match=r"pipelined model .*set to 12\) is not divisible by .*\(5\)"):
        trained(model, x, y, batch=2, steps=12)
    np.testing.assert_array_equal(model.weights[0], FIRST)


def test_stages_on_several_ipus_do_not_share_weights() -> None:
    inputs, shared = keras.Input(3), keras.layers.Dense(3)
    with PipelineStage(0):
        x = shared(inputs)
    with PipelineStage(1):
        x = shared(x)
    model = keras.Model(inputs, x)
    model.compile(steps_per_execution=2)
    with pytest.raises(ValueError, match="can only be used by pipeline stages on the same IPU"):
        model.predict(data(4)[0], batch_size=2, verbose=0)
    model.set_pipelining_options(device_mapping=[0, 0])
    assert model.predict(data(4)[0], batch_size=2, verbose=0).shape == (4, 3)


def test_each_stage_has_an_ipu() -> None:
    model = functional()
    model.set_pipelining_options(device_mapping=[0])
    model.compile(steps_per_execution=2)
    with pytest.raises(ValueError, match="Each stage must be mapped to an IPU"):
        model.predict(data(4)[0], batch_size=2, verbose=0)


def test_stages_have_no_gaps() -> None:
    model = keras.Sequential([keras.Input(3), layer(FIRST), layer(SECOND)])
    inner = keras.Model(model.inputs, model.outputs)
    assignments = inner.get_pipeline_stage_assignment()
    assignments[0].pipeline_stage, assignments[1].pipeline_stage = 0, 2
    inner.set_pipeline_stage_assignment(assignments)
    inner.set_pipelining_options(device_mapping=[0, 0, 1])
    inner.compile(steps_per_execution=2)
    with pytest.raises(RuntimeError, match=r"preceeding stages \[1\] had no assignments"):
        inner.predict(data(4)[0], batch_size=2, verbose=0)


def test_a_changed_sequential_model_has_to_be_assigned_again() -> None:
    model = sequential()
    model.add(keras.layers.Dense(1))
    model.compile(steps_per_execution=2)
    with pytest.raises(RuntimeError, match="added or removed"):
        model.predict(data(4)[0], batch_size=2, verbose=0)


def test_too_few_ipus_are_named() -> None:
    configure(1)
    model = functional()
    model.compile(steps_per_execution=2)
    with pytest.raises(ValueError, match=r"has 1 IPUs attached.*multiple of 2"):
        model.predict(data(4)[0], batch_size=2, verbose=0)


def test_a_functional_model_with_its_own_call_is_not_pipelined() -> None:
    class Own(keras.Model):  # type: ignore[misc]
        def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
            return super().call(inputs, training, mask)

    inputs = keras.Input(3)
    with PipelineStage(0):
        x = layer(FIRST)(inputs)
    model = Own(inputs, x)
    model.compile(steps_per_execution=2)
    with pytest.raises(RuntimeError, match=r"`call` .* has been overridden"):
        model.predict(data(4)[0], batch_size=2, verbose=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recomputation_mod": None}, "did you mean `recomputation_mode`"),
        ({"pipeline_schedule": "Grouped"}, "`pipeline_schedule` is a PipelineSchedule"),
    ],
)
def test_unknown_options_of_pipelines_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        functional().set_pipelining_options(**options)
