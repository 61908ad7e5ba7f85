"""Adam with automatic loss scaling."""

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


class ParameterUnscalingAdam(ParameterUnscalingOptimizer, keras.optimizers.legacy.Adam):
    """Adam for gradients of a scaled loss. Arguments: the stock ones, and the factor to begin with."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        loss_scaling_factor: float = ALSDefaults.initial_loss_scaling_factor,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            amsgrad=False,
            name="Adam",
        )
        self._start_scaling(loss_scaling_factor)

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        grad = tf.cast(grad, tf.float32)
        slots = self.get_slot(var, "m"), self.get_slot(var, "v")
        m, v = (tf.cast(slot, tf.float32) for slot in slots)
        m = m * c["beta_1_t"] * c["lsf_ratio"] + (1 - c["beta_1_t"]) * grad
        v = v * c["beta_2_t"] * tf.square(c["lsf_ratio"]) + (1 - c["beta_2_t"]) * tf.square(grad)
        rate = c["lr_t"] * tf.sqrt(1 - c["beta_2_power"]) / (1 - c["beta_1_power"])
        change = rate * m / (tf.sqrt(v) + self.epsilon * c["lsf"])
        return assign_all([(var, tf.cast(var, tf.float32) - change), (slots[0], m), (slots[1], v)])


class ALSOptimizerAdam(ParameterUnscalingALSOptimizer):
    """Adam with automatic loss scaling that keeps its state at the scale of the gradients.

    Args:
        learning_rate: the learning rate, or a schedule of it.
        beta_1: how fast the first moment forgets.
        beta_2: how fast the second moment forgets.
        epsilon: added to the root of the second moment.
        others: those of `ALSOptimizer`.
    """

    _fixed = ("amsgrad", "decay", "name")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        initial_loss_scaling_factor: float = ALSDefaults.initial_loss_scaling_factor,
        update_frequency: int = ALSDefaults.update_frequency,
        increase_factor: float = ALSDefaults.increase_factor,
        max_loss_scaling_factor: float = ALSDefaults.max_loss_scaling_factor,
        accumulate_statistics_over_update_period: bool = ALSDefaults.accumulate_statistics_over_update_period,
        ratio_threshold: float = ALSDefaults.ratio_threshold,
        captured_grads_only: bool = ALSDefaults.captured_grads_only,
        lpf_alpha: float = ALSDefaults.lpf_alpha,
        histogram_bin_edge: float = ALSDefaults.histogram_bin_edge,
        name: str = "ALSOptimizerAdam",
    ) -> None:
        super().__init__(
            ParameterUnscalingAdam(
                learning_rate=learning_rate,
                beta_1=beta_1,
                beta_2=beta_2,
                epsilon=epsilon,
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
