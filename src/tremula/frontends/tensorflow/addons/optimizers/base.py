"""The base of the optimizers: slots with a data type of their own, and a function that is outlined."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops.outlining import outlined_function
from tremula.frontends.tensorflow.stock_keras import keras


class IpuOptimizerBase(keras.optimizers.legacy.Optimizer):
    """An optimizer whose state and arithmetic have a chosen precision.

    Args:
        name: the name of the optimizer.
        optimizer_compute_precisions: the data types of the stages of the update. How many there are is up to the
            subclass.
        outline_apply_gradients: whether the update of a variable is a function that variables of one shape share.
        outline_apply_gradients_kwargs: arguments of `outlined_function` for it.
        kwargs: arguments of the Keras optimizer.
    """

    def __init__(
        self,
        name: str,
        optimizer_compute_precisions: Sequence[Any] = (tf.float32,),
        outline_apply_gradients: bool = False,
        outline_apply_gradients_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self.opt_dtypes = tuple(tf.as_dtype(dtype) for dtype in optimizer_compute_precisions)
        self.outline_apply_gradients = outline_apply_gradients
        self.outline_apply_gradients_kwargs = dict(outline_apply_gradients_kwargs or {})

    def _resource_apply_dense(self, grad: Any, handle: Any, apply_state: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has to say how a gradient changes a variable.")

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any, apply_state: Any) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} cannot apply a sparse gradient. Use an embedding whose "
            "gradient is dense, such as ipu_tensorflow_addons.keras.layers.Embedding."
        )

    def get_slot_dtype(self, var: Any, slot_name: str) -> Any:
        """The data type of a slot; None is that of the variable. Subclasses override it."""
        return var.dtype

    def add_slot(
        self, var: Any, slot_name: str, initializer: Any = "zeros", shape: Any = None, dtype: Any = None
    ) -> Any:
        """The slot of `var` with this name, made in the data type of the slot when there is none yet."""
        dtype = tf.as_dtype(dtype or self.get_slot_dtype(var, slot_name) or var.dtype)
        with _variables_of(dtype):
            return super().add_slot(var, slot_name, initializer=initializer, shape=shape)

    def add_slot_with_dtype(self, var: Any, slot_name: str, dtype: Any, initializer: Any = "zeros") -> Any:
        """`add_slot` with the data type in front."""
        return self.add_slot(var, slot_name, initializer=initializer, dtype=dtype)

    def coefficients(self, var: Any, apply_state: Any) -> dict[str, Any]:
        """The numbers that `_prepare_local` made for variables like `var`."""
        key = (var.device, var.dtype.base_dtype)
        return (apply_state or {}).get(key) or self._fallback_apply_state(*key)

    def outlined(self, update: Callable[..., Any]) -> Callable[..., Any]:
        """`update`, as a function that the device shares between its calls if that was asked for."""
        if not self.outline_apply_gradients:
            return update
        return outlined_function(update, **self.outline_apply_gradients_kwargs)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal optimizer."""
        return {
            **super().get_config(),
            "optimizer_compute_precisions": self.opt_dtypes,
            "outline_apply_gradients": self.outline_apply_gradients,
            "outline_apply_gradients_kwargs": self.outline_apply_gradients_kwargs,
        }


def dtype_or_none(dtype: Any) -> Any:
    """A data type given as one, by its name, or not at all."""
    return None if dtype is None else tf.as_dtype(dtype)


@contextmanager
def _variables_of(dtype: Any) -> Iterator[None]:
    """Variables that are made here get this data type."""

    def creator(create: Callable[..., Any], **kwargs: Any) -> Any:
        initial = kwargs.get("initial_value")
        if isinstance(initial, functools.partial):
            kwargs["initial_value"] = functools.partial(initial, dtype=dtype)
        kwargs["dtype"] = dtype
        return create(**kwargs)

    with tf.variable_creator_scope(creator):
        yield
