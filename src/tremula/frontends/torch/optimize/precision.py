"""Updates are computed in float32 whatever the stored dtypes are; for float32 tensors nothing is copied."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from tremula.frontends.torch.optimize.scalars import Scalar, is_one


def single(tensor: torch.Tensor) -> torch.Tensor:
    """`tensor` in float32: itself if it already is."""
    return tensor if tensor.dtype == torch.float32 else tensor.to(torch.float32)


@contextlib.contextmanager
def updating(*tensors: torch.Tensor) -> Iterator[tuple[torch.Tensor, ...]]:
    """Float32 stand-ins for `tensors`, written back (rounded to the stored dtype) at the end."""
    work = tuple(single(tensor) for tensor in tensors)
    yield work
    for stored, computed in zip(tensors, work, strict=True):
        if stored is not computed:
            stored.copy_(computed)


def multiplied(tensor: torch.Tensor, scalar: Scalar) -> torch.Tensor:
    """`tensor * scalar` as a new tensor, or `tensor` itself if there is nothing to do."""
    return tensor if is_one(scalar) else tensor * scalar


def plus_scaled(tensor: torch.Tensor, other: torch.Tensor, scalar: Scalar) -> torch.Tensor:
    """`tensor + scalar * other` as a new tensor, in one pass."""
    if isinstance(scalar, torch.Tensor):
        return torch.addcmul(tensor, other, scalar)
    return torch.add(tensor, other, alpha=scalar)


def add_scaled_(target: torch.Tensor, tensor: torch.Tensor, scalar: Scalar) -> None:
    """`target += scalar * tensor` in one pass."""
    if isinstance(scalar, torch.Tensor):
        target.addcmul_(tensor, scalar)
    else:
        target.add_(tensor, alpha=scalar)


def subtract_scaled_(target: torch.Tensor, tensor: torch.Tensor, scalar: Scalar) -> None:
    """`target -= scalar * tensor` in one pass."""
    if isinstance(scalar, torch.Tensor):
        target.addcmul_(tensor, scalar, value=-1)
    else:
        target.add_(tensor, alpha=-scalar)


def add_quotient_(
    target: torch.Tensor, numerator: torch.Tensor, divisor: torch.Tensor, scalar: Scalar, *, sign: int = 1
) -> None:
    """`target += sign * scalar * numerator / divisor`; the contents of `divisor` are lost.

    A scalar tensor goes into the divisor, which is a temporary anyway: a new tensor would cost more than the
    division. A scalar of zero makes an infinite divisor, so nothing is added, as it should be.
    """
    if isinstance(scalar, torch.Tensor):
        target.addcdiv_(numerator, divisor.div_(scalar), value=sign)
    else:
        target.addcdiv_(numerator, divisor, value=sign * scalar)


def decay_square_(average: torch.Tensor, gradient: torch.Tensor, beta: Scalar) -> None:
    """`average = beta * average + (1 - beta) * gradient**2`."""
    if isinstance(beta, torch.Tensor):
        average.lerp_(gradient * gradient, 1 - beta)
    else:
        average.mul_(beta).addcmul_(gradient, gradient, value=1 - beta)
