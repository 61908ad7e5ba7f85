"""What moves between tiles for a convolution: operands before, rearranged operands, code for it all.

A tile receives 4 bytes per cycle; tiles that share a bus receive the same data at twice that, which inputs do
when an even number of neighbours need them for different output channels. Source: PopLibs ExchangeEstimator.hpp
and ConvModel.cpp; code per fragment: osmarks/ipu-stack.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.hardware.chip import Chip
from tremula.plan.conv_shape import Dimension
from tremula.plan.vertices.arrays import Array, Numbers, ceil_div, floor_div


@dataclass(frozen=True)
class Copied:
    """One operand brought into another order: bytes on a tile, cycles to copy there and to exchange."""

    bytes: Array
    copy: Array
    exchange: Array


def received_cycles(received: Numbers, chip: Chip) -> Array:
    """Cycles to receive bytes on a tile."""
    return ceil_div(received, chip.exchange_bytes_per_cycle)


def shared_cycles(received: Array, sharers: Array, chip: Chip) -> Array:
    """The same where `sharers` neighbours receive the same bytes."""
    speed = np.where(sharers % chip.tiles_per_exchange_bus == 0, 2.0, 1.0)
    return ceil_div(received, chip.exchange_bytes_per_cycle * speed)


def without_own(elements: Array, holders: Array) -> Array:
    """Elements that have to come from elsewhere when the tiles that need them hold them in equal shares."""
    return elements - floor_div(elements, holders)


def input_extent(dimension: Dimension, outputs: Array, kernel: Array) -> Array:
    """Inputs that a tile reads for `outputs` outputs and `kernel` kernel positions of a dimension."""
    whole = min(
        dimension.field,
        ((dimension.out - 1) * dimension.stride + dimension.window - 1) // dimension.spread + 1,
    )
    read = (
        np.floor(((outputs - 1) * dimension.stride + (kernel - 1) * dimension.dilation) / dimension.spread)
        + 1
    )
    result: Array = np.minimum(read, whole)
    return result


def rearrangement(elements: float, tiles: Array, bytes_each: int, inner: int, chip: Chip) -> Copied:
    """An operand whose elements change places over all tiles.

    Elements are moved one by one; `inner` elements in a row that fill a vector make it cheaper. Source: PopLibs
    ConvModel.cpp (transform estimates, whose factors came from layers of ResNet-50).
    """
    held = ceil_div(elements * bytes_each, tiles)
    factor = 5 / 4 if inner % (2 if bytes_each == 4 else 4) == 0 else 5 / 3
    speed = min(chip.memcpy_bytes_per_cycle, bytes_each)
    return Copied(held, np.ceil(held * factor / speed), received_cycles(held, chip))


def regrouping(elements: float, tiles: Array, bytes_each: int, group: int, inner: int, chip: Chip) -> Copied:
    """Channels that change places on their own tile, `group` at a time."""
    held = ceil_div(elements, tiles) * bytes_each
    factor = 5 / 4 if inner % (2 if bytes_each == 4 else 4) == 0 else 5 / 3
    speed = min(chip.memcpy_bytes_per_cycle, group * bytes_each)
    return Copied(held, np.ceil(held * factor / speed), np.zeros_like(held))


def exchange_code(fragments: float, chip: Chip) -> int:
    """Bytes of code to send and to receive `fragments` pieces."""
    return round(chip.instruction_bytes * fragments * (1 + chip.exchange_instructions_per_fragment))
