"""The power of two by which values are scaled before they become float8."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tremula.frontends.popxl.ops.float8 import from_float8, to_float8

#: scales that float8 tensors can have
_SCALES = range(-31, 32)


def best_scale(values: np.ndarray[Any, Any], name: str) -> int:
    """The power of two with the least squared error after the way to float8 and back; the least one of several."""
    source = torch.from_numpy(np.array(values, dtype=np.float32, order="C", copy=True)).reshape(-1)
    best, least = 0, float("inf")
    for scale in _SCALES:
        back = from_float8(to_float8(source, name, scale, nan_on_overflow=False), -scale, torch.float32)
        error = float((back - source).double().square().mean())
        if error < least:
            best, least = scale, error
    return best
