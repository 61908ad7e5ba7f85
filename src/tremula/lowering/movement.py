"""Copies that put tensors together, put borders around them or take parts out, and the gradients of those."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tremula.lowering.operand import Operand
from tremula.program.work import Copy, Elementwise, Fill, Reduction, Work


def joined(pieces: Iterable[Operand[Any]], result: Operand[Any], dim: int, *, stacked: bool = False) -> Copy:
    """Concatenation: each piece lies together from dimension `dim` inwards; `stacked` along a new dimension."""
    inner = result.inner(dim)
    run = min((inner * (1 if stacked else o.extent(dim)) for o in pieces if o.elements), default=1)
    return Copy(result.elements, result.dtype, contiguous=max(1, run))


def padded(source: Operand[Any], result: Operand[Any], *, by_constant: bool) -> list[Work]:
    """A border around a tensor: a constant, or elements of the tensor."""
    kept = min(source.elements, result.elements)
    works: list[Work] = []
    added = result.elements - kept
    if added and by_constant:
        works.append(Fill(added, result.dtype))
    elif added:
        works.append(Copy(added, result.dtype, contiguous=1))
    works.append(Copy(kept, result.dtype, contiguous=max(1, min(source.extent(-1), result.extent(-1)))))
    return works


def pad_gradient(gradient: Operand[Any], result: Operand[Any]) -> list[Work]:
    """What was repeated into the border is added up again."""
    border = max(0, gradient.elements - result.elements)
    return [
        Copy(result.elements, result.dtype, contiguous=max(1, result.extent(-1))),
        Elementwise("add", border, result.dtype, operands=2, in_place=True),
    ]


def put_into_zeros(gradient: Operand[Any], result: Operand[Any], run: int) -> list[Work]:
    """The gradient of a slice: zeros, and the gradient in its place, in pieces of `run`."""
    return [
        Fill(result.elements, result.dtype),
        Copy(gradient.elements, gradient.dtype, contiguous=max(1, run)),
    ]


def overlapping_sum(source: Operand[Any], result: Operand[Any]) -> list[Work]:
    """Every element of the result sums those that were made from it."""
    depth = max(1, math.ceil(source.elements / max(1, result.elements)))
    return [
        Copy(source.elements, source.dtype, contiguous=1),
        Reduction(result.elements, depth, 1, source.dtype),
    ]
