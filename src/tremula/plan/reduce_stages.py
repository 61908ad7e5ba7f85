"""How a reduction over many tiles is cut into stages.

Deep reductions are done in two or three stages of about equal depth because each message that a tile receives
costs code. Source: PopLibs ConvReducePlan.cpp.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from tremula.invariants import present
from tremula.plan.vertices.arrays import Array

#: depths from which a reduction takes two and three stages
TWO_STAGES, THREE_STAGES = 16, 125


def _descent(depth: int, stages: int) -> tuple[list[int], float]:
    """Depths that remain after each stage but the last, with the messages per tile that they cost."""
    if stages == 1:
        return [], float(depth)
    lower = int(depth ** ((stages - 1) / stages))
    best: tuple[list[int], float] | None = None
    for remaining in (lower, lower + 1):
        rest, messages = _descent(remaining, stages - 1)
        messages += depth / remaining
        if best is None or messages <= best[1]:
            best = [remaining, *rest], messages
    return present(best, "a descent in stages")


@functools.lru_cache(maxsize=4096)
def stage_depths(depth: int) -> tuple[int, ...]:
    """How many partial sums each stage adds up; empty if there is only one."""
    if depth <= 1:
        return ()
    stages = 3 if depth >= THREE_STAGES else 2 if depth >= TWO_STAGES else 1
    depths, remaining = [], depth
    for target in _descent(depth, stages)[0]:
        here = -(-remaining // target)
        remaining = -(-remaining // here)
        depths.append(here)
    if remaining > 1:
        depths.append(remaining)
    return tuple(depths)


@functools.lru_cache(maxsize=16)
def _table(most: int) -> Array:
    table = np.ones((3, most + 1))
    for depth in range(most + 1):
        for stage, here in enumerate(stage_depths(depth)):
            table[stage, depth] = here
    table.flags.writeable = False
    return table


def stage_table(depth: NDArray[np.int64]) -> Array:
    """`stage_depths` of many, one row per stage; 1 where there is none."""
    most = int(depth.max(initial=0))
    # a few sizes of table serve all
    result: Array = _table(1 << max(8, most.bit_length()))[:, depth]
    return result
