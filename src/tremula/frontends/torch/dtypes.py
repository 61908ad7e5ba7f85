"""The dtypes a device tensor may have, and how host dtypes are narrowed to them.

The device has no 64-bit numbers: int64 becomes int32 and float64 float32 on the way in and out; bfloat16
inputs become float32. Source: PopTorch's public documentation of supported types.
"""

from __future__ import annotations

import torch

from tremula.errors import Error

HALF_OR_FLOAT = frozenset({torch.float16, torch.float32})

_NARROWED = {
    torch.int64: torch.int32,
    torch.float64: torch.float32,
    torch.bfloat16: torch.float32,
}


def device_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype that a host tensor of `dtype` has on the device."""
    if dtype.is_complex:
        raise Error(
            f"Tensors of type {dtype} cannot be put on an IPU: complex numbers are not supported there. "
            "Pass the real and the imaginary part as two tensors."
        )
    return _NARROWED.get(dtype, dtype)


def narrow(tensor: torch.Tensor) -> torch.Tensor:
    """`tensor` in its device dtype; the same object where nothing changes."""
    dtype = device_dtype(tensor.dtype)
    return tensor if dtype == tensor.dtype else tensor.to(dtype)
