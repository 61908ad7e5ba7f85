"""`IpuOptimizer`: the base of optimizers that wrap another one of TensorFlow 1."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.pipeline import optimizer_kinds


class IpuOptimizer(tf.compat.v1.train.Optimizer):  # type: ignore[misc]
    """Passes everything on to the optimizer that it wraps. Subclasses change what they need.

    Args:
        opt: the optimizer to wrap.
        name: of the wrapper.

    Raises:
        ValueError: `opt` is one of Keras.
    """

    def __init__(self, opt: Any, name: str | None = None) -> None:
        if optimizer_kinds.is_keras(opt):
            raise ValueError(
                f"{type(self).__name__} wraps optimizers of tf.compat.v1.train, and {type(opt).__name__} is one of "
                f"Keras. Wrappers for those are in keras.ipu.optimizers; with model.fit, none is needed."
            )
        super().__init__(False, name or type(self).__name__)
        self._opt = opt

    def get_name(self) -> Any:
        """The name of the wrapped optimizer."""
        return self._opt.get_name()

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """The variable of the wrapped optimizer for a slot and a variable; None if there is none."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """The names of the wrapped optimizer's slots."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> Any:
        """The variables of the wrapped optimizer."""
        return self._opt.variables()

    def compute_gradients(self, loss: Any, var_list: Any = None, **kwargs: Any) -> Any:
        """Pairs of gradient and variable, as the wrapped optimizer computes them."""
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Update the variables with the wrapped optimizer; gives the operation."""
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._opt._apply_dense(grad, var)

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        return self._opt._resource_apply_dense(grad, handle)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._opt._apply_sparse(grad, var)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        return self._opt._resource_apply_sparse(grad, handle, indices)
