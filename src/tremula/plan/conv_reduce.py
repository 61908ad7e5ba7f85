"""Adding up what several tiles computed of the same outputs: in one, two or three stages.

Source: PopLibs ConvModel.cpp (order of stages), PerformanceEstimation.hpp (their vertices).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.hardware.chip import Chip
from tremula.plan.conv_exchange import received_cycles
from tremula.plan.vertices.arrays import Array, Flags, ceil_div
from tremula.plan.vertices.reduce import cast_cycles, reduce_cycles
from tremula.program.dtypes import item_bytes


@dataclass(frozen=True)
class Reduced:
    """For all candidates; per stage: cycles to add up, and to receive what is added up."""

    compute: tuple[Array, ...]
    exchange: tuple[Array, ...]
    #: stages that are not empty
    stages: Array
    #: cast alone, where there is nothing to add up
    cast: Array
    temporary: Array
    #: elements of the result on a tile
    outputs: Array


def reduction(
    partial_sums: Array,
    depth: Array,
    depths: Array,
    chip: Chip,
    *,
    partials: str,
    output: str,
    deferred_cast: Flags,
) -> Reduced:
    """The reduction of `partial_sums` elements per tile, `depth` tiles deep, in stages of `depths`.

    `deferred_cast`: where the result is added up over time before it is cast.
    """
    width = item_bytes(partials)
    left = ceil_div(partial_sums, depth) * depth
    compute, received = [], []
    deepest = int((depths > 1).any(axis=1).sum())
    for stage in range(deepest):
        here = depths[stage]
        active = here > 1
        last = (depths[stage + 1] <= 1) if stage < 2 else np.ones_like(active)
        outputs = ceil_div(left, here)
        received.append(received_cycles(np.where(active, left - outputs, 0.0) * width, chip))
        kept = np.asarray(reduce_cycles(outputs, here, chip, partials=partials, output=partials))
        if partials != output:
            cast = np.asarray(reduce_cycles(outputs, here, chip, partials=partials, output=output))
            kept = np.where(last, cast, kept)
        compute.append(np.where(active, kept, 0.0))
        left = np.where(active, outputs, left)
    outputs = ceil_div(partial_sums, depth)
    cast_alone = np.zeros_like(outputs)
    if partials != output:
        cast_alone = np.asarray(cast_cycles(outputs, chip, dtype=partials, output=output))
        cast_alone = np.where((depth > 1) | deferred_cast, 0.0, cast_alone)
    staged = depths[1] > 1
    return Reduced(
        tuple(compute), tuple(received), (depths > 1).sum(axis=0).astype(np.float64), cast_alone,
        np.where(staged, partial_sums * width, 0.0), outputs,
    )  # fmt: skip
