"""Optimizers that take gradients of a scaled loss as they are.

Dividing a gradient in half precision by the factor can make it vanish. These optimizers keep their state at the scale
of the gradients, compute in single precision, and divide where it matters. In exact arithmetic they do what the stock
optimizers do with gradients that are divided first.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.keras.optimizers import loss_scale
from tremula.frontends.tensorflow.keras.optimizers.automatic_loss_scaling import ALSOptimizer
from tremula.frontends.tensorflow.stock_keras import keras


class ParameterUnscalingOptimizer:
    """What such optimizers have in common; it comes before the stock optimizer among the bases."""

    #: the factor of the gradients: a variable
    _lsf: Any

    def _start_scaling(self: Any, loss_scaling_factor: float) -> None:
        """Set the factor of the gradients to begin with; call it when the stock optimizer is initialised.

        Raises:
            ValueError: the factor is not a power of two.
        """
        if not loss_scale.is_power_of_two(loss_scaling_factor):
            raise ValueError(
                f"The loss scaling factor has to be greater than or equal to one and a power of two, but it is "
                f"{loss_scaling_factor}."
            )
        start = keras.initializers.Constant(loss_scaling_factor)
        self._lsf = tf.Variable(float(loss_scaling_factor), trainable=False)
        # state from steps before has the scale of their gradients
        self._state_lsf = self.add_weight(
            "state_loss_scaling_factor", shape=(), initializer=start, trainable=False
        )

    def _prepare_local(self: Any, var_device: Any, var_dtype: Any, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)  # type: ignore[misc]
        factor = tf.identity(self._lsf)
        apply_state[var_device, var_dtype].update(lsf=factor, lsf_ratio=factor / self._state_lsf)

    def apply_gradients(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Update variables with gradients that have the factor."""
        applied = super().apply_gradients(*args, **kwargs)  # type: ignore[misc]
        with tf.control_dependencies([] if tf.executing_eagerly() else [applied]):
            return self._state_lsf.assign(self._lsf)

    def _resource_apply_sparse_duplicate_indices(
        self: Any, grad: Any, handle: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        # the device has no sparse updates
        dense = tf.convert_to_tensor(tf.IndexedSlices(grad, indices, tf.shape(handle)))
        return self._resource_apply_dense(dense, handle, apply_state)

    def _coefficients(self: Any, var: Any, apply_state: Any) -> dict[str, Any]:
        """The numbers of `_prepare_local`, in single precision."""
        key = (var.device, var.dtype.base_dtype)
        found = (apply_state or {}).get(key) or self._fallback_apply_state(*key)
        return {name: tf.cast(value, tf.float32) for name, value in found.items() if tf.is_tensor(value)}


def assign_all(pairs: list[tuple[Any, Any]]) -> Any:
    """Give variables new values, each in the type of the variable. What is too large becomes its largest number."""
    return tf.group(*(variable.assign(tf.saturate_cast(value, variable.dtype)) for variable, value in pairs))


class ParameterUnscalingALSOptimizer(ALSOptimizer):
    """Automatic loss scaling for an optimizer that takes scaled gradients. Arguments are those of `ALSOptimizer`.

    Raises:
        ValueError: the optimizer does not take scaled gradients.
    """

    #: entries of the inner optimizer's configuration that are not arguments here
    _fixed: tuple[str, ...] = ("decay", "name")

    def __init__(self, opt: Any, name: str = "_ParameterUnscalingALSOptimizer", **kwargs: Any) -> None:
        if not isinstance(opt, ParameterUnscalingOptimizer):
            raise ValueError(f"{type(opt).__name__} divides gradients itself: wrap it in an ALSOptimizer.")
        super().__init__(opt, name=name, **kwargs)
        opt._lsf = self._lsf

    def _unscaled(self, grad: Any) -> Any:
        return grad

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal optimizer."""
        config = super().get_config()
        config.pop("inner_optimizer_type")
        inner = config.pop("inner_optimizer_config")
        return {**config, **{name: value for name, value in inner.items() if name not in self._fixed}}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """An optimizer with this configuration."""
        return cls(**config)
