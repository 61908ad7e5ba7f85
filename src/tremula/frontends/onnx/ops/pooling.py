"""Pools over sliding windows, and over all of a tensor's spatial dimensions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.broadcasting import listed
from tremula.frontends.onnx.ops.padding import padded
from tremula.frontends.onnx.ops.table import op
from tremula.frontends.onnx.ops.windows import Windows, windows_of

_MAX: dict[int, Callable[..., Tensor]] = {
    1: functional.max_pool1d,
    2: functional.max_pool2d,
    3: functional.max_pool3d,
}
_AVERAGE: dict[int, Callable[..., Tensor]] = {
    1: functional.avg_pool1d,
    2: functional.avg_pool2d,
    3: functional.avg_pool3d,
}
_CONVOLVE: dict[int, Callable[..., Tensor]] = {
    1: functional.conv1d,
    2: functional.conv2d,
    3: functional.conv3d,
}


def _windows(call: Call, tensor: Tensor) -> Windows:
    if tensor.dim() - 2 not in _MAX:
        raise Error(f"pools have 1 to 3 spatial dimensions, not {tensor.dim() - 2}.")
    kernel = call.integers("kernel_shape")
    if len(kernel) != tensor.dim() - 2:
        raise Error(f"kernel_shape {kernel} does not have {tensor.dim() - 2} numbers.")
    return windows_of(call, tensor.shape[2:], kernel, ceil=call.flag("ceil_mode"))


def _behind(windows: Windows, extents: torch.Size) -> list[int]:
    """What has to be padded behind, so that the last window is whole."""
    return [
        (count - 1) * stride + (size - 1) * dilation + 1 - extent - before
        for count, stride, size, dilation, extent, before in zip(
            windows.count,
            windows.strides,
            windows.kernel,
            windows.dilations,
            extents,
            windows.before,
            strict=True,
        )
    ]


def _around(tensor: Tensor, windows: Windows, value: float) -> Tensor:
    pads = [0, 0, *windows.before, 0, 0, *(max(each, 0) for each in _behind(windows, tensor.shape[2:]))]
    return padded(tensor, pads, "constant", value) if any(pads) else tensor


@op("MaxPool")
def max_pool(call: Call, tensor: Tensor) -> Tensor | list[Tensor]:
    windows = _windows(call, tensor)
    dims = tensor.dim() - 2
    pool = _MAX[dims]
    within = all(b <= k // 2 for b, k in zip(windows.before, windows.kernel, strict=True))
    if (
        not call.wants(1)
        and tensor.is_floating_point()
        and windows.same_pads
        and within
        and not call.flag("ceil_mode")
    ):
        return pool(tensor, windows.kernel, windows.strides, windows.before, windows.dilations)
    values = tensor if tensor.is_floating_point() else tensor.float()
    values = _around(values, windows, float("-inf"))
    if not call.wants(1):
        return pool(values, windows.kernel, windows.strides, 0, windows.dilations).to(tensor.dtype)
    result, places = pool(values, windows.kernel, windows.strides, 0, windows.dilations, return_indices=True)
    return [result.to(tensor.dtype), _flat_places(call, tensor, places, windows, values.shape[2:])]


def _flat_places(
    call: Call, tensor: Tensor, places: Tensor, windows: Windows, padded_extents: torch.Size
) -> Tensor:
    """Places in the whole tensor, from places in the padded planes."""
    coordinates = []
    for extent, before in zip(reversed(padded_extents), reversed(windows.before), strict=True):
        coordinates.append(places % extent - before)
        places = places // extent
    coordinates.reverse()
    extents = tensor.shape[2:]
    order = range(len(extents))
    flat = torch.zeros_like(coordinates[0])
    for dim in order if not call.integer("storage_order", 0) else reversed(order):
        flat = flat * extents[dim] + coordinates[dim]
    planes = torch.arange(tensor.shape[0] * tensor.shape[1], device=tensor.device) * math.prod(extents)
    return flat + planes.reshape(tensor.shape[0], tensor.shape[1], *[1] * len(extents))


@op("AveragePool")
def average_pool(call: Call, tensor: Tensor) -> Tensor:
    windows = _windows(call, tensor)
    include = call.flag("count_include_pad")
    plain = not call.flag("ceil_mode") and all(each == 1 for each in windows.dilations)
    within = all(b <= k // 2 for b, k in zip(windows.before, windows.kernel, strict=True))
    if plain and windows.same_pads and within:
        return _AVERAGE[tensor.dim() - 2](
            tensor, windows.kernel, windows.strides, windows.before, False, include
        )
    counts = _counts(windows, tensor.shape[2:], include)
    return _sums(tensor, windows) / counts.to(tensor.dtype)


def _sums(tensor: Tensor, windows: Windows) -> Tensor:
    """The sum of each window."""
    channels = tensor.shape[1]
    ones = tensor.new_ones((channels, 1, *windows.kernel))
    values = _around(tensor, windows, 0.0)
    return _CONVOLVE[tensor.dim() - 2](values, ones, None, windows.strides, 0, windows.dilations, channels)


def _counts(windows: Windows, extents: torch.Size, include_pads: bool) -> Tensor:
    """How many elements of each window count."""
    by_dim = []
    for dim, extent in enumerate(extents):
        low = -windows.before[dim] if include_pads else 0
        high = extent + windows.behind[dim] if include_pads else extent
        starts = [place * windows.strides[dim] - windows.before[dim] for place in range(windows.count[dim])]
        steps = range(0, windows.kernel[dim] * windows.dilations[dim], windows.dilations[dim])
        by_dim.append([sum(low <= start + step < high for step in steps) for start in starts])
    listed(range(math.prod(windows.count)))  # no more than can be written down
    products = [math.prod(each) for each in itertools.product(*by_dim)]
    return torch.tensor(products, dtype=torch.float32).reshape(windows.count)


@op("LpPool")
def lp_pool(call: Call, tensor: Tensor) -> Tensor:
    order = call.integer("p", 2)
    return _sums(tensor.abs() ** order, _windows(call, tensor)) ** (1.0 / order)


def _spatial_dims(tensor: Tensor) -> list[int]:
    return list(range(2, tensor.dim()))


@op("GlobalAveragePool")
def global_average_pool(call: Call, tensor: Tensor) -> Tensor:
    return tensor.mean(_spatial_dims(tensor), keepdim=True)


@op("GlobalMaxPool")
def global_max_pool(call: Call, tensor: Tensor) -> Tensor:
    return tensor.amax(_spatial_dims(tensor), keepdim=True)


@op("GlobalLpPool")
def global_lp_pool(call: Call, tensor: Tensor) -> Tensor:
    order = call.integer("p", 2)
    return (tensor.abs() ** order).sum(_spatial_dims(tensor), keepdim=True) ** (1.0 / order)
