"""Comparisons, logic, and bits."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.broadcasting import aligned
from tremula.frontends.onnx.ops.table import GRAPHCORE, op
from tremula.frontends.onnx.ops.unsigned import signed

_BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "And": torch.logical_and,
    "Equal": torch.eq,
    "Greater": torch.gt,
    "GreaterOrEqual": torch.ge,
    "Less": torch.lt,
    "LessOrEqual": torch.le,
    "Or": torch.logical_or,
    "Xor": torch.logical_xor,
}
_BITS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "BitwiseAnd": torch.bitwise_and,
    "BitwiseOr": torch.bitwise_or,
    "BitwiseXor": torch.bitwise_xor,
    "BitwiseXnor": lambda first, second: torch.bitwise_not(torch.bitwise_xor(first, second)),
}


def _binary(name: str, function: Callable[[Tensor, Tensor], Tensor], domain: str) -> None:
    @op(name, domain=domain)
    def compute(call: Call, first: Tensor, second: Tensor) -> Tensor:
        first, second = aligned(call, first, second)
        return function(signed(first), signed(second))


def _bitwise(name: str, function: Callable[[Tensor, Tensor], Tensor], domain: str) -> None:
    @op(name, domain=domain)
    def compute(call: Call, first: Tensor, second: Tensor) -> Tensor:
        return function(signed(first), signed(second)).to(first.dtype)


for _name, _function in _BINARY.items():
    _binary(_name, _function, "ai.onnx")
for _name, _function in _BITS.items():
    _bitwise(_name, _function, "ai.onnx")
    _bitwise(_name, _function, GRAPHCORE)


@op("Not")
def logical_not(call: Call, tensor: Tensor) -> Tensor:
    return torch.logical_not(tensor)


@op("BitwiseNot")
@op("BitwiseNot", domain=GRAPHCORE)
def bitwise_not(call: Call, tensor: Tensor) -> Tensor:
    return torch.bitwise_not(signed(tensor)).to(tensor.dtype)


@op("IsNaN")
def is_nan(call: Call, tensor: Tensor) -> Tensor:
    return torch.isnan(tensor)


@op("IsInf")
def is_infinite(call: Call, tensor: Tensor) -> Tensor:
    found = torch.isinf(tensor)
    if not call.flag("detect_negative", True):
        found = found & (tensor > 0)
    if not call.flag("detect_positive", True):
        found = found & (tensor < 0)
    return found
