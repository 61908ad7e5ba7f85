"""Strides of views: what a reshape, a slice or an element-wise result has, for front ends whose tensors have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tremula.lowering.operand import Operand, dense_strides

Ints = tuple[int, ...]


def reshaped(source: Operand[Any], shape: Sequence[int]) -> Ints | None:
    """Strides with which `source` has `shape`; None if no strides express it."""
    if source.elements == 0 or source.strides == dense_strides(source.shape):
        return dense_strides(shape)
    # runs of dimensions of the source that lie together, outermost first
    runs: list[tuple[int, int]] = []
    for extent, stride in zip(source.shape, source.strides, strict=True):
        if extent == 1:
            continue
        if runs and runs[-1][1] == extent * stride and stride != 0:
            runs[-1] = (runs[-1][0] * extent, stride)
        elif runs and runs[-1][1] == 0 and stride == 0:
            runs[-1] = (runs[-1][0] * extent, 0)
        else:
            runs.append((extent, stride))
    strides = [1] * len(shape)
    position = len(shape) - 1
    for extent, stride in reversed(runs):
        covered = 1
        while position >= 0 and covered < extent:
            strides[position] = stride * covered
            covered *= shape[position]
            position -= 1
        if covered != extent:
            return None
    for rest in range(position, -1, -1):
        strides[rest] = strides[rest + 1] * shape[rest + 1] if rest + 1 < len(shape) else 1
    return tuple(strides)


def like(source: Operand[Any], shape: Sequence[int]) -> Ints:
    """Strides of a new tensor whose dimensions are in the order in which they are in `source`, of the same shape."""
    dense = dense_strides(shape)
    if source.strides == dense or len(source.shape) < 2 or 0 in source.strides:
        return dense
    order = sorted(range(len(shape)), key=lambda d: (-source.strides[d], d))
    strides = [1] * len(shape)
    step = 1
    for d in reversed(order):
        strides[d] = step
        step *= max(1, shape[d])
    return tuple(strides)
