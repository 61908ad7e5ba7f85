"""Slices of fixed size at a position known only at run time. In a capture the position wraps around the end of the
dimension, as on the device; outside one torch's rules hold.
"""

from __future__ import annotations

import torch

from tremula.frontends.torch.capture.context import current
from tremula.frontends.torch.errors import compile_error

_INTEGERS = (torch.int64, torch.int32, torch.int16)


def _check_start(start: torch.Tensor) -> None:
    if start.dtype not in _INTEGERS:
        raise compile_error(f"the start of a dynamic slice must be an integer tensor, not {start.dtype}.")
    if start.numel() != 1:
        raise compile_error(
            f"the start of a dynamic slice must be one number; it has shape {list(start.shape)}."
        )


def _check_size(size: int) -> None:
    if size == 0:
        raise compile_error("The start and end of a slice must be different.")
    if size < 0:
        raise compile_error(
            f"An end less than the start is not supported: the size of a slice is positive, not {size}."
        )


def _positions(start: torch.Tensor, size: int, step: int, extent: int) -> torch.Tensor:
    offsets = torch.arange(0, size, step, device=start.device)
    return (start.reshape(()).to(torch.int64) + offsets) % extent


def dynamic_slice(tensor: torch.Tensor, dim: int, start: torch.Tensor, size: int, step: int) -> torch.Tensor:
    """`size` elements of `dim` from `start`, every `step`-th of them."""
    _check_start(start)
    if step < 1:
        raise compile_error(f"Slicing step must be at least 1; got {step}.")
    if current() is None:
        begin = int(start.item())
        return torch.ops.aten.slice.Tensor(tensor, dim, begin, begin + size, step)  # type: ignore[no-any-return]
    _check_size(size)
    extent = tensor.shape[dim]
    if extent % size != 0:
        raise compile_error(
            f"The size of the slice ({size}) must be a factor of the slicing dimension ({extent})."
        )
    return tensor.index_select(dim, _positions(start, size, step, extent))


def dynamic_update(
    tensor: torch.Tensor, source: torch.Tensor, dim: int, start: torch.Tensor, size: int
) -> torch.Tensor:
    """A copy of `tensor` whose `size` elements of `dim` from `start` come from `source`."""
    _check_start(start)
    if current() is None:
        begin = int(start.item())
        return torch.slice_scatter(tensor, source, dim, begin, begin + size)
    _check_size(size)
    if source.shape[dim] != size:
        raise compile_error(
            f"the source of a dynamic update has {source.shape[dim]} elements in dimension {dim}, but {size} "
            "are to be written."
        )
    return tensor.index_copy(dim, _positions(start, size, 1, tensor.shape[dim]), source)
