"""Adam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.addons.optimizers import moments
from tremula.frontends.tensorflow.addons.optimizers.base import IpuOptimizerBase, dtype_or_none
from tremula.frontends.tensorflow.stock_keras import keras


class AdamIpuOptimizer(keras.optimizers.legacy.Adam, IpuOptimizerBase):
    """Adam with a data type for each part of its state, and with a switch for the correction of the bias.

    Args:
        learning_rate: the learning rate, or a schedule of it.
        beta_1: how fast the first moment forgets.
        beta_2: how fast the second moment forgets.
        epsilon: added to the root of the second moment.
        amsgrad: use the largest second moment so far.
        name: the name of the optimizer.
        m_dtype: the data type of the first moment; None is that of the variable.
        v_dtype: the data type of the second moment.
        vhat_dtype: the data type of the largest second moment.
        debiasing: correct the moments for starting at zero.
        kwargs: arguments of `IpuOptimizerBase`.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        name: str = "Adam",
        m_dtype: Any = None,
        v_dtype: Any = None,
        vhat_dtype: Any = None,
        debiasing: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            amsgrad=amsgrad,
            name=name,
            **kwargs,
        )
        self.m_dtype = dtype_or_none(m_dtype)
        self.v_dtype = dtype_or_none(v_dtype)
        self.vhat_dtype = dtype_or_none(vhat_dtype)
        self.debiasing = debiasing

    def get_slot_dtype(self, var: Any, slot_name: str) -> Any:
        """The data type of a slot."""
        return {"m": self.m_dtype, "v": self.v_dtype, "vhat": self.vhat_dtype}[slot_name]

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for slot in ("m", "v", "vhat") if self.amsgrad else ("m", "v"):
            for var in var_list:
                self.add_slot(var, slot)

    def _prepare_local(self, var_device: Any, var_dtype: Any, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        moments.prepare(self, apply_state[var_device, var_dtype])

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        coefficients = self.coefficients(var, apply_state)
        dtype = self.opt_dtypes[0]
        slots = [self.get_slot(var, slot) for slot in (("m", "v", "vhat") if self.amsgrad else ("m", "v"))]

        def update(grad: Any, var: Any, first: Any, second: Any, *largest: Any) -> list[Any]:
            state = moments.step(self, coefficients, grad, first, second)
            second_hat = state.second_hat
            if largest:
                second_hat = tf.maximum(tf.cast(largest[0], dtype), second_hat)
            change = state.first_hat / (tf.sqrt(second_hat) + coefficients["epsilon"])
            change *= tf.cast(coefficients["lr_t"], dtype)
            return [
                var - tf.cast(change, var.dtype),
                state.first,
                state.second,
                *([second_hat] if largest else []),
            ]

        values = self.outlined(update)(grad, var, *slots)
        return tf.group(
            *(old.assign(tf.cast(new, old.dtype)) for old, new in zip([var, *slots], values, strict=True))
        )

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: Any = None) -> Any:
        return IpuOptimizerBase._resource_apply_sparse(self, grad, var, indices, apply_state)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal optimizer."""
        return {
            **super().get_config(),
            "m_dtype": self.m_dtype,
            "v_dtype": self.v_dtype,
            "vhat_dtype": self.vhat_dtype,
            "debiasing": self.debiasing,
        }
