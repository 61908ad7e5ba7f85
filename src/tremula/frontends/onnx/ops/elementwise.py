"""Arithmetic and functions of single elements."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor

from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.gradients import clip, extreme
from tremula.frontends.onnx.ops.broadcasting import aligned
from tremula.frontends.onnx.ops.table import op
from tremula.frontends.onnx.ops.unsigned import widened

_UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "Abs": torch.abs,
    "Acos": torch.acos,
    "Acosh": torch.acosh,
    "Asin": torch.asin,
    "Asinh": torch.asinh,
    "Atan": torch.atan,
    "Atanh": torch.atanh,
    "Ceil": torch.ceil,
    "Cos": torch.cos,
    "Cosh": torch.cosh,
    "Erf": torch.erf,
    "Exp": torch.exp,
    "Floor": torch.floor,
    "Log": torch.log,
    "Neg": torch.neg,
    "Reciprocal": torch.reciprocal,
    "Round": torch.round,  # halves to even
    "Sign": torch.sign,
    "Sin": torch.sin,
    "Sinh": torch.sinh,
    "Sqrt": torch.sqrt,
    "Tan": torch.tan,
    "Tanh": torch.tanh,
}


def _unary(name: str, function: Callable[[Tensor], Tensor]) -> None:
    @op(name)
    def compute(call: Call, tensor: Tensor) -> Tensor:
        return widened(function, tensor)


for _name, _function in _UNARY.items():
    _unary(_name, _function)


@op("Identity", "Nop")
def identity(call: Call, tensor: Tensor) -> Tensor:
    return tensor


@op("Add")
def add(call: Call, first: Tensor, second: Tensor) -> Tensor:
    return widened(torch.add, *aligned(call, first, second))


@op("Sub")
def subtract(call: Call, first: Tensor, second: Tensor) -> Tensor:
    return widened(torch.sub, *aligned(call, first, second))


@op("Mul")
def multiply(call: Call, first: Tensor, second: Tensor) -> Tensor:
    product = widened(torch.mul, *aligned(call, first, second))
    # a half times a float is a half on the device
    mixed = {first.dtype, second.dtype} == {torch.float16, torch.float32}
    return product.to(torch.float16) if mixed else product


@op("Div")
def divide(call: Call, first: Tensor, second: Tensor) -> Tensor:
    first, second = aligned(call, first, second)
    if first.is_floating_point() or second.is_floating_point():
        return torch.div(first, second)
    return widened(functools.partial(torch.div, rounding_mode="trunc"), first, second)


@op("Pow")
def power(call: Call, base: Tensor, exponent: Tensor) -> Tensor:
    base, exponent = aligned(call, base, exponent)
    known = call.scalar(1)
    if known is not None and exponent.dim() <= base.dim():
        return torch.pow(base, known).to(base.dtype)  # squares and roots have kernels of their own
    if base.is_floating_point():
        return torch.pow(base, exponent.to(base.dtype))
    if exponent.is_floating_point():
        return torch.pow(base.to(exponent.dtype), exponent).to(base.dtype)
    return widened(torch.pow, base, exponent)


@op("Mod")
def modulo(call: Call, first: Tensor, second: Tensor) -> Tensor:
    return widened(torch.fmod if call.flag("fmod") else torch.remainder, first, second)


def _largest(first: Tensor, second: Tensor) -> Tensor:
    return _extreme_of(first, second, largest=True)


def _smallest(first: Tensor, second: Tensor) -> Tensor:
    return _extreme_of(first, second, largest=False)


def _extreme_of(first: Tensor, second: Tensor, *, largest: bool) -> Tensor:
    if first.is_floating_point():
        return extreme(first, second, largest=largest)
    return widened(torch.maximum if largest else torch.minimum, first, second)


@op("Max")
def maximum(call: Call, *tensors: Tensor) -> Tensor:
    return functools.reduce(_largest, tensors)


@op("Min")
def minimum(call: Call, *tensors: Tensor) -> Tensor:
    return functools.reduce(_smallest, tensors)


@op("Sum")
def total(call: Call, *tensors: Tensor) -> Tensor:
    return functools.reduce(torch.add, tensors)


@op("Mean")
def mean(call: Call, *tensors: Tensor) -> Tensor:
    return functools.reduce(torch.add, tensors) / len(tensors)


@op("Clip")
def clip_by_attributes(call: Call, tensor: Tensor) -> Tensor:
    low = call.number("min") if call.has("min") else None
    high = call.number("max") if call.has("max") else None
    return clip(tensor, low, high)


@op("Clip", since=11)
def clip_by_inputs(
    call: Call, tensor: Tensor, low: Tensor | None = None, high: Tensor | None = None
) -> Tensor:
    if not tensor.is_floating_point():
        return torch.clamp(tensor, low, high) if low is not None or high is not None else tensor
    bounds = [
        given if (known := call.scalar(place)) is None else known for place, given in ((1, low), (2, high))
    ]
    return clip(tensor, *bounds)
