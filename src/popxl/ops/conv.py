"""Convolutions, pools, and other windows over images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ..tensor import Tensor
from ._create import create
from .reductions import check_scaled_operands

PadType = Literal["not_set", "same_upper", "same_lower", "valid"]
_PADS = ("not_set", "same_upper", "same_lower", "valid")


def _check_pad(pad_type: str | None) -> str:
    if pad_type not in _PADS:
        raise ValueError(f"The padding type is {', '.join(_PADS)}, not {pad_type!r}.")
    return pad_type


def _convolution(
    kind: str,
    tensors: dict[str, Tensor],
    window: tuple[Sequence[int], Sequence[int], Sequence[int], int, str],
    hints: tuple[Sequence[float] | None, Sequence[str] | None, Sequence[int] | None],
    **more: Sequence[int],
) -> Tensor:
    """A convolution of either kind; one with `log2_scale` among its tensors is of float8.

    Args:
        kind: of op.
        tensors: by argument.
        window: stride, padding, dilation, groups and the type of padding.
        hints: memory proportions, types of partial results, dithering.
        more: settings that only this kind has.
    """
    stride, padding, dilation, groups, pad_type = window
    proportions, partials, dithering = hints
    attributes = {
        "stride": tuple(stride),
        "padding": tuple(padding),
        "dilation": tuple(dilation),
        "groups": groups,
        "pad_type": _check_pad(pad_type),
        "available_memory_proportions": proportions,
        "partials_types": partials,
        "enable_conv_dithering": dithering,
        **{name: tuple(value) for name, value in more.items()},
    }
    scaled = "log2_scale" in tensors
    if scaled:
        check_scaled_operands("convolution", *tensors.values())
        attributes["partials_types"] = ["half"]
    return create(kind, tensors, f"{kind.lower()}_out", attributes, together=not scaled)


def conv(
    t: Tensor,
    weight: Tensor,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    pad_type: PadType = "not_set",
    available_memory_proportions: Sequence[float] | None = None,
    partials_types: Sequence[str] | None = None,
    enable_conv_dithering: Sequence[int] | None = None,
) -> Tensor:
    """A convolution."""
    window = (stride, padding, dilation, groups, pad_type)
    hints = (available_memory_proportions, partials_types, enable_conv_dithering)
    return _convolution("Conv", {"t": t, "weight": weight}, window, hints)


def conv_pow2scaled(
    t: Tensor,
    weight: Tensor,
    log2_scale: Tensor,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    pad_type: PadType = "not_set",
    available_memory_proportions: Sequence[float] | None = None,
    enable_conv_dithering: Sequence[int] | None = None,
) -> Tensor:
    """A convolution of float8 tensors times a power of two, in half precision."""
    window = (stride, padding, dilation, groups, pad_type)
    hints = (available_memory_proportions, None, enable_conv_dithering)
    return _convolution("Conv", {"t": t, "weight": weight, "log2_scale": log2_scale}, window, hints)


def conv_transpose(
    t: Tensor,
    weight: Tensor,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    pad_type: PadType = "not_set",
    output_padding: Sequence[int] = (),
    output_shape: Sequence[int] = (),
    available_memory_proportions: Sequence[float] | None = None,
    partials_types: Sequence[str] | None = None,
    enable_conv_dithering: Sequence[int] | None = None,
) -> Tensor:
    """A transposed convolution."""
    window = (stride, padding, dilation, groups, pad_type)
    hints = (available_memory_proportions, partials_types, enable_conv_dithering)
    sizes = {"output_padding": output_padding, "output_shape": output_shape}
    return _convolution("ConvTranspose", {"t": t, "weight": weight}, window, hints, **sizes)


def conv_transpose_pow2scaled(
    t: Tensor,
    weight: Tensor,
    log2_scale: Tensor,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    pad_type: PadType = "not_set",
    output_padding: Sequence[int] = (),
    output_shape: Sequence[int] = (),
    available_memory_proportions: Sequence[float] | None = None,
    enable_conv_dithering: Sequence[int] | None = None,
) -> Tensor:
    """A transposed convolution of float8 tensors times a power of two, in half precision."""
    window = (stride, padding, dilation, groups, pad_type)
    hints = (available_memory_proportions, None, enable_conv_dithering)
    tensors = {"t": t, "weight": weight, "log2_scale": log2_scale}
    sizes = {"output_padding": output_padding, "output_shape": output_shape}
    return _convolution("ConvTranspose", tensors, window, hints, **sizes)


def _window(
    kernel_size: Sequence[int],
    stride: Sequence[int] | None,
    padding: Sequence[int] | None,
    out_pads: Sequence[int] | None,
    dilation: Sequence[int] | None,
    in_dilations: Sequence[int] | None,
    auto_pad: str,
    ceil_mode: bool,
) -> dict[str, Any]:
    for name, value, neutral in (("out_pads", out_pads, 0), ("in_dilations", in_dilations, 1)):
        if value and any(each != neutral for each in value):
            raise NotImplementedError(f"Pools with {name} are not supported.")
    return {
        "kernel_size": tuple(kernel_size),
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "pad_type": _check_pad(auto_pad),
        "ceil_mode": ceil_mode,
    }


def average_pool(
    t: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    out_pads: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    in_dilations: Sequence[int] | None = None,
    auto_pad: PadType = "not_set",
    ceil_mode: bool = False,
) -> Tensor:
    """Means over windows."""
    window = _window(kernel_size, stride, padding, out_pads, dilation, in_dilations, auto_pad, ceil_mode)
    return create("AveragePool", {"t": t}, "averagepool_out", window)


def max_pool(
    t: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    out_pads: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    in_dilations: Sequence[int] | None = None,
    auto_pad: PadType = "not_set",
    ceil_mode: bool = False,
    storage_order: Literal["row", "column"] = "row",
) -> Tensor:
    """The largest values of windows."""
    window = _window(kernel_size, stride, padding, out_pads, dilation, in_dilations, auto_pad, ceil_mode)
    window["storage_order"] = int(storage_order == "column")
    return create("MaxPool", {"t": t}, "maxpool_out", window)


def interpolate(
    t: Tensor,
    scale_factor: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    mode: Literal["nearest", "linear", "cubic"] = "nearest",
    nearest_mode: str = "round_prefer_floor",
    coordinate_transformation_mode: str = "half_pixel",
) -> Tensor:
    """A tensor of another size."""
    choices = {
        "mode": (mode, ("nearest", "linear", "cubic")),
        "nearest_mode": (nearest_mode, ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")),
        "coordinate_transformation_mode": (
            coordinate_transformation_mode,
            ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"),
        ),
    }
    for name, (value, allowed) in choices.items():
        if value not in allowed:
            raise ValueError(f"{name} is one of {', '.join(allowed)}, not {value!r}.")
    attributes = {
        "scales": tuple(scale_factor),
        "mode": mode,
        "nearest_mode": nearest_mode,
        "coordinates": coordinate_transformation_mode,
    }
    return create("Resize", {"t": t}, "interpolate_out", attributes)


def roi_align(
    t: Tensor,
    rois: Tensor,
    batch_index: Tensor,
    output_size: Sequence[int],
    spatial_scale: float,
    sampling_ratio: int,
) -> Tensor:
    """Means over regions of images."""
    attributes = {
        "output_size": tuple(output_size),
        "spatial_scale": spatial_scale,
        "sampling_ratio": sampling_ratio,
    }
    return create("RoiAlign", {"t": t, "rois": rois, "batch_index": batch_index}, "roi_align_out", attributes)
