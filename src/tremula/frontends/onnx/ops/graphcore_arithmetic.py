"""The IPU's own operators on single elements."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.dtypes import named_type
from tremula.frontends.onnx.ops.table import GRAPHCORE, op
from tremula.frontends.onnx.ops.unsigned import widened

_UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "Detach": torch.detach,
    "Expm1": torch.expm1,
    "Gelu": lambda tensor: functional.gelu(tensor, approximate="tanh"),
    "GeluErf": functional.gelu,
    "Log1p": torch.log1p,
    "NearbyInt": torch.round,  # halves to even
    "Nop": lambda tensor: tensor,
    # halves away from zero
    "Round": lambda tensor: torch.sign(tensor) * torch.floor(torch.abs(tensor) + 0.5),
    "Square": torch.square,
    "Swish": functional.silu,
    "TensorRemap": lambda tensor: tensor,
    "ZerosLike": torch.zeros_like,
}
_BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Atan2": torch.atan2,
    "Fmod": torch.fmod,
    "Remainder": torch.remainder,
}


def _unary(name: str, function: Callable[[Tensor], Tensor]) -> None:
    @op(name, domain=GRAPHCORE)
    def compute(call: Call, tensor: Tensor) -> Tensor:
        return function(tensor)


def _binary(name: str, function: Callable[[Tensor, Tensor], Tensor]) -> None:
    @op(name, domain=GRAPHCORE)
    def compute(call: Call, first: Tensor, second: Tensor) -> Tensor:
        return widened(function, first, second)


for _name, _unary_function in _UNARY.items():
    _unary(_name, _unary_function)
for _name, _binary_function in _BINARY.items():
    _binary(_name, _binary_function)


@op("Scale", domain=GRAPHCORE)
def scale(call: Call, tensor: Tensor) -> Tensor:
    return (tensor * call.number("scale")).to(tensor.dtype)


@op("ScaledAdd", domain=GRAPHCORE)
def scaled_add(
    call: Call, first: Tensor, second: Tensor, scale0: Tensor | None = None, scale1: Tensor | None = None
) -> Tensor:
    left: Tensor | float = call.number("scale0", 1.0) if scale0 is None else scale0
    right: Tensor | float = call.number("scale1", 1.0) if scale1 is None else scale1
    return (first * left + second * right).to(first.dtype)


@op("IncrementMod", domain=GRAPHCORE)
def increment_modulo(call: Call, tensor: Tensor) -> Tensor:
    increment, modulus = call.number("increment"), call.number("modulus")
    if tensor.is_floating_point():
        return torch.fmod(tensor + increment, modulus)
    return widened(lambda values: torch.fmod(values + int(increment), int(modulus)), tensor)


#: the device's own numbers of types; the small floating ones cannot be initialised
_DATA_TYPES = (
    *("UINT8", "INT8", "", "", "UINT16", "INT16", "INT32", "INT64", "UINT32", "UINT64", "BOOL", "FLOAT"),
    *("FLOAT16", "BFLOAT16", "DOUBLE"),
)


@op("Init", domain=GRAPHCORE, grows=True)
def initialised(call: Call) -> Tensor:
    """Zeros, also where the device would leave what was in memory."""
    number = call.integer("data_type")
    if not 0 <= number < len(_DATA_TYPES) or not _DATA_TYPES[number]:
        raise Error(f"{number} is not a type of elements that can be initialised.")
    dtype = named_type(_DATA_TYPES[number]).torch
    return torch.zeros(call.integers("shape"), dtype=call.settings.retyped.get(dtype, dtype))


@op("NormalizeImage", domain=GRAPHCORE)
def normalise_image(call: Call, image: Tensor, offsets: Tensor, scales: Tensor) -> Tensor:
    """Images whose last dimension is three channels; a fourth one of zeros is added."""
    if image.shape[-1] > 4:
        raise Error(f"the last dimension must be at most 4 channels; it has {image.shape[-1]}.")
    dtype = image.dtype if image.is_floating_point() else torch.float16
    normed = (image.to(dtype) * call.number("scale", 1.0) - offsets.to(dtype)) * scales.to(dtype)
    return functional.pad(normed, (0, 4 - image.shape[-1]))


@op("Abort", domain=GRAPHCORE, folds=False)
def abort(call: Call, condition: Tensor | None = None) -> list[Tensor]:
    stops = torch.ones((), dtype=torch.bool) if condition is None else condition != 0
    torch._assert_async(torch.logical_not(stops).all(), "Abort Program")
    return []
