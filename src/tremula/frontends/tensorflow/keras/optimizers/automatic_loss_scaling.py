"""An optimizer that scales the loss and finds the factor by itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.keras.optimizers import loss_scale
from tremula.frontends.tensorflow.keras.optimizers.als_settings import ALSDefaults, check, read_only, setting
from tremula.frontends.tensorflow.keras.optimizers.wrapper import OptimizerWrapper
from tremula.frontends.tensorflow.ops import histograms
from tremula.frontends.tensorflow.stock_keras import keras


class ALSOptimizer(OptimizerWrapper):
    """Scales the loss before gradients are computed and divides gradients by the same factor before they are applied.

    The factor follows statistics of the gradients that are in half precision; `loss_scale.py` has the rule.

    Args:
        opt: the optimizer that applies the gradients.
        initial_loss_scaling_factor: the factor at the beginning, a power of two.
        update_frequency: after how many steps the factor may change.
        increase_factor: what the factor is multiplied or divided by, a power of two.
        max_loss_scaling_factor: the factor stays below it, a power of two.
        accumulate_statistics_over_update_period: count gradients of all steps, not only of the one where the factor may
            change.
        ratio_threshold: the part of overflowed gradients from which on the factor decreases, between 0 and 1.
        captured_grads_only: count only gradients that layers captured.
        lpf_alpha: how much of the former statistics is kept in each step, from 0 to 1.
        histogram_bin_edge: the magnitude from which on a gradient counts as overflowed.
        name: the name of the optimizer.

    Raises:
        ValueError: an argument is out of its range.
    """

    def __init__(
        self,
        opt: Any,
        initial_loss_scaling_factor: float = ALSDefaults.initial_loss_scaling_factor,
        update_frequency: int = ALSDefaults.update_frequency,
        increase_factor: float = ALSDefaults.increase_factor,
        max_loss_scaling_factor: float = ALSDefaults.max_loss_scaling_factor,
        accumulate_statistics_over_update_period: bool = ALSDefaults.accumulate_statistics_over_update_period,
        ratio_threshold: float = ALSDefaults.ratio_threshold,
        captured_grads_only: bool = ALSDefaults.captured_grads_only,
        lpf_alpha: float = ALSDefaults.lpf_alpha,
        histogram_bin_edge: float = ALSDefaults.histogram_bin_edge,
        name: str = "ALSOptimizer",
    ) -> None:
        super().__init__(opt, name)
        values = {
            "initial_loss_scaling_factor": initial_loss_scaling_factor,
            "update_frequency": update_frequency,
            "increase_factor": increase_factor,
            "max_loss_scaling_factor": max_loss_scaling_factor,
            "accumulate_statistics_over_update_period": accumulate_statistics_over_update_period,
            "ratio_threshold": ratio_threshold,
            "captured_grads_only": captured_grads_only,
            "lpf_alpha": lpf_alpha,
            "histogram_bin_edge": histogram_bin_edge,
        }
        check(values)
        self._settings = values
        self._rule = loss_scale.Rule(
            update_frequency=_variable(update_frequency, tf.int32),
            increase_factor=_variable(increase_factor, tf.float32),
            max_loss_scaling_factor=_variable(max_loss_scaling_factor, tf.float32),
            accumulate=_variable(accumulate_statistics_over_update_period, tf.bool),
            ratio_threshold=_variable(ratio_threshold, tf.float32),
            captured_grads_only=_variable(captured_grads_only, tf.bool),
            lpf_alpha=_variable(lpf_alpha, tf.float32),
            histogram_bin_edge=_variable(histogram_bin_edge, tf.float32),
        )
        start = keras.initializers.Constant(initial_loss_scaling_factor)
        self._hist = self._add_state("gradient_histogram", "zeros", shape=[2])
        self._n = self._add_state("lsf_update_counter", "zeros", dtype=tf.int32)
        self._lsf = self._add_state("loss_scaling_factor", start)
        self._prev_lsf = self._add_state("prev_loss_scaling_factor", start)

    def _add_state(self, name: str, initializer: Any, shape: Any = (), dtype: Any = tf.float32) -> Any:
        return self.add_weight(name, shape=shape, dtype=dtype, initializer=initializer, trainable=False)

    # what a step does

    def get_scaled_loss(self, loss: Any) -> Any:
        """The loss times the factor."""
        return tf.cast(self._lsf, loss.dtype) * loss

    def _transform_loss(self, loss: Any) -> Any:
        return super()._transform_loss(self.get_scaled_loss(loss))

    def get_gradients(self, loss: Any, params: Any) -> Any:
        """The gradients of the scaled loss, in graphs."""
        return super().get_gradients(self.get_scaled_loss(loss), params)

    def _unscaled_gradients(self, grads: Iterable[Any]) -> list[Any]:
        """Gradients divided by the factor. An overflow in half precision is the largest number, as on the device."""
        return [None if grad is None else self._unscaled(loss_scale.saturated(grad)) for grad in grads]

    def _unscaled(self, grad: Any) -> Any:
        return loss_scale.mapped(lambda values: values / tf.cast(self._lsf, values.dtype), grad)

    def _observe(self, grads: Iterable[Any], captured_grads: Any = None) -> Any:
        """Count the gradients of a step, or of a part of it."""
        present = [grad for grad in grads if grad is not None]
        captured = tf.nest.flatten(dict(captured_grads)) if captured_grads else []
        return self._hist.assign(self._rule.counted(self._hist, self._n, present, captured))

    def _update_factor(self) -> Any:
        """End a step: change the factor and begin a new period if that is due."""
        due = self._rule.due(self._n)
        histogram, factor = tf.convert_to_tensor(self._hist), tf.convert_to_tensor(self._lsf)
        changed = tf.where(due, self._rule.changed(factor, histogram), factor)
        previous = tf.where(tf.equal(changed, factor), self._prev_lsf, factor)
        step = tf.where(due, 0, self._n + 1)
        return tf.group(
            self._lsf.assign(changed),
            self._prev_lsf.assign(previous),
            self._n.assign(step),
            self._hist.assign(tf.where(due, tf.zeros_like(histogram), histogram)),
        )

    def _apply_unscaled(self, grads_and_vars: Any, **kwargs: Any) -> Any:
        """Update variables with gradients that `_unscaled_gradients` gave, then the factor."""
        applied = self._opt.apply_gradients(grads_and_vars, **kwargs)
        with tf.control_dependencies([] if tf.executing_eagerly() else [applied]):
            return self._update_factor()

    def apply_gradients(  # type: ignore[override]
        self,
        grads_and_vars: Any,
        captured_grads: Any = None,
        global_step: Any = None,
        name: str | None = None,
        experimental_aggregate_gradients: bool = True,
    ) -> Any:
        """Update variables and the factor.

        Args:
            grads_and_vars: gradients of the scaled loss and their variables.
            captured_grads: gradients that layers captured, to be counted as well.
            global_step: not used.
            name: the name of the ops.
            experimental_aggregate_gradients: whether gradients are added up over replicas.
        """
        pairs = list(grads_and_vars)
        grads, variables = [grad for grad, _ in pairs], [variable for _, variable in pairs]
        observed = self._observe(grads, captured_grads)
        with tf.control_dependencies([] if tf.executing_eagerly() else [observed]):
            unscaled = list(zip(self._unscaled_gradients(grads), variables, strict=True))
            return self._apply_unscaled(
                unscaled, name=name, experimental_aggregate_gradients=experimental_aggregate_gradients
            )

    def reset(self) -> None:
        """Begin again: no statistics, and the first factor."""
        self._hist.assign(tf.zeros([2]))
        self._n.assign(0)
        self._lsf.assign(float(self.initial_loss_scaling_factor))

    def get_config(self) -> dict[str, Any]:
        """What makes an equal optimizer."""
        return {**super().get_config(), **self._settings}

    def get_name(self) -> str:
        """The name of the optimizer."""
        return self._name

    @property
    def supports_captured_grads(self) -> bool:
        """Whether `apply_gradients` takes `captured_grads`: it does."""
        return True

    # arguments that programs may change

    initial_loss_scaling_factor = setting("initial_loss_scaling_factor")
    update_frequency = setting("update_frequency", "update_frequency")
    increase_factor = setting("increase_factor", "increase_factor")
    max_loss_scaling_factor = setting("max_loss_scaling_factor", "max_loss_scaling_factor")
    accumulate_statistics_over_update_period = setting(
        "accumulate_statistics_over_update_period", "accumulate"
    )
    ratio_threshold = setting("ratio_threshold", "ratio_threshold")
    captured_grads_only = setting("captured_grads_only", "captured_grads_only", resets=True)
    lpf_alpha = setting("lpf_alpha", "lpf_alpha", resets=True)
    histogram_bin_edge = setting("histogram_bin_edge", "histogram_bin_edge", resets=True)

    # state that the optimizer changes

    histogram = read_only(
        "histogram",
        "Counts of gradients below and beyond the edge.",
        lambda self: tf.convert_to_tensor(self._hist),
    )
    normalized_histogram = read_only(
        "normalized_histogram",
        "The counts divided by their sum.",
        lambda self: histograms.histogram_normalize(self._hist),
    )
    loss_scaling_factor = read_only(
        "loss_scaling_factor", "The factor.", lambda self: tf.convert_to_tensor(self._lsf)
    )
    previous_loss_scaling_factor = read_only(
        "previous_loss_scaling_factor",
        "The factor before the last change.",
        lambda self: tf.convert_to_tensor(self._prev_lsf),
    )
    update_counter = read_only(
        "update_counter", "The step of the period.", lambda self: tf.convert_to_tensor(self._n)
    )
    decrease_factor = read_only(
        "decrease_factor", "One over the increase factor.", lambda self: 1.0 / self.increase_factor
    )


def _variable(value: Any, dtype: Any) -> Any:
    return tf.Variable(tf.cast(value, dtype), trainable=False, dtype=dtype)
