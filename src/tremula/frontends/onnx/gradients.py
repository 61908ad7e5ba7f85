"""Gradients where the device's own differ from torch's.

Of several equal largest (or smallest) elements each gets the whole gradient, where torch shares it out. A value that is
clipped, or lies on a bound, gets none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


class _Extreme(torch.autograd.Function):
    """The larger or smaller of two tensors, element by element."""

    @staticmethod
    def forward(ctx: Any, first: Tensor, second: Tensor, largest: bool) -> Tensor:
        result = torch.maximum(first, second) if largest else torch.minimum(first, second)
        ctx.save_for_backward(first, second, result)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (gradient,) = gradients
        first, second, result = ctx.saved_tensors
        return *(_reduced(gradient * (each == result), each.shape) for each in (first, second)), None


class _ReducedExtreme(torch.autograd.Function):
    """The largest or smallest elements along dimensions, which stay as ones."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dims: list[int], largest: bool) -> Tensor:
        result = tensor.amax(dims, keepdim=True) if largest else tensor.amin(dims, keepdim=True)
        ctx.save_for_backward(tensor, result)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (gradient,) = gradients
        tensor, result = ctx.saved_tensors
        return gradient * (tensor == result), None, None


class _Clip(torch.autograd.Function):
    """A tensor between two bounds, each of which may be a tensor or a number."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, low: Any, high: Any) -> Tensor:
        result = tensor if low is None else _bounded(torch.maximum, torch.clamp_min, tensor, low)
        result = result if high is None else _bounded(torch.minimum, torch.clamp_max, result, high)
        result = result.clone() if result is tensor else result
        inside = torch.ones_like(result, dtype=torch.bool)
        for bound in (low, high):
            if bound is not None:
                inside = inside & (result != bound)
        ctx.save_for_backward(inside)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (gradient,) = gradients
        (inside,) = ctx.saved_tensors
        return gradient * inside, None, None


def extreme(first: Tensor, second: Tensor, *, largest: bool) -> Tensor:
    """The larger or smaller of two tensors; equal elements get the whole gradient, both of them."""
    result: Tensor = _Extreme.apply(first, second, largest)  # type: ignore[no-untyped-call]
    return result


def reduced_extreme(tensor: Tensor, dims: Sequence[int], *, largest: bool) -> Tensor:
    """The largest or smallest elements; equal ones get the whole gradient, all of them."""
    result: Tensor = _ReducedExtreme.apply(tensor, list(dims), largest)  # type: ignore[no-untyped-call]
    return result


def clip(tensor: Tensor, low: Tensor | float | None, high: Tensor | float | None) -> Tensor:
    """`tensor` between two bounds; there is no gradient on a bound."""
    result: Tensor = _Clip.apply(tensor, low, high)  # type: ignore[no-untyped-call]
    return result


def _bounded(
    of_tensors: Callable[[Tensor, Tensor], Tensor],
    of_number: Callable[[Tensor, float], Tensor],
    tensor: Tensor,
    bound: Tensor | float,
) -> Tensor:
    return of_tensors(tensor, bound) if isinstance(bound, Tensor) else of_number(tensor, bound)


def _reduced(gradient: Tensor, shape: torch.Size) -> Tensor:
    return gradient if gradient.shape == shape else gradient.sum_to_size(shape)
