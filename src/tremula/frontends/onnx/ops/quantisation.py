"""Quantised numbers, as files of exporters have them: the device computes with what they stand for."""

from __future__ import annotations

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.dtypes import element_type
from tremula.frontends.onnx.ops.broadcasting import axis_of
from tremula.frontends.onnx.ops.table import op


def _along(call: Call, parameter: Tensor, tensor: Tensor) -> Tensor:
    """A scale or zero point so that it broadcasts over `tensor`: one, one per element of an axis, or one per block."""
    block = call.integer("block_size", 0)
    if parameter.numel() == 1 and not block:
        return parameter.reshape(())
    axis = axis_of(call.integer("axis", 1), tensor.dim())
    if block:
        return parameter.repeat_interleave(block, axis).narrow(axis, 0, tensor.shape[axis])
    return parameter.reshape([-1 if dim == axis else 1 for dim in range(tensor.dim())])


@op("QuantizeLinear")
def quantize(call: Call, tensor: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    kind = call.integer("output_dtype", 0)
    dtype = zero.dtype if zero is not None else element_type(kind).torch if kind else torch.uint8
    values = tensor.to(scale.dtype) / _along(call, scale, tensor)
    if dtype.is_floating_point:
        values = values if zero is None else values + _along(call, zero, tensor).to(values.dtype)
        limit = torch.finfo(dtype).max
        return (values.clamp(-limit, limit) if call.flag("saturate", True) else values).to(dtype)
    values = values.round()
    if zero is not None:
        values = values + _along(call, zero, tensor).to(values.dtype)
    limits = torch.iinfo(dtype)
    return values.clamp(limits.min, limits.max).to(torch.int32).to(dtype)


@op("DequantizeLinear")
def dequantize(call: Call, tensor: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    values = tensor.to(torch.float32)
    if zero is not None:
        values = values - _along(call, zero, tensor).to(torch.float32)
    kind = call.integer("output_dtype", 0)
    dtype = element_type(kind).torch if kind else scale.dtype
    return (values * _along(call, scale, tensor).to(torch.float32)).to(dtype)


@op("DynamicQuantizeLinear")
def dynamic_quantize(call: Call, tensor: Tensor) -> list[Tensor]:
    high, low = tensor.amax().clamp_min(0.0), tensor.amin().clamp_max(0.0)
    scale = (high - low) / 255.0
    zero = (-low / scale).round().clamp(0, 255)
    values = ((tensor / scale).round() + zero).clamp(0, 255)
    return [values.to(torch.uint8), scale, zero.to(torch.uint8)]


@op("MatMulInteger")
def integer_matmul(
    call: Call, first: Tensor, second: Tensor, zero_a: Tensor | None = None, zero_b: Tensor | None = None
) -> Tensor:
    left, right = first.to(torch.int32), second.to(torch.int32)
    if zero_a is not None:
        if zero_a.dim() > 1 or (
            zero_a.dim() == 1 and zero_a.numel() > 1 and zero_a.numel() != left.shape[-2]
        ):
            raise Error(f"the zero point of the rows has the shape {list(zero_a.shape)}.")
        left = left - (zero_a.reshape(-1, 1) if zero_a.numel() > 1 else zero_a.reshape(())).to(torch.int32)
    if zero_b is not None:
        right = right - (zero_b.reshape(()) if zero_b.numel() == 1 else zero_b).to(torch.int32)
    return torch.matmul(left, right)
