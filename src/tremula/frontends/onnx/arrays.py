"""NumPy arrays and torch tensors of the same values, the small floating types included."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

#: types that NumPy has from ml_dtypes, by name
_SMALL = {
    "bfloat16": torch.bfloat16,
    "float8_e4m3fn": torch.float8_e4m3fn,
    "float8_e4m3fnuz": torch.float8_e4m3fnuz,
    "float8_e5m2": torch.float8_e5m2,
    "float8_e5m2fnuz": torch.float8_e5m2fnuz,
}


def tensor_of(array: NDArray[Any] | Any) -> torch.Tensor:
    """A tensor with the values of an array, in memory of its own."""
    return memory_of(np.array(array, copy=True, order="C"))


def memory_of(array: NDArray[Any]) -> torch.Tensor:
    """A contiguous array as a tensor on the same memory."""
    small = _SMALL.get(array.dtype.name)
    if small is None:
        return torch.from_numpy(array)
    bits = array.reshape(-1).view(np.uint8 if array.dtype.itemsize == 1 else np.int16)
    return torch.from_numpy(bits).view(small).reshape(array.shape)


def array_of(tensor: torch.Tensor) -> NDArray[Any]:
    """An array with the values of a tensor; small floating types need ml_dtypes, which onnx brings."""
    tensor = tensor.detach().contiguous()
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in _SMALL:
        return tensor.numpy()
    import ml_dtypes

    bits = tensor.view(torch.uint8 if tensor.dtype.itemsize == 1 else torch.int16).numpy()
    small: NDArray[Any] = bits.view(getattr(ml_dtypes, name)).reshape(tuple(tensor.shape))
    return small
