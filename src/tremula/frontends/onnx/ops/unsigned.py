"""Unsigned integers that torch can hold but hardly compute with: computed in wider signed ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_WIDER = {torch.uint16: torch.int32, torch.uint32: torch.int64, torch.uint64: torch.int64}


def widened(function: Callable[..., Tensor], *tensors: Tensor, **options: Any) -> Tensor:
    """`function(*tensors)`, in a type that torch computes with; the result has the type of the first tensor.

    Comparisons keep their truth values.
    """
    dtype = tensors[0].dtype
    if dtype not in _WIDER:
        return function(*tensors, **options)
    result = function(*(each.to(_WIDER.get(each.dtype, each.dtype)) for each in tensors), **options)
    return result if result.dtype is torch.bool else result.to(dtype)


def signed(tensor: Tensor) -> Tensor:
    """`tensor` in a type that torch computes with."""
    return tensor.to(_WIDER[tensor.dtype]) if tensor.dtype in _WIDER else tensor
