"""One step of a Keras model on the device, as it is traced: forward, loss, gradients, update.

Gradients are added up over the replicas by the strategy when the optimizer applies them, as for any `tf.distribute`
strategy. With accumulation, this happens once per update, for the accumulated gradients.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.gradient_capture import GradientCaptureContext
from tremula.frontends.tensorflow.keras import pipeline_run
from tremula.frontends.tensorflow.keras.user_errors import at_line
from tremula.frontends.tensorflow.legacy.labels import expand_1d
from tremula.frontends.tensorflow.pipeline import accumulate, facts
from tremula.frontends.tensorflow.pipeline.enums import GradientAccumulationReductionMethod as Method
from tremula.frontends.tensorflow.stock_keras import NAME, internal, keras

_data_adapter = internal("engine.data_adapter")
_TFOptimizer = internal("optimizers.optimizer_v1").TFOptimizer
Batch = tuple[Any, Any, Any]


def unpacked(data: Any) -> Batch:
    """Inputs, targets and weights of a batch. Vectors become columns, as in Keras 2.6."""
    x, y, sample_weight = _data_adapter.unpack_x_y_sample_weight(expand_1d(data))
    return x, y, sample_weight


def forward(model: Any, x: Any, training: bool) -> Any:
    """The outputs of the model; stage by stage if it is pipelined."""
    if model._is_pipelined():
        given, expected = len(tf.nest.flatten(x)), len(tf.nest.flatten(model._pipeline_network().inputs))
        if given != expected:
            raise ValueError(
                at_line(
                    f"Layer {model.name} expects {expected} input(s), but it received {given} input tensors. Inputs "
                    f"received: {x}"
                )
            )
        return pipeline_run.call_in_stages(model, x, training)
    return model(x, training=training)


def train(model: Any, data: Any, *, shown: bool = True) -> Any:
    """Train on one batch and give the metrics of the model; nothing if they are not `shown` after this step."""
    x, y, sample_weight = unpacked(data)
    optimizer = model.optimizer
    with GradientCaptureContext() as capture:
        tape, loss, outputs = _loss(model, (x, y, sample_weight))
        pairs = gradients(optimizer, loss, model.trainable_variables, tape)
        captured = capture.captured_gradients
        if captured and takes_captured_gradients(optimizer):
            optimizer.apply_gradients(pairs, captured_grads=captured)
        else:
            optimizer.apply_gradients(pairs)
    return _metrics(model, (x, y, sample_weight), outputs, shown)


def train_accumulated(model: Any, batch: Callable[[Any], Any], first: Any, count: int, results: Any) -> Any:
    """Train on `count` batches, with one update at the end.

    Args:
        model: the model.
        batch: gives the batch of a step.
        first: the number of the first step.
        count: how many batches there are.
        results: where results of the steps go (`Results`).
    """
    accumulation = Accumulation(model, count)
    held = pipeline_run.held_state(model, lambda: test(model, batch(first)), training=True)
    values = [tf.identity(variable) for variable in held]

    def step(number: Any, totals: Any, carried: Any) -> tuple[Any, ...]:
        x, y, sample_weight = unpacked(batch(first + number))
        with GradientCaptureContext() as capture, pipeline_run.held(held, values) if held else nullcontext():
            tape, loss, outputs = _loss(model, (x, y, sample_weight))
            totals = accumulation.add(totals, number, loss, tape, capture)
        metrics = _metrics(model, (x, y, sample_weight), outputs, results.of_each_step)
        return number + 1, totals, results.after(carried, metrics, number)

    _, totals, carried = tf.while_loop(
        lambda number, *_: number < count,
        step,
        [tf.constant(0), accumulation.start(), results.start()],
        parallel_iterations=1,
    )
    accumulation.apply(totals)
    return carried


class Accumulation:
    """The gradients of several batches until an update: loop variables, no weights of anything.

    Args:
        model: the model that is trained.
        count: the batches per update.
    """

    def __init__(self, model: Any, count: int) -> None:
        self._model, self._count = model, count
        self._optimizer = model.optimizer
        self._variables = model.trainable_variables
        self._method = model._gradient_accumulation_reduction_method
        self._unused: set[int] = set()
        self._captured: Any = None

    def start(self) -> list[Any]:
        """The accumulators before the first batch."""
        return [tf.zeros(variable.shape, self._dtype(variable)) for variable in self._variables]

    def add(self, totals: list[Any], number: Any, loss: Any, tape: Any, capture: Any) -> list[Any]:
        """The accumulators after batch `number`."""
        pairs = gradients(self._optimizer, loss, self._variables, tape)
        if self._model._is_pipelined():
            pipeline_run.mark_backward_pass()
        captured = capture.captured_gradients
        found = {variable.ref(): gradient for gradient, variable in pairs}
        current = [found.get(variable.ref()) for variable in self._variables]
        if hasattr(self._optimizer, "_observe"):
            # automatic loss scaling counts the gradients of each batch
            current = [accumulate.dense(gradient) for gradient in current]
            observed = self._optimizer._observe(current, captured)
            with tf.control_dependencies([observed]):
                current = self._optimizer._unscaled_gradients(current)
        after = []
        for index, (total, gradient) in enumerate(zip(totals, current, strict=True)):
            if gradient is None:
                self._unused.add(index)
                after.append(total)
            else:
                after.append(self._combined(total, gradient, number))
        return after

    def _combined(self, total: Any, gradient: Any, number: Any) -> Any:
        """An accumulator after one more gradient; only the rows that a sparse one has are touched."""
        if isinstance(gradient, tf.IndexedSlices) and self._method is not Method.RUNNING_MEAN:
            with facts.marked(facts.ACCUMULATE):
                rows = accumulate.scaled(gradient.values, self._method, number, self._count, total.dtype)
                return tf.tensor_scatter_nd_add(total, gradient.indices[:, tf.newaxis], rows)
        return accumulate.combined(total, accumulate.dense(gradient), self._method, number, self._count)

    def apply(self, totals: list[Any]) -> None:
        """Update the variables."""
        # a program's own `apply_gradients` gets the accumulators as they are
        takes_any_type = hasattr(self._optimizer, "opt_dtypes") or _applies_itself(self._optimizer)
        pairs = [
            (total if takes_any_type else tf.cast(total, variable.dtype), variable)
            for index, (total, variable) in enumerate(zip(totals, self._variables, strict=True))
            if index not in self._unused
        ]
        if hasattr(self._optimizer, "_apply_unscaled"):
            self._optimizer._apply_unscaled(pairs)
        else:
            self._optimizer.apply_gradients(pairs)

    def _dtype(self, variable: Any) -> Any:
        if self._model._is_pipelined():
            return pipeline_run.accumulator_dtype(self._model, variable)
        override = self._model._gradient_accumulation_optimizer_kwargs.get("dtype")
        return accumulate.accumulator_dtype(variable, override)


def _applies_itself(optimizer: Any) -> bool:
    owner = next(cls for cls in type(optimizer).__mro__ if "apply_gradients" in vars(cls))
    return not owner.__module__.startswith((f"{NAME}.", "tremula.", "tensorflow."))


def gradients(optimizer: Any, loss: Any, variables: list[Any], tape: Any) -> list[tuple[Any, Any]]:
    """Gradients and their variables, as an optimizer of any generation takes them (loss scaling included).

    Raises:
        ValueError: a trainable variable has no part in the loss.
    """
    for name in ("compute_gradients", "_compute_gradients"):
        compute = getattr(optimizer, name, None)
        if compute is not None and "tape" in inspect.signature(compute).parameters:
            pairs = list(compute(loss, variables, tape=tape))
            break
    else:
        pairs = list(zip(tape.gradient(loss, variables), variables, strict=True))
    if not isinstance(optimizer, _TFOptimizer):
        for gradient, variable in pairs:
            if gradient is None:
                raise ValueError(
                    at_line(
                        f"The variable {variable.name} has `None` for gradient: the loss does not depend on it. Set "
                        f"`trainable=False` for its layer, or remove the variable."
                    )
                )
    return pairs


def takes_captured_gradients(optimizer: Any) -> bool:
    """Whether an optimizer wants the gradients that layers captured."""
    if hasattr(optimizer, "supports_captured_grads"):
        return bool(optimizer.supports_captured_grads)
    return "captured_grads" in inspect.signature(optimizer.apply_gradients).parameters


def _loss(model: Any, batch: Batch) -> tuple[Any, Any, Any]:
    x, y, sample_weight = batch
    with tf.GradientTape() as tape:
        outputs = forward(model, x, training=True)
        loss = model.compute_loss(x, y, outputs, sample_weight)
    if loss is None or not model.losses:
        model._validate_target_and_loss(y, loss)
    return tape, loss, outputs


def _metrics(model: Any, batch: Batch, outputs: Any, shown: bool) -> Any:
    x, y, sample_weight = batch
    if shown or type(model).compute_metrics is not keras.Model.compute_metrics:
        return model.compute_metrics(x, y, outputs, sample_weight)
    # Keras' own method without its results: to read the variables of metrics takes time in each step
    model.compiled_metrics.update_state(y, outputs, sample_weight)
    return {}


def test(model: Any, data: Any) -> Any:
    """Evaluate one batch and give the metrics of the model."""
    if not model._is_pipelined():
        return model.test_step(expand_1d(data))
    x, y, sample_weight = unpacked(data)
    outputs = forward(model, x, training=False)
    model.compute_loss(x, y, outputs, sample_weight)
    return model.compute_metrics(x, y, outputs, sample_weight)


def predict(model: Any, data: Any) -> Any:
    """The outputs for one batch."""
    if not model._is_pipelined():
        return model.predict_step(expand_1d(data))
    return forward(model, unpacked(data)[0], training=False)
