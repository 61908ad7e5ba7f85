"""Half-precision numbers of the host, with the names of C++."""

from __future__ import annotations

from typing import Any

import numpy as np


def from_bits(values: Any) -> Any:
    """Numbers as they are, or those whose bits 16-bit integers hold."""
    given = np.asarray(values)
    return given.view(np.float16) if given.dtype == np.uint16 else given


def copyFloatToDeviceHalf(target: Any, src: Any, dst: np.ndarray | None = None) -> np.ndarray:
    """Round single-precision numbers to half, into `dst` or a new array, and return the array."""
    rounded = np.asarray(src, dtype=np.float32).astype(np.float16)
    if dst is None:
        return rounded
    dst.reshape(-1).view(np.float16)[: rounded.size] = rounded.reshape(-1)
    return dst


def copyDeviceHalfToFloat(target: Any, src: Any, dst: np.ndarray | None = None) -> np.ndarray:
    """Convert half-precision numbers to single precision, into `dst` or a new array, and return the array."""
    wide: np.ndarray = from_bits(src).astype(np.float32)
    if dst is None:
        return wide
    dst.reshape(-1)[: wide.size] = wide.reshape(-1)
    return dst
