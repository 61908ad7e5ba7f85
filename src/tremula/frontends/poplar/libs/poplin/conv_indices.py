"""Which elements of input and kernel meet in each element of an output, and how many multiplications that makes."""

from __future__ import annotations

from math import prod

import numpy as np

from tremula.frontends.poplar.libs.checks import Array
from tremula.frontends.poplar.libs.poplin.conv_params import ConvParams, InputTransform
from tremula.frontends.poplar.target import TargetFacts

#: no element: a zero of padding or dilation, or outside
NOTHING = -1


def sources(transform: InputTransform, dimension: int, size: int) -> Array:
    """For each place after a transform the element that it was before, or `NOTHING` for zeros."""
    places = np.full(transform.size(dimension, size), NOTHING, dtype=np.int64)
    low, high = transform.truncation_lower[dimension], transform.truncation_upper[dimension]
    kept = np.arange(low, size - high)
    start = transform.padding_lower[dimension]
    places[start + np.arange(len(kept)) * transform.dilation[dimension]] = kept
    return places[::-1] if transform.flip[dimension] else places


def meetings(params: ConvParams, dimension: int) -> tuple[Array, Array]:
    """For each element of the output and place of the kernel: the elements of input and kernel, or `NOTHING`."""
    inputs = sources(params.input, dimension, params.field[dimension])
    kernels = sources(params.weights, dimension, params.kernel[dimension])
    kept, low = params.kept_size(dimension), params.output.padding_lower[dimension]
    first = params.output.truncation_lower[dimension] + np.arange(kept) * params.output.stride[dimension]
    met = np.full((params.output_size(dimension), len(kernels)), NOTHING, dtype=np.int64)
    met[low : low + kept] = inputs[first[:, None] + np.arange(len(kernels))]
    used = np.where(met == NOTHING, NOTHING, kernels[None])
    return np.where(used == NOTHING, NOTHING, met), used


def input_index(params: ConvParams, dimension: int, output: int, kernel: int) -> int:
    """The element of the input that meets an element of the kernel, or `NOTHING`."""
    inputs, kernels = meetings(params, dimension)
    found = inputs[output][kernels[output] == kernel]
    return int(found[0]) if len(found) else NOTHING


def kernel_index(params: ConvParams, dimension: int, output: int, input: int) -> int:
    """The element of the kernel that meets an element of the input, or `NOTHING`."""
    inputs, kernels = meetings(params, dimension)
    found = kernels[output][inputs[output] == input]
    return int(found[0]) if len(found) else NOTHING


def multiplications(params: ConvParams) -> int:
    """How many products of elements, without those with zeros of padding or dilation."""
    field = prod(int((meetings(params, d)[0] != NOTHING).sum()) for d in range(params.rank))
    return field * params.batch * params.groups * params.in_channels * params.out_channels


def perfect_cycles(params: ConvParams, target: TargetFacts) -> float:
    """Cycles if all multipliers of all tiles were always busy."""
    units = 1
    if params.input_type.name == "HALF":
        chip = target.chip
        units = max(chip.conv_units_half_half, chip.conv_units_half_float, chip.conv_units_float)
    return multiplications(params) / (units * target.vector_width(params.input_type) * target.tiles)
