"""Functions with `jit_compile=True` that a program calls on an IPU: each is a program of the device.

XLA would compile them for the CPU, without what connects replicas and processes.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.distribute import device_util
from tensorflow.python.eager.polymorphic_function import polymorphic_function
from tensorflow.python.framework import device as tf_device

from tremula.frontends.tensorflow.replicas.program import DeviceFunction
from tremula.frontends.tensorflow.strategy import IPUStrategyV1

_PROGRAM = "_tremula_program"


def install() -> None:
    """Replace calls of such functions."""
    stock = polymorphic_function.Function.__call__

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        if not self._jit_compile or not tf.executing_eagerly():
            return stock(self, *args, **kwargs)
        strategy = tf.distribute.get_strategy()
        device = tf_device.DeviceSpec.from_string(device_util.current())
        if not isinstance(strategy, IPUStrategyV1) or device.device_type != "IPU":
            return stock(self, *args, **kwargs)
        program = getattr(self, _PROGRAM, None)
        if program is None:
            program = DeviceFunction(
                self.python_function,
                ordinal=device.device_index or 0,
                label=getattr(self.python_function, "__name__", "function"),
            )
            setattr(self, _PROGRAM, program)
        return program(*args, **kwargs)

    polymorphic_function.Function.__call__ = __call__
