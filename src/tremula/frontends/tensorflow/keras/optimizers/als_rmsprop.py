"""RMSprop with automatic loss scaling."""

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


class ParameterUnscalingRMSProp(ParameterUnscalingOptimizer, keras.optimizers.legacy.RMSprop):
    """RMSprop for gradients of a scaled loss. Arguments: the stock ones, and the factor to begin with."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        loss_scaling_factor: float = ALSDefaults.initial_loss_scaling_factor,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate,
            rho=rho,
            momentum=momentum,
            epsilon=epsilon,
            centered=centered,
            name="RMSProp",
        )
        self._start_scaling(loss_scaling_factor)

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        grad = tf.cast(grad, tf.float32)
        square = self.get_slot(var, "rms")
        second = c["rho"] * tf.square(c["lsf_ratio"]) * tf.cast(square, tf.float32) + (
            1 - c["rho"]
        ) * tf.square(grad)
        updates, spread = [(square, second)], second
        if self.centered:
            mean = self.get_slot(var, "mg")
            first = c["rho"] * c["lsf_ratio"] * tf.cast(mean, tf.float32) + (1 - c["rho"]) * grad
            updates.append((mean, first))
            spread = second - tf.square(first)
        # the quotient has no scale any more; stock RMSprop adds epsilon under the root with momentum, else outside
        if self._momentum:
            slot = self.get_slot(var, "momentum")
            quotient = grad / tf.sqrt(spread + self.epsilon * tf.square(c["lsf"]))
            change = c["momentum"] * tf.cast(slot, tf.float32) + c["lr_t"] * quotient
            updates.append((slot, change))
        else:
            change = c["lr_t"] * grad / (tf.sqrt(spread) + self.epsilon * c["lsf"])
        return assign_all([*updates, (var, tf.cast(var, tf.float32) - change)])


class ALSOptimizerRMSProp(ParameterUnscalingALSOptimizer):
    """RMSprop with automatic loss scaling that keeps its state at the scale of the gradients.

    Args:
        learning_rate: the learning rate, or a schedule of it.
        rho: how fast the mean square forgets.
        momentum: the momentum.
        epsilon: added to the mean square, or to its root.
        centered: subtract the square of the mean gradient.
        others: those of `ALSOptimizer`.
    """

    _fixed = ("decay", "name")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        initial_loss_scaling_factor: float = ALSDefaults.initial_loss_scaling_factor,
        update_frequency: int = ALSDefaults.update_frequency,
        increase_factor: float = ALSDefaults.increase_factor,
        max_loss_scaling_factor: float = ALSDefaults.max_loss_scaling_factor,
        accumulate_statistics_over_update_period: bool = ALSDefaults.accumulate_statistics_over_update_period,
        ratio_threshold: float = ALSDefaults.ratio_threshold,
        captured_grads_only: bool = ALSDefaults.captured_grads_only,
        lpf_alpha: float = ALSDefaults.lpf_alpha,
        histogram_bin_edge: float = ALSDefaults.histogram_bin_edge,
        name: str = "ALSOptimizerRMSProp",
    ) -> None:
        super().__init__(
            ParameterUnscalingRMSProp(
                learning_rate=learning_rate,
                rho=rho,
                momentum=momentum,
                epsilon=epsilon,
                centered=centered,
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
