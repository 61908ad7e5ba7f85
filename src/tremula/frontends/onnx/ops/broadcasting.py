"""Shapes of operands that differ: the rules of old operator sets, where broadcasting was asked for."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call

#: elements of a dimension whose places are written down one by one
_MOST_LISTED = 2**22


def aligned(call: Call, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Operands whose shapes broadcast from the right. Until version 7, `axis` says where the second one begins."""
    if call.version < 7 and call.flag("broadcast") and call.has("axis"):
        axis = call.integer("axis") % max(first.dim(), 1)
        behind = first.dim() - axis - second.dim()
        if behind > 0:
            second = second.reshape(*second.shape, *[1] * behind)
    return first, second


def broadcast(*shapes: Sequence[int]) -> list[int]:
    """The shape that shapes broadcast to.

    Raises:
        RuntimeError: there is none.
    """
    return list(torch.broadcast_shapes(*map(tuple, shapes)))  # type: ignore[no-untyped-call]


def listed(places: range) -> list[int]:
    """Places as a list, which must not be longer than anybody needs.

    Raises:
        Error: it would be.
    """
    if len(places) > _MOST_LISTED:
        raise Error(f"a dimension of {len(places):,} elements is too large for this operator.")
    return list(places)


def axis_of(axis: int, dims: int) -> int:
    """A dimension that may be counted from the end.

    Raises:
        IndexError: there is none.
    """
    if not -dims <= axis < max(dims, 1):
        raise IndexError(f"axis {axis} is out of range for a tensor of {dims} dimensions.")
    return axis % dims if dims else 0
