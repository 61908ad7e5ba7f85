"""Pooling, adaptive pooling and interpolation.

An adaptive pool whose windows differ in size is taken as one of the largest window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tremula.frontends.torch.rules.call import Call
from tremula.frontends.torch.rules.operand import Operand
from tremula.lowering.interpolation import interpolation, interpolation_gradient
from tremula.program.lowered import Lowered
from tremula.program.work import Pool


def _dims(name: str) -> int:
    return next((n for n in (1, 2, 3) if f"{n}d" in name), 2)


def _spread(value: int | Sequence[int], dims: int) -> tuple[int, ...]:
    if isinstance(value, int):
        return (value,) * dims
    listed = tuple(value)
    return listed * dims if len(listed) == 1 else listed


def pool(call: Call) -> Lowered:
    """max_pool and avg_pool of one to three dimensions, and their gradients."""
    gradient = "backward" in call.name
    source = call.tensor("self") or call.given(0)
    dims = _dims(call.name)
    kernel = _spread(call.argument("kernel_size"), dims)
    stride = call.argument("stride")
    return _pool(call, source, kernel, _spread(stride, dims) if stride else kernel, gradient)


def adaptive_pool(call: Call) -> Lowered:
    """Adaptive average and maximum pools and their gradients."""
    gradient = "backward" in call.name
    source = call.tensor("self") or call.given(0)
    dims = _dims(call.name)
    pooled = call.given(0) if gradient else call.output
    field, out = source.shape[-dims:], pooled.shape[-dims:]
    kernel = tuple(math.ceil(f / max(1, o)) for f, o in zip(field, out, strict=True))
    stride = tuple(max(1, f // max(1, o)) for f, o in zip(field, out, strict=True))
    return _pool(call, source, kernel, stride, gradient)


def _pool(
    call: Call, source: Operand, kernel: tuple[int, ...], stride: tuple[int, ...], gradient: bool
) -> Lowered:
    dims = len(kernel)
    channels = source.shape[-dims - 1] if len(source.shape) > dims else 1
    return call.lowered((
        Pool(
            kind="max" if "max_pool" in call.name else "average",
            batch=math.prod(source.shape[: -dims - 1]),
            channels=channels,
            field=source.shape[-dims:],
            kernel=kernel,
            stride=stride,
            dtype=source.dtype,
            gradient=gradient,
        ),
    ))  # fmt: skip


def interpolate(call: Call) -> Lowered:
    """upsample_nearest, _linear, _bilinear, _trilinear and _bicubic, forward and gradient."""
    neighbours = _neighbours(call.name)
    if "backward" in call.name:
        return call.lowered(interpolation_gradient(call.given(0), call.output, neighbours))
    return call.lowered(interpolation(call.output, neighbours), "copy" if neighbours == 1 else "compute")


def _neighbours(name: str) -> int:
    if "nearest" in name:
        return 1
    return (4 if "cubic" in name else 2) ** (3 if "trilinear" in name else 1 if "_linear" in name else 2)
