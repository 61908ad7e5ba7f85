"""Small ops of the device."""

from tremula.frontends.tensorflow.ops.internal import (
    fifo,
    get_current_iteration_counter,
    print_tensor,
    remap,
    remap_deduce,
)

__all__ = ["fifo", "get_current_iteration_counter", "print_tensor", "remap", "remap_deduce"]
