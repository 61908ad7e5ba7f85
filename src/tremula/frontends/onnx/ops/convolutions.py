"""Convolutions of one to three dimensions."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.padding import padded
from tremula.frontends.onnx.ops.table import op
from tremula.frontends.onnx.ops.windows import windows_of

_CONVOLVE: dict[int, Callable[..., Tensor]] = {
    1: functional.conv1d,
    2: functional.conv2d,
    3: functional.conv3d,
}
_TRANSPOSED: dict[int, Callable[..., Tensor]] = {
    1: functional.conv_transpose1d,
    2: functional.conv_transpose2d,
    3: functional.conv_transpose3d,
}


def _spatial(tensor: Tensor, weights: Tensor) -> int:
    dims = tensor.dim() - 2
    if dims not in _CONVOLVE:
        raise Error(f"convolutions have 1 to 3 spatial dimensions, not {dims}.")
    if weights.dim() != tensor.dim():
        raise Error(f"the weights have {weights.dim()} dimensions, the input {tensor.dim()}.")
    return dims


@op("Conv")
def convolution(call: Call, tensor: Tensor, weights: Tensor, bias: Tensor | None = None) -> Tensor:
    dims = _spatial(tensor, weights)
    kernel = list(weights.shape[2:])
    if call.integers("kernel_shape", ()) not in ([], kernel):
        raise Error(f"kernel_shape is {call.integers('kernel_shape')}, but the weights have {kernel}.")
    windows = windows_of(call, tensor.shape[2:], kernel)
    padding = windows.before
    if not windows.same_pads or min(windows.before, default=0) < 0:
        tensor = padded(tensor, [0, 0, *windows.before, 0, 0, *windows.behind], "constant")
        padding = [0] * dims
    return _CONVOLVE[dims](
        tensor, weights, bias, windows.strides, padding, windows.dilations, call.integer("group", 1)
    )


@op("ConvTranspose")
def transposed_convolution(call: Call, tensor: Tensor, weights: Tensor, bias: Tensor | None = None) -> Tensor:
    dims = _spatial(tensor, weights)
    strides = call.integers("strides", ()) or [1] * dims
    dilations = call.integers("dilations", ()) or [1] * dims
    extra = call.integers("output_padding", ()) or [0] * dims
    reach = [(k - 1) * d + 1 for k, d in zip(weights.shape[2:], dilations, strict=True)]
    whole = [(extent - 1) * s + r for extent, s, r in zip(tensor.shape[2:], strides, reach, strict=True)]
    before, behind = _cut(call, list(tensor.shape[2:]), strides, whole, extra)
    groups = call.integer("group", 1)
    convolve = _TRANSPOSED[dims]
    simple = all(0 <= e < max(s, d) for e, s, d in zip(extra, strides, dilations, strict=True))
    if before == behind and simple and min(before, default=0) >= 0:
        return convolve(tensor, weights, bias, strides, before, extra, groups, dilations)
    result = convolve(tensor, weights, None, strides, 0, 0, groups, dilations)
    pads = [0, 0, *(-each for each in before), 0, 0, *(e - b for e, b in zip(extra, behind, strict=True))]
    result = padded(result, pads, "constant")
    return result if bias is None else result + bias.reshape(-1, *[1] * dims)


def _cut(
    call: Call, extents: list[int], strides: list[int], whole: list[int], extra: list[int]
) -> tuple[list[int], list[int]]:
    """What is cut off before and behind the whole result."""
    dims = len(extents)
    automatic = call.text("auto_pad", "NOTSET") or "NOTSET"
    shape = call.integers("output_shape", ())[-dims:]
    if not shape and automatic in ("SAME_UPPER", "SAME_LOWER"):
        shape = [extent * stride for extent, stride in zip(extents, strides, strict=True)]
    if not shape:
        pads = call.integers("pads", ()) or [0] * (2 * dims)
        if automatic == "VALID":
            pads = [0] * (2 * dims)
        return pads[:dims], pads[dims:]
    before, behind = [], []
    front = (automatic == "SAME_UPPER") != call.settings.as_device
    for place in range(dims):
        total = whole[place] + extra[place] - shape[place]
        less = max(total, 0) // 2
        before.append(less if front or total < 0 else total - less)
        behind.append(total - before[-1])
    return before, behind


def convolve(
    tensor: Tensor, weights: Tensor, strides: list[int], pads: list[int], dilations: list[int], groups: int
) -> Tensor:
    """A convolution in plain values, pads before all dimensions and then behind them."""
    dims = _spatial(tensor, weights)
    tensor = padded(tensor, [0, 0, *pads[:dims], 0, 0, *pads[dims:]], "constant") if any(pads) else tensor
    return _CONVOLVE[dims](tensor, weights, None, strides, 0, dilations, groups)
