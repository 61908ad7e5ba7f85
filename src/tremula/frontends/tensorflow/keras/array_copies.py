"""Arrays as tensors with one copy.

TensorFlow makes two copies of an array: one that the program cannot change any more, and one in memory that is aligned
as its kernels need it. Here the only copy is aligned, and the tensor uses its memory. Conversions of the type are part
of the copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.stock_keras import internal

_backend = internal("backend")
#: the alignment of TensorFlow's own memory
_ALIGNMENT = 64
#: a copy of less costs nothing that could be measured
_LARGE = 1 << 16
#: types of samples that a device program takes as they are
_TYPES = frozenset(np.dtype(name) for name in ("float16", "float32", "int8", "uint8", "int16", "int32"))


def tensor_of(value: Any) -> Any:
    """A large array as a tensor, floats in Keras' default type; anything else as it is."""
    if type(value) is not np.ndarray or value.nbytes < _LARGE:
        return value
    dtype = np.dtype(_backend.floatx()) if np.issubdtype(value.dtype, np.floating) else value.dtype
    if dtype not in _TYPES:
        return value
    size = value.size * dtype.itemsize
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    begin = -memory.ctypes.data % _ALIGNMENT
    copy = memory[begin : begin + size].view(dtype).reshape(value.shape)
    np.copyto(copy, value, casting="same_kind")
    return tf.experimental.dlpack.from_dlpack(copy.__dlpack__())
