"""Resize and Upsample: each dimension on its own, by the elements that one of the result is made of, with weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.broadcasting import axis_of, listed
from tremula.frontends.onnx.ops.table import op

_ROUNDING: dict[str, Callable[[float], int]] = {
    "round_prefer_floor": lambda x: math.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: math.floor(x + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
    # the device's own: as torch does it
    "pytorch": math.floor,
}


@dataclass(frozen=True)
class _Axis:
    """How one dimension is resized."""

    extent: int
    length: int
    scale: float
    start: float = 0.0
    end: float = 1.0


@dataclass(frozen=True)
class _Way:
    """The attributes that say how."""

    mode: str
    coordinates: str
    rounding: str = "round_prefer_floor"
    cubic: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    extrapolation: float = 0.0


def _source(axis: _Axis, way: _Way, place: int) -> float:
    """Where an output element lies in the input."""
    exact = axis.scale * axis.extent
    kind = "asymmetric" if way.rounding == "pytorch" else way.coordinates
    if kind == "asymmetric":
        return place / axis.scale
    if kind == "half_pixel" or (kind == "pytorch_half_pixel" and exact != 1):
        return (place + 0.5) / axis.scale - 0.5
    if kind == "pytorch_half_pixel":
        return -0.5
    if kind == "half_pixel_symmetric":
        centre = axis.extent / 2
        return centre * (1 - axis.length / exact) + (place + 0.5) / axis.scale - 0.5
    if kind == "tf_half_pixel_for_nn":
        return (place + 0.5) / axis.scale
    if kind == "align_corners":
        return 0.0 if exact == 1 else place * (axis.extent - 1) / (exact - 1)
    if kind == "tf_crop_and_resize":
        last = axis.extent - 1
        if axis.length == 1:
            return 0.5 * (axis.start + axis.end) * last
        return axis.start * last + place * (axis.end - axis.start) * last / (axis.length - 1)
    raise Error(f"'{kind}' is not a coordinate_transformation_mode.")


def _cubic(distance: float, a: float) -> float:
    x = abs(distance)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def _taps(source: float, axis: _Axis, way: _Way) -> list[tuple[int, float]]:
    """The input elements of an output element, and their weights."""
    if way.mode == "nearest":
        return [(_ROUNDING[way.rounding](source), 1.0)]
    reach = 1 if way.mode == "linear" else 2
    scale = min(axis.scale, 1.0) if way.antialias else 1.0
    base = math.floor(source)
    first = math.floor(-reach / scale) + 1
    taps = []
    for place in range(first, 2 - first if reach == 2 else 2 - 2 * first + first):
        distance = (place - (source - base)) * scale
        weight = max(1 - abs(distance), 0.0) if reach == 1 else _cubic(distance, way.cubic)
        taps.append((base + place, weight))
    if way.exclude_outside:
        taps = [(place, weight if 0 <= place < axis.extent else 0.0) for place, weight in taps]
    total = sum(weight for _, weight in taps)
    if way.antialias or way.exclude_outside:
        taps = [(place, weight / total) for place, weight in taps]
    return taps


def _resize_axis(tensor: Tensor, dim: int, axis: _Axis, way: _Way) -> Tensor:
    rows = [_taps(_source(axis, way, place), axis, way) for place in listed(range(axis.length))]
    width = max(len(row) for row in rows)
    result: Tensor | None = None
    for tap in range(width):
        chosen = [row[tap] if tap < len(row) else (0, 0.0) for row in rows]
        weights = [weight for _, weight in chosen]
        if not any(weights):
            continue
        places = [min(max(place, 0), axis.extent - 1) for place, _ in chosen]
        part = tensor.index_select(dim, torch.tensor(places, dtype=torch.int64, device=tensor.device))
        if any(weight != 1.0 for weight in weights):
            shape = [-1 if each == dim else 1 for each in range(tensor.dim())]
            part = part * torch.tensor(weights, dtype=tensor.dtype, device=tensor.device).reshape(shape)
        result = part if result is None else result + part
    return tensor if result is None else result


def _resized(tensor: Tensor, axes: dict[int, _Axis], way: _Way) -> Tensor:
    if way.mode not in ("nearest", "linear", "cubic"):
        raise Error(f"'{way.mode}' is not a mode; choose from nearest, linear and cubic.")
    if way.rounding not in _ROUNDING:
        raise Error(f"'{way.rounding}' is not a nearest_mode; choose from {', '.join(_ROUNDING)}.")
    whole = tensor if tensor.is_floating_point() or way.mode == "nearest" else tensor.float()
    outside: Tensor | None = None
    for dim, axis in axes.items():
        if axis.scale == 1.0 and axis.length == axis.extent and way.coordinates != "tf_crop_and_resize":
            continue
        whole = _resize_axis(whole, dim, axis, way)
        if way.coordinates == "tf_crop_and_resize":
            places = [_source(axis, way, place) for place in range(axis.length)]
            beyond = [place < 0 or place > axis.extent - 1 for place in places]
            shape = [-1 if each == dim else 1 for each in range(tensor.dim())]
            mask = torch.tensor(beyond, dtype=torch.bool, device=tensor.device).reshape(shape)
            outside = mask if outside is None else outside | mask
    if outside is not None:
        whole = whole.masked_fill(outside, way.extrapolation)
    return whole if whole.dtype == tensor.dtype else whole.round().to(tensor.dtype)


def _by_scales(tensor: Tensor, scales: list[float], dims: list[int]) -> dict[int, _Axis]:
    if len(scales) != len(dims):
        raise Error(f"there are {len(scales)} scales for {len(dims)} dimensions.")
    if any(scale <= 0 for scale in scales):
        raise Error(f"scales must be positive, not {scales}.")
    return {
        # in the precision of scales: 6 times 5/6 is 5
        dim: _Axis(tensor.shape[dim], math.floor(np.float32(tensor.shape[dim]) * np.float32(scale)), scale)
        for dim, scale in zip(dims, scales, strict=True)
    }


@op("Upsample", "Resize", since=10, static=(1,), grows=True)
@op("Upsample", since=9, static=(1,), grows=True)
def resize_by_scales(call: Call, tensor: Tensor, scales: Tensor) -> Tensor:
    way = _Way(call.text("mode", "nearest"), "asymmetric", "floor")
    return _resized(tensor, _by_scales(tensor, call.reals(1), list(range(tensor.dim()))), way)


@op("Upsample", since=7, grows=True)
def upsample_by_attribute(call: Call, tensor: Tensor) -> Tensor:
    way = _Way(call.text("mode", "nearest"), "asymmetric", "floor")
    return _resized(tensor, _by_scales(tensor, call.numbers("scales"), list(range(tensor.dim()))), way)


@op("Resize", since=11, static=(1, 2, 3), grows=True)
def resize(call: Call, tensor: Tensor, *_places: Tensor | None) -> Tensor:
    way = _Way(
        call.text("mode", "nearest"),
        call.text("coordinate_transformation_mode", "half_pixel"),
        call.text("nearest_mode", "round_prefer_floor"),
        call.number("cubic_coeff_a", -0.75),
        call.flag("exclude_outside"),
        call.flag("antialias"),
        call.number("extrapolation_value", 0.0),
    )
    dims = [axis_of(axis, tensor.dim()) for axis in call.integers("axes", list(range(tensor.dim())))]
    sizes = call.values(3) if call.given(3) is not None else []
    axes = _by_sizes(call, tensor, sizes, dims) if sizes else _by_scales(tensor, call.reals(2), dims)
    if way.coordinates == "tf_crop_and_resize":
        roi = call.reals(1)
        axes = {
            dim: _Axis(axis.extent, axis.length, axis.scale, roi[place], roi[place + len(dims)])
            for place, (dim, axis) in enumerate(axes.items())
        }
    return _resized(tensor, axes, way)


def _by_sizes(call: Call, tensor: Tensor, sizes: list[int], dims: list[int]) -> dict[int, _Axis]:
    if len(sizes) != len(dims):
        raise Error(f"there are {len(sizes)} sizes for {len(dims)} dimensions.")
    scales = [size / tensor.shape[dim] for size, dim in zip(sizes, dims, strict=True)]
    policy = call.text("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        chosen = min(scales) if policy == "not_larger" else max(scales)
        scales = [chosen] * len(dims)
        sizes = [math.floor(chosen * tensor.shape[dim] + 0.5) for dim in dims]
    return {
        dim: _Axis(tensor.shape[dim], size, scale)
        for dim, size, scale in zip(dims, sizes, scales, strict=True)
    }
