"""Float8 on the host."""

from __future__ import annotations

import numpy as np
import torch

from tremula.frontends.popxl.elements import to_array, to_carrier
from tremula.frontends.popxl.float8_scale import best_scale
from tremula.frontends.popxl.ops.float8 import from_float8, to_float8

from .dtypes import (
    dtype as Dtype,
)
from .dtypes import (
    float8_143,
    float8_152,
    np_dtype_float8_143,
    np_dtype_float8_152,
)

_ARRAYS = {np_dtype_float8_143: float8_143, np_dtype_float8_152: float8_152}


def _convert_popxl_float8_dtype_to_numpy(dtype: Dtype) -> np.dtype:
    return dtype.as_numpy()


def _array(src: object) -> np.ndarray:
    return src.detach().numpy() if isinstance(src, torch.Tensor) else np.asarray(src, order="C")


def _check_float8(dtype: Dtype | None) -> Dtype:
    if dtype is not float8_143 and dtype is not float8_152:
        raise RuntimeError(f"{dtype} is not a float8 type.")
    return dtype


def host_pow2scale_cast_to_fp8(
    src: np.ndarray, dtype: Dtype | None = None, log2_scale: int = 0, nan_on_overflow: bool = True
) -> np.ndarray:
    """Scale values by a power of two and cast them to float8. Values that are too large become NaN, or the
    largest number."""
    source, wanted = _array(src), _check_float8(dtype)
    if source.dtype not in (np.float16, np.float32, np.float64):
        raise RuntimeError(f"Values of the type {source.dtype} cannot become float8.")
    values = torch.from_numpy(np.array(source, copy=True))
    result = to_float8(values, wanted.name, log2_scale, nan_on_overflow=nan_on_overflow)
    return to_array(result, wanted.name).copy()


def host_pow2scale_cast_from_fp8(
    src: np.ndarray, dtype: Dtype | None = None, log2_scale: int = 0
) -> np.ndarray:
    """Float8 values times a power of two, in another floating type."""
    if src.dtype not in _ARRAYS:
        raise RuntimeError(f"The array has the type {src.dtype}, which is not a float8 type.")
    if dtype is None or not dtype.is_floating_point or dtype in (float8_143, float8_152):
        raise RuntimeError(f"Float8 values cannot become {dtype}.")
    values = to_carrier(src, _ARRAYS[src.dtype].name)
    return from_float8(values, log2_scale, dtype.as_torch()).numpy()


def _scale(src: object, dtype: Dtype | None) -> int:
    source = _array(src)
    if source.dtype not in (np.float16, np.float32):
        raise RuntimeError(f"Values of the type {source.dtype} cannot become float8.")
    return best_scale(source, _check_float8(dtype).name)


def host_fp8_mse_scale(src: np.ndarray, dtype: Dtype | None = None) -> tuple[float, int]:
    """The mean squared error of the best power of two, and that power."""
    scale = _scale(src, dtype)
    there = host_pow2scale_cast_to_fp8(src, dtype, scale, False)
    from .dtypes import float32

    back = host_pow2scale_cast_from_fp8(there, float32, -scale)
    return float(np.mean((back - np.asarray(src, np.float32)) ** 2)), scale


def host_fp8_mse_scale_pb(src: np.ndarray, dtype: Dtype | None = None) -> int:
    """The power of two with the least mean squared error."""
    return _scale(src, dtype)
