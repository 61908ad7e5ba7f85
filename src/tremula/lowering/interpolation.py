"""Interpolation of images and volumes.

To the nearest point it is a copy; linear interpolation blends two copied neighbours per dimension, cubic four; the
gradients sum what each input point had contributed to.
"""

from __future__ import annotations

import math
from typing import Any

from tremula.lowering.operand import Operand
from tremula.program.work import Copy, Elementwise, Reduction, Work


def interpolation(result: Operand[Any], neighbours: int) -> list[Work]:
    """Each point of the result from `neighbours` points."""
    copies: list[Work] = [Copy(result.elements, result.dtype, contiguous=1)] * neighbours
    if neighbours == 1:
        return copies
    first = Elementwise("mul", result.elements, result.dtype, operands=2)
    more = Elementwise("mul+add", result.elements, result.dtype, operands=3, in_place=True)
    return [*copies, first, *[more] * (neighbours - 1)]


def interpolation_gradient(gradient: Operand[Any], result: Operand[Any], neighbours: int) -> list[Work]:
    """Each point of `gradient` goes back to the `neighbours` points that it was made from."""
    works: list[Work] = [
        Elementwise("mul", gradient.elements, gradient.dtype, operands=2)
        for _ in range(neighbours if neighbours > 1 else 0)
    ]
    works.append(Copy(gradient.elements * neighbours, gradient.dtype, contiguous=1))
    per_point = math.ceil(gradient.elements * neighbours / max(1, result.elements))
    works.append(Reduction(result.elements, max(1, per_point), 1, gradient.dtype))
    return works
