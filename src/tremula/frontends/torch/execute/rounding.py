"""Rounding float32 to float16 numbers, up or down at random, unbiased. Every dimension of a tensor has a vector of
random numbers; an element's is the sum over its coordinates, modulo one, so that any two elements are independent.
That is a few numbers from the device's stream instead of one for each element.

It is written twice, with the same result: as passes over whole tensors for the quick form, and as arithmetic on
single elements, which a compiler fuses with what is before it. (They may differ in numbers below 2**-14.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tremula.frontends.torch.execute.convolution_forms import Ops, Value

_ATEN = torch.ops.aten
#: mantissa bits that float32 has and float16 has not
_BITS = 13
#: random numbers are whole and below this
LIMIT = 1 << _BITS
#: makes float32's least distance of numbers that of float16: what is to drop is the same number of bits everywhere
_SCALE = 2.0**-112
_MANTISSA_BITS = 10
_LEAST_NORMAL = 2.0**-14
#: larger ones are infinite in float16, or are so already
_OVERFLOW = 65536.0


def factor_sizes(shape: Sequence[int]) -> list[int]:
    """How many random numbers each dimension of a tensor takes; dimensions of one element have none."""
    return [size for size in shape if size > 1] or [1]


def drawn(shape: Sequence[int]) -> list[torch.Tensor]:
    """Random numbers for a tensor, from the stream in use."""
    sizes = factor_sizes(shape)
    return list(torch.split(torch.randint(0, LIMIT, (sum(sizes),), dtype=torch.int32), sizes))


def round_stochastically(tensor: torch.Tensor, *factors: torch.Tensor) -> torch.Tensor:
    """`tensor` (float32) with every element rounded to a float16 number; `factors` are int32, see `factor_sizes`."""
    scaled = tensor * _SCALE
    bits = scaled.view(torch.int32)
    bits.add_(_random_bits(bits, factors or drawn(tensor.shape))).bitwise_and_(-LIMIT)
    return scaled.mul_(1 / _SCALE)


def _random_bits(like: torch.Tensor, factors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Random bits for each element, in the memory order of `like`."""
    placed = _placed(like.shape, factors)
    inner = _innermost(like, placed)
    other = [factor for dim, factor in placed.items() if dim != inner]
    if not other:
        return placed[inner].bitwise_and(LIMIT - 1)
    rest = other[0]
    for factor in other[1:]:
        rest = rest + factor
    total = torch.add(placed[inner], rest, out=torch.empty_like(like))
    return total.bitwise_and_(LIMIT - 1)


def _placed(shape: Sequence[int], factors: Sequence[torch.Tensor]) -> dict[int, torch.Tensor]:
    """Each factor along its dimension."""
    dims = [dim for dim, size in enumerate(shape) if size > 1] or [0]
    if not shape:
        return {0: factors[0].view(())}
    return {
        dim: factor.view([1] * dim + [-1] + [1] * (len(shape) - dim - 1))
        for dim, factor in zip(dims, factors, strict=True)
    }


def _innermost(tensor: torch.Tensor, dims: dict[int, torch.Tensor]) -> int:
    return min(dims, key=lambda dim: tensor.stride(dim) if tensor.dim() else 0)


def rounded_by_element(ops: Ops, value: Value, shape: Sequence[int], factors: Sequence[Value]) -> Value:
    """The same, of elementwise operations in float32 alone; `factors` are float32."""
    call = ops.call
    dims = [dim for dim, size in enumerate(shape) if size > 1] or [0]
    total = None
    for dim, factor in zip(dims, factors, strict=True):
        placed = call(_ATEN.view.default, factor, [-1] + [1] * (len(shape) - dim - 1) if shape else [])
        total = placed if total is None else call(_ATEN.add.Tensor, total, placed)
    share = call(_ATEN.mul.Tensor, total, 1 / LIMIT)
    share = call(_ATEN.sub.Tensor, share, call(_ATEN.floor.default, share))
    size = call(_ATEN.abs.default, value)
    # the power of two below it, by two products that differ in the last bit
    large = call(_ATEN.mul.Tensor, size, 2.0**23 + 1)
    power = call(_ATEN.sub.Tensor, large, call(_ATEN.mul.Tensor, large, 1 - 2.0**-24))
    power = call(_ATEN.clamp_min.default, power, _LEAST_NORMAL)
    step = call(_ATEN.mul.Tensor, power, 2.0**-_MANTISSA_BITS)
    steps = call(_ATEN.add.Tensor, call(_ATEN.div.Tensor, size, step), share)
    rounded = call(_ATEN.mul.Tensor, call(_ATEN.floor.default, steps), step)
    finite = call(_ATEN.lt.Scalar, size, _OVERFLOW)
    return call(_ATEN.copysign.Tensor, call(_ATEN.where.self, finite, rounded, size), value)


def draw_arguments(total: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of `randint.low` for that many random numbers."""
    return (0, LIMIT, [total]), {"dtype": torch.float32}
