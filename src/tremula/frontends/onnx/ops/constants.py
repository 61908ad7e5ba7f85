"""Tensors that come from attributes and shapes."""

from __future__ import annotations

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.dtypes import element_type
from tremula.frontends.onnx.host_values import host
from tremula.frontends.onnx.ops.table import op
from tremula.frontends.onnx.stored_tensors import StoredTensor


@op("Constant")
def constant(call: Call) -> Tensor:
    if call.has("value"):
        return call.stored("value")
    for name, dtype in (("value_float", torch.float32), ("value_int", torch.int64)):
        if call.has(name):
            return torch.tensor(
                call.number(name) if dtype.is_floating_point else call.integer(name), dtype=dtype
            )
    if call.has("value_floats"):
        return torch.tensor(call.numbers("value_floats"), dtype=torch.float32)
    if call.has("value_ints"):
        return torch.tensor(call.integers("value_ints"), dtype=torch.int64)
    raise Error("a constant must have a value of numbers.")


@op("ConstantOfShape", static=(0,), grows=True)
def constant_of_shape(call: Call, shape: Tensor) -> Tensor:
    value = call.node.attributes.get("value")
    if not isinstance(value, StoredTensor):
        return torch.zeros(call.values(0), dtype=torch.float32)
    if value.elements != 1:
        raise Error(f"its value must be one number; it has the shape {list(value.shape)}.")
    return torch.full(call.values(0), _number(value), dtype=value.type.torch)


def _number(value: StoredTensor) -> float | int | bool:
    with host():
        found: float | int | bool = value.tensor().item()
    return found


@op("Shape")
def shape_of(call: Call, tensor: Tensor) -> Tensor:
    start, end = call.integer("start", 0), call.integer("end", tensor.dim())
    return _known(list(tensor.shape)[slice(start, end)])


@op("Size")
def size_of(call: Call, tensor: Tensor) -> Tensor:
    return _known(tensor.numel())


def _known(values: list[int] | int) -> Tensor:
    """A real tensor, also in a recording: shapes are fixed."""
    with host():
        return torch.tensor(values, dtype=torch.int64)


@op("EyeLike", grows=True)
def eye_like(call: Call, tensor: Tensor) -> Tensor:
    if tensor.dim() != 2:
        raise Error(f"it needs a matrix, not a tensor of {tensor.dim()} dimensions.")
    dtype = element_type(call.integer("dtype")).torch if call.has("dtype") else tensor.dtype
    rows, columns = tensor.shape
    offset = call.integer("k", 0)
    there = torch.arange(columns) == torch.arange(rows).unsqueeze(1) + offset
    return there.to(dtype)


@op("Range", static=(0, 1, 2), grows=True)
def number_range(call: Call, start: Tensor, limit: Tensor, step: Tensor) -> Tensor:
    if start.is_floating_point():
        return torch.arange(call.reals(0)[0], call.reals(1)[0], call.reals(2)[0], dtype=start.dtype)
    return torch.arange(call.value(0), call.value(1), call.value(2), dtype=start.dtype)


#: eight-bit types: a larger magnitude does not round to the largest number, and what it becomes if it may
_OVERFLOW = {
    torch.float8_e4m3fn: (464.0, float("nan")),
    torch.float8_e4m3fnuz: (248.0, float("nan")),
    torch.float8_e5m2: (61440.0, float("inf")),
    torch.float8_e5m2fnuz: (61440.0, float("nan")),
}


@op("Cast")
def cast(call: Call, tensor: Tensor) -> Tensor:
    dtype = element_type(call.integer("to")).torch
    return _to(call, tensor, call.settings.retyped.get(dtype, dtype))


@op("CastLike")
def cast_like(call: Call, tensor: Tensor, other: Tensor) -> Tensor:
    return _to(call, tensor, other.dtype)


def _to(call: Call, tensor: Tensor, dtype: torch.dtype) -> Tensor:
    if dtype is torch.bool:
        return tensor != 0
    if dtype not in _OVERFLOW:
        return tensor.to(dtype)
    wide = tensor.float()
    largest = torch.finfo(dtype).max
    bounded = wide.clamp(-largest, largest)
    if not call.flag("saturate", True):
        limit, beyond = _OVERFLOW[dtype]
        bounded = torch.where(wide.abs() > limit, torch.sign(wide) * beyond, bounded)
    return bounded.to(dtype)
