"""LAMB: Adam whose step is scaled by the norm of each layer's weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.addons.optimizers import moments
from tremula.frontends.tensorflow.addons.optimizers.base import IpuOptimizerBase, dtype_or_none
from tremula.frontends.tensorflow.stock_keras import keras


class LAMBIpuOptimizer(IpuOptimizerBase):
    """LAMB with a data type for each part of its state.

    Args:
        learning_rate: the learning rate, or a schedule of it.
        beta_1: how fast the first moment forgets.
        beta_2: how fast the second moment forgets.
        epsilon: added to the root of the second moment.
        weight_decay_rate: the part of the weights that is added to the update.
        exclude_from_weight_decay: regular expressions; variables whose name has a match do not decay.
        exclude_from_layer_adaptation: regular expressions; the step of variables whose name has a match is not scaled.
        name: the name of the optimizer.
        debiasing: correct the moments for starting at zero.
        m_dtype: the data type of the first moment; None is that of the variable.
        v_dtype: the data type of the second moment.
        weight_norm_clip: the largest norm of weights that the step is scaled by; None is without limit.
        optimizer_compute_precisions: the data types of the update and of its last stage, the product with the rate.
        kwargs: arguments of `IpuOptimizerBase`.

    Raises:
        ValueError: there are not two compute precisions.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-6,
        weight_decay_rate: float = 0.0,
        exclude_from_weight_decay: Sequence[str] | None = None,
        exclude_from_layer_adaptation: Sequence[str] | None = None,
        name: str = "LAMB",
        debiasing: bool = True,
        m_dtype: Any = None,
        v_dtype: Any = None,
        weight_norm_clip: float | None = None,
        optimizer_compute_precisions: Sequence[Any] = (tf.float32, tf.float32),
        **kwargs: Any,
    ) -> None:
        super().__init__(name, optimizer_compute_precisions=optimizer_compute_precisions, **kwargs)
        if len(self.opt_dtypes) != 2:
            raise ValueError(
                f"LAMB computes in two precisions, that of the update and that of its last stage, but "
                f"optimizer_compute_precisions has {len(self.opt_dtypes)}: {self.opt_dtypes}."
            )
        self._set_hyper("weight_decay_rate", weight_decay_rate)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("beta_1", beta_1)
        self._set_hyper("beta_2", beta_2)
        self.epsilon = epsilon or keras.backend.epsilon()
        self.exclude_from_weight_decay = exclude_from_weight_decay
        self.exclude_from_layer_adaptation = exclude_from_layer_adaptation
        self.weight_norm_clip = weight_norm_clip
        self.m_dtype = dtype_or_none(m_dtype)
        self.v_dtype = dtype_or_none(v_dtype)
        self.debiasing = debiasing

    def get_slot_dtype(self, var: Any, slot_name: str) -> Any:
        """The data type of a slot."""
        return {"m": self.m_dtype, "v": self.v_dtype}[slot_name]

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for slot in ("m", "v"):
            for var in var_list:
                self.add_slot(var, slot)

    def _prepare_local(self, var_device: Any, var_dtype: Any, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        coefficients = apply_state[var_device, var_dtype]
        moments.prepare(self, coefficients)
        coefficients["weight_decay_rate"] = tf.identity(
            self._get_hyper("weight_decay_rate", self.opt_dtypes[0])
        )

    def _resource_apply_dense(self, grad: Any, handle: Any, apply_state: Any = None) -> Any:
        coefficients = self.coefficients(handle, apply_state)
        name = handle.name.partition(":")[0]
        dtype, last = self.opt_dtypes
        slots = [self.get_slot(handle, "m"), self.get_slot(handle, "v")]

        def update(grad: Any, var: Any, first: Any, second: Any) -> list[Any]:
            state = moments.step(self, coefficients, grad, first, second)
            change = state.first_hat / (tf.sqrt(state.second_hat) + coefficients["epsilon"])
            if self._do_use_weight_decay(name):
                change += tf.cast(var, dtype) * coefficients["weight_decay_rate"]
            ratio = tf.cast(coefficients["lr_t"], dtype)
            if self._do_layer_adaptation(name):
                ratio *= self._trust(tf.cast(var, dtype), change)
            change = tf.cast(ratio, last) * tf.cast(change, last)
            return [var - tf.cast(change, var.dtype), state.first, state.second]

        values = self.outlined(update)(grad, handle, *slots)
        return tf.group(
            *(old.assign(tf.cast(new, old.dtype)) for old, new in zip([handle, *slots], values, strict=True))
        )

    def _trust(self, weights: Any, change: Any) -> Any:
        """The norm of the weights over that of the update; 1 where either is zero."""
        weights_norm, change_norm = tf.norm(weights), tf.norm(change)
        if self.weight_norm_clip is not None:
            weights_norm = tf.minimum(weights_norm, tf.cast(self.weight_norm_clip, weights_norm.dtype))
        both = tf.logical_and(weights_norm > 0, change_norm > 0)
        return tf.where(both, weights_norm / tf.where(both, change_norm, 1), tf.ones_like(weights_norm))

    def _do_use_weight_decay(self, param_name: str) -> bool:
        return not _matches(self.exclude_from_weight_decay, param_name)

    def _do_layer_adaptation(self, param_name: str) -> bool:
        return not _matches(self.exclude_from_layer_adaptation, param_name)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal optimizer."""
        hyper = ("learning_rate", "weight_decay_rate", "decay", "beta_1", "beta_2")
        return {
            **super().get_config(),
            **{name: self._serialize_hyperparameter(name) for name in hyper},
            "epsilon": self.epsilon,
            "exclude_from_weight_decay": self.exclude_from_weight_decay,
            "exclude_from_layer_adaptation": self.exclude_from_layer_adaptation,
            "weight_norm_clip": self.weight_norm_clip,
            "m_dtype": self.m_dtype,
            "v_dtype": self.v_dtype,
            "debiasing": self.debiasing,
        }


def _matches(patterns: Sequence[str] | None, name: str) -> bool:
    return any(re.search(pattern, name) for pattern in patterns or ())
