"""Conversions from and to float8, scaled by a power of two."""

from __future__ import annotations

import torch
from torch import Tensor

from tremula.frontends.popxl.elements import ELEMENTS
from tremula.frontends.popxl.model import Op
from tremula.frontends.popxl.ops.table import Function, kernel
from tremula.frontends.popxl.runtime_errors import check_log2_scale

#: the largest number of each type
LARGEST = {"float8_143": 240.0, "float8_152": 57344.0}


def to_float8(values: Tensor, name: str, log2_scale: int | Tensor, *, nan_on_overflow: bool) -> Tensor:
    """`values` times a power of two, rounded to the nearest number of the type, halves to even."""
    carrier, largest = ELEMENTS[name].carrier, LARGEST[name]
    power = log2_scale.float() if isinstance(log2_scale, Tensor) else torch.tensor(float(log2_scale))
    scaled = values.float() * torch.exp2(power)
    result = scaled.clamp(-largest, largest).to(carrier)
    not_a_number = torch.isnan(scaled)
    if nan_on_overflow:
        not_a_number = not_a_number | (scaled.abs() > largest)
    bits = torch.where(
        not_a_number, torch.full_like(result.view(torch.uint8), 0x80), result.view(torch.uint8)
    )
    return bits.view(carrier)


def from_float8(values: Tensor, log2_scale: int | Tensor, dtype: torch.dtype) -> Tensor:
    """The numbers of float8 values times a power of two."""
    power = log2_scale.float() if isinstance(log2_scale, Tensor) else torch.tensor(float(log2_scale))
    return (values.float() * torch.exp2(power)).to(dtype)


@kernel("Pow2ScaleThenCast", dtypes=["to"])
def _to_float8(op: Op) -> Function:
    name = op.attributes["to"]
    nan_on_overflow = op.attributes.get("nan_on_overflow", True)

    def run(values: Tensor, log2_scale: Tensor) -> Tensor:
        check_log2_scale(log2_scale, op)
        return to_float8(values, name, log2_scale, nan_on_overflow=nan_on_overflow)

    return run


@kernel("CastThenPow2Scale", dtypes=["to"])
def _from_float8(op: Op) -> Function:
    carrier = ELEMENTS[op.attributes["to"]].carrier

    def run(values: Tensor, log2_scale: Tensor) -> Tensor:
        check_log2_scale(log2_scale, op)
        return from_float8(values, log2_scale, carrier)

    return run
