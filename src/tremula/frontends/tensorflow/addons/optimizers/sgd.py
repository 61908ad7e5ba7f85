"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.addons.optimizers.base import IpuOptimizerBase, dtype_or_none
from tremula.frontends.tensorflow.stock_keras import keras


class SGDIpuOptimizer(keras.optimizers.legacy.SGD, IpuOptimizerBase):
    """Gradient descent with momentum in a data type of its own.

    Args:
        learning_rate: the learning rate, or a schedule of it.
        momentum: the momentum; 0 is plain gradient descent.
        nesterov: look ahead along the momentum.
        name: the name of the optimizer.
        momentum_accum_dtype: the data type of the accumulated momentum; None is that of the variable.
        kwargs: arguments of `IpuOptimizerBase`.
    """

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        name: str = "SGD",
        momentum_accum_dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate, momentum=momentum, nesterov=nesterov, name=name, **kwargs
        )
        self.momentum_accum_dtype = dtype_or_none(momentum_accum_dtype)

    def get_slot_dtype(self, var: Any, slot_name: str) -> Any:
        """The data type of a slot."""
        return {"momentum": self.momentum_accum_dtype}[slot_name]

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        if self._momentum:
            for var in var_list:
                self.add_slot(var, "momentum")

    def _prepare_local(self, var_device: Any, var_dtype: Any, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        apply_state[var_device, var_dtype]["momentum"] = tf.identity(
            self._get_hyper("momentum", self.opt_dtypes[0])
        )

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        coefficients = self.coefficients(var, apply_state)
        if not self._momentum:
            return var.assign_sub(tf.cast(coefficients["lr_t"], var.dtype) * tf.cast(grad, var.dtype))
        dtype = self.opt_dtypes[0]
        accumulated = self.get_slot(var, "momentum")

        def update(grad: Any, var: Any, velocity: Any) -> list[Any]:
            step = tf.cast(coefficients["lr_t"], dtype) * tf.cast(grad, dtype)
            velocity = tf.cast(velocity, dtype) * coefficients["momentum"] - step
            change = velocity * coefficients["momentum"] - step if self.nesterov else velocity
            return [var + tf.cast(change, var.dtype), velocity]

        new, velocity = self.outlined(update)(grad, var, accumulated)
        return tf.group(var.assign(new), accumulated.assign(tf.cast(velocity, accumulated.dtype)))

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: Any = None) -> Any:
        return IpuOptimizerBase._resource_apply_sparse(self, grad, var, indices, apply_state)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Any, var: Any, indices: Any, **kwargs: Any
    ) -> Any:
        return IpuOptimizerBase._resource_apply_sparse(self, grad, var, indices, None)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal optimizer."""
        return {**super().get_config(), "momentum_accum_dtype": self.momentum_accum_dtype}
