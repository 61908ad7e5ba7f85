"""Conversions of arrays from and to float8, which travels as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from popart import DataType
from tremula.frontends.popxl.elements import ELEMENTS
from tremula.frontends.popxl.float8_scale import best_scale
from tremula.frontends.popxl.ops.float8 import from_float8, to_float8

from ._values import element_name


def _to_bytes(data_type: DataType, source: Any, log2_scale: int, nan_on_overflow: bool) -> np.ndarray:
    values = torch.from_numpy(np.array(source, order="C", copy=True))
    result = to_float8(values, element_name(data_type), log2_scale, nan_on_overflow=nan_on_overflow)
    return result.view(torch.uint8).numpy().reshape(-1)


def _from_bytes(data_type: DataType, source: Any, dtype: np.dtype, log2_scale: int) -> np.ndarray:
    bits = torch.from_numpy(np.array(source, order="C", copy=True)).view(
        ELEMENTS[element_name(data_type)].carrier
    )
    return from_float8(bits, log2_scale, torch.float64).numpy().astype(dtype).reshape(-1)


convertFromFloat16ToFloat8AsUInt8 = _to_bytes
convertFromFloat32ToFloat8AsUInt8 = _to_bytes
convertFromFloat64ToFloat8AsUInt8 = _to_bytes
convertFromFloat8AsUInt8ToFloat16 = _from_bytes
convertFromFloat8AsUInt8ToFloat32 = _from_bytes
convertFromFloat8AsUInt8ToFloat64 = _from_bytes


def calculateScaleFromFloat16ToFloat8(source: np.ndarray, data_type: DataType) -> int:
    """Minus the power of two with the least squared error."""
    return -best_scale(source, element_name(data_type))


calculateScaleFromFloat32ToFloat8 = calculateScaleFromFloat16ToFloat8
