"""torch's dtypes on the device: the table of program/dtypes.py in torch's words."""

from __future__ import annotations

import torch

from tremula.errors import Error
from tremula.program.dtypes import ON_DEVICE, ON_HOST

HALF_OR_FLOAT = frozenset({torch.float16, torch.float32})

#: torch's dtype -> the device's name of the type that holds it
_NAMES: dict[torch.dtype, str] = {
    getattr(torch, host): device for host, device in ON_DEVICE.items() if hasattr(torch, host)
}
_NARROWED: dict[torch.dtype, torch.dtype] = {
    dtype: getattr(torch, ON_HOST[name]) for dtype, name in _NAMES.items() if name in ON_HOST
}


def dtype_name(dtype: torch.dtype) -> str:
    """The device's name of the type that holds numbers of `dtype`."""
    return _NAMES.get(dtype, "int32")


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
