"""Automatic loss scaling with gradients that are accumulated."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.keras.optimizers.automatic_loss_scaling import ALSOptimizer
from tremula.frontends.tensorflow.keras.optimizers.gradient_accumulation import GradientAccumulationOptimizer
from tremula.frontends.tensorflow.pipeline.enums import GradientAccumulationReductionMethod


def _of_inner(name: str) -> property:
    return property(lambda self: getattr(self._opt, name), doc=f"`{name}` of the inner optimizer.")


class ALSGradientAccumulationOptimizer(GradientAccumulationOptimizer):
    """Accumulates gradients for an `ALSOptimizer`: each mini-batch is counted, and the factor changes with an update.

    Args:
        als_optimizer: an `ALSOptimizer`, or one of its kinds such as `ALSOptimizerAdam`.
        num_mini_batches: how many mini-batches there are for an update.
        offload_weight_update_variables: as for `GradientAccumulationOptimizer`.
        replicated_optimizer_state_sharding: as for `GradientAccumulationOptimizer`.
        dtype: as for `GradientAccumulationOptimizer`.
        reduction_method: as for `GradientAccumulationOptimizer`.
        name: the name of the optimizer.

    Raises:
        ValueError: the inner optimizer is not an `ALSOptimizer`.
    """

    def __init__(
        self,
        als_optimizer: Any,
        num_mini_batches: int,
        offload_weight_update_variables: bool | None = None,
        replicated_optimizer_state_sharding: bool = False,
        dtype: Any = None,
        reduction_method: Any = GradientAccumulationReductionMethod.SUM,
        name: str = "ALSGradientAccumulationOptimizer",
    ) -> None:
        if not isinstance(als_optimizer, ALSOptimizer):
            raise ValueError(
                f"ALSGradientAccumulationOptimizer wraps an ALSOptimizer, but it got a {type(als_optimizer).__name__}. "
                "Wrap that in an ALSOptimizer first, or use GradientAccumulationOptimizer."
            )
        super().__init__(
            als_optimizer,
            num_mini_batches,
            offload_weight_update_variables=offload_weight_update_variables,
            replicated_optimizer_state_sharding=replicated_optimizer_state_sharding,
            dtype=dtype,
            reduction_method=reduction_method,
            name=name,
        )

    def apply_gradients(  # type: ignore[override]
        self,
        grads_and_vars: Any,
        captured_grads: Any = None,
        name: str | None = None,
        experimental_aggregate_gradients: bool = True,
    ) -> Any:
        """Count and accumulate the gradients of a mini-batch; update variables and the factor after the last one.

        Args:
            grads_and_vars: gradients of the scaled loss and their variables.
            captured_grads: gradients that layers captured, to be counted as well.
            name: the name of the ops.
            experimental_aggregate_gradients: whether gradients are added up over replicas.
        """
        pairs = list(grads_and_vars)
        grads, variables = [grad for grad, _ in pairs], [variable for _, variable in pairs]
        observed = self._opt._observe(grads, captured_grads)
        with tf.control_dependencies([] if tf.executing_eagerly() else [observed]):
            unscaled = zip(self._opt._unscaled_gradients(grads), variables, strict=True)
            return self._accumulate(
                unscaled,
                lambda accumulated: self._opt._apply_unscaled(
                    accumulated, name=name, experimental_aggregate_gradients=experimental_aggregate_gradients
                ),
            )

    als_optimizer = property(lambda self: self._opt, doc="The inner optimizer.")
    get_scaled_loss = _of_inner("get_scaled_loss")
    histogram = _of_inner("histogram")
    normalized_histogram = _of_inner("normalized_histogram")
    loss_scaling_factor = _of_inner("loss_scaling_factor")
    previous_loss_scaling_factor = _of_inner("previous_loss_scaling_factor")
    update_counter = _of_inner("update_counter")
    update_frequency = _of_inner("update_frequency")
    increase_factor = _of_inner("increase_factor")
    decrease_factor = _of_inner("decrease_factor")
    initial_loss_scaling_factor = _of_inner("initial_loss_scaling_factor")
    max_loss_scaling_factor = _of_inner("max_loss_scaling_factor")
    accumulate_statistics_over_update_period = _of_inner("accumulate_statistics_over_update_period")
    ratio_threshold = _of_inner("ratio_threshold")
    supports_captured_grads = _of_inner("supports_captured_grads")
    captured_grads_only = _of_inner("captured_grads_only")
    lpf_alpha = _of_inner("lpf_alpha")
    histogram_bin_edge = _of_inner("histogram_bin_edge")
