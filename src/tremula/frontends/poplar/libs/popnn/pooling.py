"""Pooling over windows of a field: largest, average or sum. An average is over the elements that are not padding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.checks import Array, call, joined, need_floats, need_shape, refuse, single
from tremula.frontends.poplar.libs.options import EXACT_ALREADY, PLANNED_BY_THE_MODEL, check
from tremula.frontends.poplar.libs.outputs import linear
from tremula.frontends.poplar.libs.poplin.options import Options
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Program
from tremula.frontends.poplar.types import Type
from tremula.program.work import Pool

_WITHOUT_EFFECT = {
    "poolUseIntrospectiveMapping": PLANNED_BY_THE_MODEL,
    "optimizeForSpeed": PLANNED_BY_THE_MODEL,
    "useFloatPartialsWhereBeneficial": EXACT_ALREADY,
}
_MODEL_KINDS = {"MAX": "max", "AVG": "average", "SUM": "sum"}


class PoolingType(Enum):
    """What is made of a window."""

    MAX = 0
    AVG = 1
    SUM = 2


@dataclass(frozen=True)
class PoolParams:
    """A pooling. Negative padding cuts the field."""

    kind: PoolingType
    field: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    batch: int
    type: Type

    @property
    def output_field(self) -> tuple[int, ...]:
        """The extents of the output."""
        return tuple(
            (size + low + high - kernel) // stride + 1
            for size, low, high, kernel, stride in zip(
                self.field, self.lower, self.upper, self.kernel, self.stride, strict=True
            )
        )

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Batch, channels, field."""
        return (self.batch, self.channels, *self.field)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Batch, channels, field."""
        return (self.batch, self.channels, *self.output_field)

    def check(self) -> None:
        """Raise an error if no such pooling is possible."""
        lists: Sequence[Sequence[int]] = (self.kernel, self.stride, self.lower, self.upper)
        if any(len(each) != len(self.field) for each in lists):
            raise refuse("pooling", f"every list needs {len(self.field)} entries, one for each dimension")
        if min((*self.stride, *self.kernel, 1)) < 1:
            raise refuse("pooling", "strides and extents of the kernel have to be at least 1")
        if min(self.output_field, default=1) < 1:
            raise refuse("pooling", f"a kernel of {list(self.kernel)} does not fit the padded field")

    @property
    def flops(self) -> int:
        """Comparisons or additions of a forward pass."""
        return prod(self.output_shape) * prod(self.kernel)


def _work(params: PoolParams, gradient: bool) -> Pool:
    return Pool(
        _MODEL_KINDS[params.kind.name],
        params.batch,
        params.channels,
        params.field,
        params.kernel,
        params.stride,
        work_type(params.type),
        gradient,
    )


def _plain(params: PoolParams) -> dict[str, Any]:
    names = ("field", "kernel", "stride", "lower", "upper")
    return {"kind": params.kind.name} | {name: list(getattr(params, name)) for name in names}


def pool(
    graph: Graph, params: PoolParams, source: View, prog: Program, debug: str, options: Options | None
) -> View:
    """The pooled field."""
    params.check()
    check("pool", options or {}, (), _WITHOUT_EFFECT)
    need_floats("pool", source)
    need_shape("pool", "input", source, params.input_shape)
    made = linear(graph, params.type, params.output_shape, joined(debug, "pool"))
    call(prog, "popnn.pool", [source], [made], [_work(params, False)], debug, params=_plain(params))
    return made


def gradient(
    graph: Graph,
    params: PoolParams,
    source: View | None,
    pooled: View | None,
    outer: View,
    scaled: bool,
    prog: Program,
    debug: str,
    options: Options | None,
) -> View:
    """The gradient of the input. Of equal largest elements each gets the whole, or with `scaled` its share."""
    where = "poolInputGradient"
    params.check()
    check(where, options or {}, (), _WITHOUT_EFFECT)
    need_shape(where, "gradient", outer, params.output_shape)
    if params.kind is PoolingType.MAX:
        if source is None or pooled is None:
            raise refuse(
                where, "the gradient of the largest element needs input and output of the forward pass"
            )
        need_shape(where, "input", source, params.input_shape)
        need_shape(where, "output", pooled, params.output_shape)
        inputs = [outer, source, pooled]
    else:
        inputs = [outer]
    made = linear(graph, params.type, params.input_shape, joined(debug, where))
    call(
        prog,
        f"popnn.{where}",
        inputs,
        [made],
        [_work(params, True)],
        debug,
        params=_plain(params),
        scaled=bool(scaled),
    )
    return made


# -- kernels ------------------------------------------------------------------------------------------------------


class _Windows:
    """Where each place of the kernel lies in a padded field."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.lower, self.upper = params["lower"], params["upper"]
        self.kernel, self.stride = params["kernel"], params["stride"]
        self.field = params["field"]
        self.padded = [
            size + low + high for size, low, high in zip(self.field, self.lower, self.upper, strict=True)
        ]
        self.output = [
            (size - kernel) // stride + 1
            for size, kernel, stride in zip(self.padded, self.kernel, self.stride, strict=True)
        ]
        self.counts = self._count()

    def __iter__(self) -> Iterator[tuple[slice, ...]]:
        for place in np.ndindex(*self.kernel):
            yield (
                slice(None),
                slice(None),
                *(
                    slice(at, at + (size - 1) * stride + 1, stride)
                    for at, size, stride in zip(place, self.output, self.stride, strict=True)
                ),
            )

    def _edges(self) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """Where the field lies in the padded field, and which part of it."""
        inside, kept = [], []
        for size, low, high in zip(self.field, self.lower, self.upper, strict=True):
            kept.append(slice(max(-low, 0), size - max(-high, 0)))
            inside.append(slice(max(low, 0), max(low, 0) + size - max(-low, 0) - max(-high, 0)))
        return tuple(inside), tuple(kept)

    def pad(self, array: Array, fill: float) -> Array:
        """The padded field."""
        made = np.full((*array.shape[:2], *self.padded), fill, array.dtype)
        inside, kept = self._edges()
        made[(slice(None), slice(None), *inside)] = array[(slice(None), slice(None), *kept)]
        return made

    def cut(self, padded: Array) -> Array:
        """The field out of a padded one; zeros where it was cut."""
        made = np.zeros((*padded.shape[:2], *self.field), padded.dtype)
        inside, kept = self._edges()
        made[(slice(None), slice(None), *kept)] = padded[(slice(None), slice(None), *inside)]
        return made

    def _count(self) -> Array:
        """Elements of each window that are not padding, at least 1."""
        ones = self.pad(np.ones((1, 1, *self.field), np.float32), 0)
        total = np.zeros((1, 1, *self.output), np.float32)
        for part in self:
            total += ones[part]
        return np.asarray(np.maximum(total, 1))


