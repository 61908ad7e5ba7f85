"""Regions of interest: RoiAlign."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.table import op


@op("RoiAlign")
def roi_align(call: Call, tensor: Tensor, regions: Tensor, batches: Tensor) -> Tensor:
    mode = call.text("mode", "avg")
    if mode not in ("avg", "max"):
        raise Error(f"'{mode}' is not a mode; choose from avg and max.")
    height, width = call.integer("output_height", 1), call.integer("output_width", 1)
    kind = call.text(
        "coordinate_transformation_mode", "half_pixel" if call.version >= 16 else "output_half_pixel"
    )
    half = kind == "half_pixel"
    corners = regions * call.number("spatial_scale", 1.0) - (0.5 if half else 0.0)
    samples = call.integer("sampling_ratio", 0)
    chosen = tensor.index_select(0, batches.long())
    if samples > 0:
        return _pooled(chosen, corners, (height, width), (samples, samples), half, mode)
    if call.recording and call.known(1) is None:
        raise Error(
            "sampling_ratio must be positive: how large regions are is not known before the graph runs."
        )
    parts = []
    for number in range(regions.shape[0]):
        x1, y1, x2, y2 = (
            each * call.number("spatial_scale", 1.0) for each in call.reals(1)[4 * number :][:4]
        )
        counts = tuple(
            max(math.ceil((extent if half else max(extent, 1.0)) / bins), 1)
            for extent, bins in ((y2 - y1, height), (x2 - x1, width))
        )
        one = slice(number, number + 1)
        parts.append(_pooled(chosen[one], corners[one], (height, width), (counts[0], counts[1]), half, mode))
    return torch.cat(parts) if parts else tensor.new_zeros((0, tensor.shape[1], height, width))


def _pooled(
    features: Tensor,
    corners: Tensor,
    bins: tuple[int, int],
    samples: tuple[int, int],
    half: bool,
    mode: str,
) -> Tensor:
    """Features (regions, channels, height, width) at regular samples of each region, pooled by bin."""
    x1, y1, x2, y2 = corners.unbind(1)
    heights, widths = y2 - y1, x2 - x1
    if not half:
        heights, widths = heights.clamp_min(1.0), widths.clamp_min(1.0)
    rows = _samples(y1, heights, bins[0], samples[0])
    columns = _samples(x1, widths, bins[1], samples[1])
    values = _bilinear(features, rows, columns, separate=mode == "max")
    values = values.reshape(
        *values.shape[:-2], bins[0], samples[0], bins[1], samples[1]
    )  # corners first, if they are separate
    if mode == "max":
        return values.amax((0, 4, 6))
    return values.mean((3, 5))


def _samples(start: Tensor, extent: Tensor, bins: int, samples: int) -> Tensor:
    """Coordinates (regions, bins * samples)."""
    places = (torch.arange(bins * samples, device=start.device) + 0.5) / (bins * samples)
    return start.unsqueeze(1) + extent.unsqueeze(1) * places.to(start.dtype)


def _bilinear(features: Tensor, rows: Tensor, columns: Tensor, *, separate: bool) -> Tensor:
    count, channels, height, width = features.shape
    inside = ((rows >= -1) & (rows <= height)).unsqueeze(2) & (
        (columns >= -1) & (columns <= width)
    ).unsqueeze(1)
    flat = features.reshape(count, channels, height * width)
    parts = []
    for row, row_weight in _neighbours(rows, height):
        for column, column_weight in _neighbours(columns, width):
            places = (row.unsqueeze(2) * width + column.unsqueeze(1)).reshape(count, 1, -1)
            picked = flat.gather(2, places.expand(count, channels, -1))
            picked = picked.reshape(count, channels, rows.shape[1], columns.shape[1])
            weight = row_weight.unsqueeze(2) * column_weight.unsqueeze(1) * inside
            parts.append(picked * weight.unsqueeze(1))
    stacked = torch.stack(parts)
    return stacked if separate else stacked.sum(0)


def _neighbours(places: Tensor, extent: int) -> list[tuple[Tensor, Tensor]]:
    """The elements below and above coordinates, with their weights."""
    places = places.clamp(0, extent - 1)
    below = places.floor()
    above = (below + 1).clamp_max(extent - 1)
    weight = places - below
    return [(below.long(), 1 - weight), (above.long(), weight)]
