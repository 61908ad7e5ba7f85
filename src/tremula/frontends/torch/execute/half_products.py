"""Products of halves by way of float32, where hosts are up to a hundred times slower in half. One rounding at the end
is what the device does with float32 partial sums. With half partials the sum so far is rounded after each piece of the
reduction; the hardware cuts as it plans an op, so single bits differ.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.execute.convolution_forms import Ops
from tremula.frontends.torch.graphs.program import tensors_of

_ATEN = torch.ops.aten
PRODUCTS = frozenset(
    [
        _ATEN.mm.default,
        _ATEN.bmm.default,
        _ATEN.addmm.default,
        _ATEN.baddbmm.default,
        _ATEN.convolution.default,
        _ATEN.convolution_backward.default,
    ]
)
#: a reduction is cut into at most so many pieces
PARTIAL_SUMS = 4
#: of at least so many terms (products), or channels (convolutions): shorter ones are slow on the host
_LEAST_TERMS = 128
_LEAST_CHANNELS = 32
_ROUNDS = 3
_SIZE = 96

#: float32 -> float32 that holds float16 numbers
Rounding = Callable[[fx.Node], fx.Node]
#: where the operands of a product are among its arguments, and what adds a product to a sum
_FACTORS = {_ATEN.mm.default: 0, _ATEN.bmm.default: 0, _ATEN.addmm.default: 1, _ATEN.baddbmm.default: 1}
_ADDED = {2: _ATEN.addmm.default, 3: _ATEN.baddbmm.default}


def in_pieces(
    ops: Ops, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], rounded: Rounding
) -> fx.Node | None:
    """A product of float32 operands whose sum is rounded after each piece but the last; None if it has one piece."""
    if op in _FACTORS:
        return _product(ops, op, args, kwargs, rounded)
    return _convolution(ops, args, rounded) if op is _ATEN.convolution.default else None


def _size(reduced: int, least: int) -> int:
    return max(least, -(-reduced // PARTIAL_SUMS))


def _bounds(reduced: int, size: int) -> list[tuple[int, int]]:
    return [(start, min(start + size, reduced)) for start in range(0, reduced, size)]


def _product(
    ops: Ops, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], rounded: Rounding
) -> fx.Node | None:
    first = _FACTORS[op]
    left, right = args[first], args[first + 1]
    shape = tensors_of(left)[0].shape
    reduced, last = int(shape[-1]), len(shape) - 1
    bounds = _bounds(reduced, _size(reduced, _LEAST_TERMS))
    if len(bounds) < 2:
        return None
    total = None
    for start, stop in bounds:
        piece = (
            ops.call(_ATEN.slice.Tensor, left, last, start, stop),
            ops.call(_ATEN.slice.Tensor, right, last - 1, start, stop),
        )
        if total is None:
            total = ops.call(op, *args[:first], *piece, **kwargs)
            continue
        alpha = {key: value for key, value in kwargs.items() if key == "alpha"}
        total = ops.call(_ADDED[len(shape)], rounded(total), *piece, **alpha)
    return total


def _convolution(ops: Ops, args: tuple[Any, ...], rounded: Rounding) -> fx.Node | None:
    x, weight, bias, *rest = args
    transposed, groups = rest[3], rest[5]
    channels = int(tensors_of(x)[0].shape[1])
    bounds = _bounds(channels, _size(channels, _LEAST_CHANNELS))
    if groups != 1 or len(bounds) < 2:
        return None
    total = None
    for start, stop in bounds:
        part = ops.call(_ATEN.slice.Tensor, x, 1, start, stop)
        kernel = ops.call(_ATEN.slice.Tensor, weight, 0 if transposed else 1, start, stop)
        given = bias if total is None else None
        sums = ops.call(_ATEN.convolution.default, part, kernel, given, *rest)
        total = sums if total is None else ops.call(_ATEN.add.Tensor, rounded(total), sums)
    return total


@functools.cache
def float_is_faster() -> bool:
    """Measured once: a small product, as it is and by way of float32."""
    left = torch.ones(_SIZE, _SIZE, dtype=torch.float16)

    def seconds(product: Any) -> float:
        product()
        times = []
        for _ in range(_ROUNDS):
            started = time.perf_counter()
            product()
            times.append(time.perf_counter() - started)
        return min(times)

    native = seconds(lambda: left.mm(left))
    return seconds(lambda: left.float().mm(left.float()).half()) < native