@computing("popnn.pool")
def _pool(attributes: Mapping[str, Any]) -> Kernel:
    windows, kind = _Windows(attributes["params"]), attributes["params"]["kind"]

    def run(inputs: Arrays, outputs: Arrays) -> None:
        values = single(inputs[0])
        padded = windows.pad(values, -np.inf if kind == "MAX" else 0)
        start = -np.inf if kind == "MAX" else 0
        total = np.full((*values.shape[:2], *windows.output), start, np.float32)
        join = np.maximum if kind == "MAX" else np.add
        for part in windows:
            join(total, padded[part], out=total)
        if kind == "MAX":
            total[total == -np.inf] = 0
        outputs[0][...] = total / windows.counts if kind == "AVG" else total

    return run


@computing("popnn.poolInputGradient")
def _gradient(attributes: Mapping[str, Any]) -> Kernel:
    windows, kind = _Windows(attributes["params"]), attributes["params"]["kind"]
    scaled = attributes["scaled"]

    def largest(outer: Array, source: Array, pooled: Array) -> Array:
        padded = windows.pad(source, -np.inf)
        total = np.zeros(padded.shape, np.float32)
        if scaled:
            count = np.zeros(pooled.shape, np.float32)
            for part in windows:
                count += padded[part] == pooled
            outer = outer / np.maximum(count, 1)
        for part in windows:
            total[part] += np.where(padded[part] == pooled, outer, 0)
        return windows.cut(total)

    def run(inputs: Arrays, outputs: Arrays) -> None:
        outer = single(inputs[0])
        if kind == "MAX":
            outputs[0][...] = largest(outer, single(inputs[1]), single(inputs[2]))
            return
        share = outer / windows.counts if kind == "AVG" else outer
        total = np.zeros((*outer.shape[:2], *windows.padded), np.float32)
        for part in windows:
            total[part] += share
        outputs[0][...] = windows.cut(total)

    return run
