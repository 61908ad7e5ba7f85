"""Gradient descent with automatic loss scaling."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.keras.optimizers.als_settings import ALSDefaults
from tremula.frontends.tensorflow.keras.optimizers.unscaling import (
    ParameterUnscalingALSOptimizer,
    ParameterUnscalingOptimizer,
    assign_all,
)
from tremula.frontends.tensorflow.stock_keras import keras


class ParameterUnscalingSGD(ParameterUnscalingOptimizer, keras.optimizers.legacy.SGD):
    """Gradient descent for gradients of a scaled loss. Arguments: the stock ones, and the factor to begin with."""

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        loss_scaling_factor: float = ALSDefaults.initial_loss_scaling_factor,
    ) -> None:
        super().__init__(learning_rate=learning_rate, momentum=momentum, nesterov=False, name="SGD")
        self._start_scaling(loss_scaling_factor)

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        step = -c["lr_t"] * tf.cast(grad, tf.float32)
        value = tf.cast(var, tf.float32)
        if not self._momentum:
            return assign_all([(var, value + step / c["lsf"])])
        slot = self.get_slot(var, "momentum")
        velocity = c["momentum"] * c["lsf_ratio"] * tf.cast(slot, tf.float32) + step
        return assign_all([(var, value + velocity / c["lsf"]), (slot, velocity)])


class ALSOptimizerSGD(ParameterUnscalingALSOptimizer):
    """Gradient descent with automatic loss scaling that keeps its state at the scale of the gradients.

    Args:
        learning_rate: the learning rate, or a schedule of it.
        momentum: the momentum.
        others: those of `ALSOptimizer`.
    """

    _fixed = ("nesterov", "decay", "name")

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        initial_loss_scaling_factor: float = ALSDefaults.initial_loss_scaling_factor,
        update_frequency: int = ALSDefaults.update_frequency,
        increase_factor: float = ALSDefaults.increase_factor,
        max_loss_scaling_factor: float = ALSDefaults.max_loss_scaling_factor,
        accumulate_statistics_over_update_period: bool = ALSDefaults.accumulate_statistics_over_update_period,
        ratio_threshold: float = ALSDefaults.ratio_threshold,
        captured_grads_only: bool = ALSDefaults.captured_grads_only,
        lpf_alpha: float = ALSDefaults.lpf_alpha,
        histogram_bin_edge: float = ALSDefaults.histogram_bin_edge,
        name: str = "ALSOptimizerSGD",
    ) -> None:
        super().__init__(
            ParameterUnscalingSGD(
                learning_rate=learning_rate,
                momentum=momentum,
                loss_scaling_factor=initial_loss_scaling_factor,
            ),
            initial_loss_scaling_factor=initial_loss_scaling_factor,
            update_frequency=update_frequency,
            increase_factor=increase_factor,
            max_loss_scaling_factor=max_loss_scaling_factor,
            accumulate_statistics_over_update_period=accumulate_statistics_over_update_period,
            ratio_threshold=ratio_threshold,
            captured_grads_only=captured_grads_only,
            lpf_alpha=lpf_alpha,
            histogram_bin_edge=histogram_bin_edge,
            name=name,
        )
