"""Comparing nested results, for tests."""

from __future__ import annotations

from typing import Any

import torch


def allclose(ref: Any, other: Any) -> bool:
    """Whether two results have the same structure and, within `torch.allclose`, the same numbers.

    Args:
        ref: a tensor, or a tuple, list or dictionary of such.
        other: what to compare with it.

    Raises:
        TypeError: `ref` holds something else.
    """
    if isinstance(ref, torch.Tensor):
        # allclose itself would broadcast
        return isinstance(other, torch.Tensor) and ref.shape == other.shape and torch.allclose(other, ref)
    for kind in (tuple, list):
        if isinstance(ref, kind):
            same = isinstance(other, kind) and len(ref) == len(other)
            return same and all(allclose(r, o) for r, o in zip(ref, other, strict=True))
    if isinstance(ref, dict):
        same = isinstance(other, dict) and ref.keys() == other.keys()
        return same and all(allclose(value, other[key]) for key, value in ref.items())
    raise TypeError(f"cannot compare a {type(ref).__name__}: only tensors in tuples, lists and dictionaries")
