"""Arrays of the host, and tables of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .dtypes import dtype as Dtype
from .dtypes import float8_143, float8_152
from .fp8_utils import host_pow2scale_cast_from_fp8, host_pow2scale_cast_to_fp8

#: types of 64 bits, and those that they become
downcast_np_dtypes = {
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("float64"): np.dtype("float32"),
}


def to_numpy(
    x: Any,
    dtype: Dtype | None = None,
    downcast: bool = True,
    copy: bool = True,
    log2_scale: int | None = None,
    nan_on_overflow: bool | None = None,
) -> np.ndarray:
    """An array for numbers, nested lists of them, arrays or tensors.

    Without `dtype` types of 64 bits become those of 32 bits if `downcast` says so. `log2_scale` and `nan_on_overflow`
    are for float8.
    """
    if isinstance(x, np.memmap):
        _check_memmap(x, dtype)
        return x
    if isinstance(x, torch.Tensor):
        x = x.detach().numpy()
    if dtype in (float8_143, float8_152):
        return _to_float8(x, dtype, log2_scale or 0, nan_on_overflow is None or nan_on_overflow)
    for name, value in (("log2_scale", log2_scale), ("nan_on_overflow", nan_on_overflow)):
        if value is not None:
            raise RuntimeError(f"{name} is for float8 types only, not for {dtype}.")
    array = np.asarray(x, order="C")
    wanted = dtype.as_numpy() if dtype is not None else array.dtype
    if dtype is None and downcast:
        wanted = downcast_np_dtypes.get(wanted, wanted)
    if array.dtype == wanted:
        return array.copy() if copy else array
    return array.astype(wanted, order="C")


def _check_memmap(x: np.memmap, dtype: Dtype | None) -> None:
    if dtype is not None and dtype.as_numpy() != x.dtype:
        raise ValueError(
            f"When passing a memory-mapped NumPy array, the `dtype` parameter ({dtype}) must be "
            f"left out or be {x.dtype}."
        )
    if not (x.flags.c_contiguous and x.flags.aligned):
        raise ValueError(
            "When passing a memory-mapped NumPy array, it must already be in C-ordered and aligned memory."
        )
    if x.dtype in downcast_np_dtypes:
        raise ValueError(
            f"When passing a memory-mapped NumPy array, the dtype {dtype} is not supported, as it requires "
            f"downcasting: the array has {x.dtype}, and is not copied."
        )


def _to_float8(x: Any, dtype: Dtype, log2_scale: int, nan_on_overflow: bool) -> np.ndarray:
    array = np.asarray(x, order="C")
    if array.dtype == dtype.as_numpy():
        return array.copy()
    if array.dtype not in (np.float16, np.float32, np.float64):
        raise TypeError(f"Values of the type {array.dtype} cannot become float8: use a floating type.")
    return host_pow2scale_cast_to_fp8(array, dtype, log2_scale, nan_on_overflow)


def table_to_string(rows: Sequence[Sequence[Any]], delimiter: str = " | ", header: bool = True) -> str:
    """Rows as lines of equal width; a line is drawn below the first."""
    widths = [max(len(str(value)) for value in column) for column in zip(*rows, strict=False)]
    lines = []
    for number, row in enumerate(rows):
        line = delimiter.join(f"{value!s: <{width}}" for value, width in zip(row, widths, strict=False))
        lines.append(f"{line}\n")
        if header and not number and len(rows) > 1:
            lines.append("-" * (len(line) + 1) + "\n")
    return "".join(lines)


__all__ = [
    "downcast_np_dtypes",
    "host_pow2scale_cast_from_fp8",
    "host_pow2scale_cast_to_fp8",
    "table_to_string",
    "to_numpy",
]


def _to_device_info(device_type: str, num_ipus: int = 1, use_popdist: bool = False) -> Any:
    """A device of PopART's for a description."""
    import popart

    manager = popart.DeviceManager()
    if device_type == "cpu":
        if num_ipus > 1:
            raise ValueError(f"The device 'cpu' is one device; {num_ipus} were asked for.")
        return manager.createCpuDevice()
    if device_type == "ipu_model":
        return manager.createIpuModelDevice({"numIPUs": num_ipus})
    if device_type == "ipu_hw":
        devices = manager.enumerateDevices(numIpus=num_ipus)
        if not devices:
            raise RuntimeError(
                f"There is no device with {num_ipus} IPUs; see gc-monitor for those that there are."
            )
        return devices[0]
    raise ValueError(
        f"Incorrect device type provided: {device_type}, must be one of: `ipu_hw`, `ipu_model`, `cpu`"
    )
