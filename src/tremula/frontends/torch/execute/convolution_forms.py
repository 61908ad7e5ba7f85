"""Convolutions of one sample, which the host often computes as a slow unfolded product: by the library's own operator,
or as a batch of two overlapping slabs. Each form is written once, over `Ops`, and either computes or extends a graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import torch

from tremula.invariants import present

_ATEN = torch.ops.aten
_DEPTH = 2
_SLABS = 2

#: a tensor, or the node of one
Value: TypeAlias = Any


class Ops(Protocol):
    """Calls operators, now or when the graph runs."""

    def call(self, op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Value:
        """The result of an operator."""

    def item(self, values: Value, index: int) -> Value:
        """One of several results."""


@dataclass(frozen=True)
class Problem:
    """A convolution of one sample, or its gradients, by everything that the time it takes depends on.

    Attributes:
        input: shape of the convolution's input: 1, channels, depth, height, width.
        weight: shape of its weights.
        output: shape of its result.
        stride: along depth, height, width; so are padding and dilation.
        biased: forward: there is a bias.
        wanted: backward: which gradients (input, weights, bias) are asked for; None for forward.
    """

    input: tuple[int, ...]
    weight: tuple[int, ...]
    output: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    biased: bool = False
    wanted: tuple[bool, bool, bool] | None = None

    @property
    def flops(self) -> int:
        """Floating-point operations, of one of the products if there are several."""
        count = 2 * self.input[1]
        for extent in (*self.output, *self.weight[2:]):
            count *= extent
        return count

    def geometry(self, padding: tuple[int, ...]) -> tuple[Any, ...]:
        """Arguments of a convolution after its operands: stride to groups."""
        return list(self.stride), list(padding), list(self.dilation), False, [0, 0, 0], 1


@dataclass(frozen=True)
class _Cut:
    """How the depth is cut: slab `i` gives results from `i * results` on and reads `extent` of the input."""

    results: int
    step: int
    extent: int

    @classmethod
    def of(cls, problem: Problem) -> _Cut:
        results = -(-problem.output[_DEPTH] // _SLABS)
        stride, dilation, kernel = problem.stride[0], problem.dilation[0], problem.weight[_DEPTH]
        return cls(results, results * stride, (results - 1) * stride + (kernel - 1) * dilation + 1)


def forward_as_is(ops: Ops, problem: Problem, x: Value, weight: Value, bias: Value) -> Value:
    """The operator that was captured."""
    return _convolution(ops, problem, x, weight, bias, problem.padding)


def forward_by_library(ops: Ops, problem: Problem, x: Value, weight: Value, bias: Value) -> Value:
    """The library's own operator."""
    geometry = (list(problem.padding), list(problem.stride), list(problem.dilation), 1)
    return ops.call(_ATEN.mkldnn_convolution.default, x, weight, bias, *geometry)


def forward_in_slabs(ops: Ops, problem: Problem, x: Value, weight: Value, bias: Value) -> Value:
    """Two slabs as a batch."""
    cut = _Cut.of(problem)
    slabs = _input_slabs(ops, problem, x, cut)
    slabs = _convolution(ops, problem, slabs, weight, bias, (0, *problem.padding[1:]))
    rest = problem.output[_DEPTH] - cut.results
    first = ops.call(_ATEN.slice.Tensor, slabs, 0, 0, 1)
    second = ops.call(_ATEN.slice.Tensor, slabs, 0, 1, 2)
    return ops.call(_ATEN.cat.default, [first, ops.call(_ATEN.slice.Tensor, second, _DEPTH, 0, rest)], _DEPTH)


def backward_as_is(
    ops: Ops, problem: Problem, gradient: Value, x: Value, weight: Value
) -> tuple[Value, Value, Value]:
    """The operator that was captured."""
    return _gradients(ops, problem, gradient, x, weight, problem.padding)


def backward_in_slabs(
    ops: Ops, problem: Problem, gradient: Value, x: Value, weight: Value
) -> tuple[Value, Value, Value]:
    """Two slabs as a batch: what they give for weights and bias is summed already."""
    cut = _Cut.of(problem)
    missing = _SLABS * cut.results - problem.output[_DEPTH]
    # results that a slab has too many get no gradient
    gradients = ops.call(
        _ATEN.cat.default,
        [
            ops.call(_ATEN.slice.Tensor, gradient, _DEPTH, 0, cut.results),
            _shifted(ops, gradient, -cut.results, missing),
        ],
    )
    slabs = _input_slabs(ops, problem, x, cut)
    padding = (0, *problem.padding[1:])
    of_slabs, of_weight, of_bias = _gradients(ops, problem, gradients, slabs, weight, padding)
    if of_slabs is None:
        return None, of_weight, of_bias
    depth, before = problem.input[_DEPTH], problem.padding[0]
    first, second = (
        _shifted(
            ops,
            ops.call(_ATEN.slice.Tensor, of_slabs, 0, slab, slab + 1),
            slab * cut.step - before,
            depth + before - cut.extent - slab * cut.step,
        )
        for slab in range(_SLABS)
    )
    return ops.call(_ATEN.add.Tensor, first, second), of_weight, of_bias


def can_be_cut(problem: Problem) -> bool:
    """Whether each slab has something of the input to read, and a result to give."""
    if problem.output[_DEPTH] < _SLABS:
        return False
    cut = _Cut.of(problem)
    depth, before = problem.input[_DEPTH], problem.padding[0]
    for start in (slab * cut.step - before for slab in range(_SLABS)):
        end = start + cut.extent
        if max(0, start) >= min(depth, end):
            return False
    return True


def _convolution(
    ops: Ops, problem: Problem, x: Value, weight: Value, bias: Value, padding: tuple[int, ...]
) -> Value:
    return ops.call(_ATEN.convolution.default, x, weight, bias, *problem.geometry(padding))


def _gradients(
    ops: Ops, problem: Problem, gradient: Value, x: Value, weight: Value, padding: tuple[int, ...]
) -> tuple[Value, Value, Value]:
    wanted = present(problem.wanted, "which gradients are asked for")
    geometry, bias_shape = problem.geometry(padding), [problem.weight[0]]
    operands = (gradient, x, weight, bias_shape, *geometry, list(wanted))
    values = ops.call(_ATEN.convolution_backward.default, *operands)
    of_input, of_weight, of_bias = (
        ops.item(values, index) if asked else None for index, asked in enumerate(wanted)
    )
    return of_input, of_weight, of_bias


def _input_slabs(ops: Ops, problem: Problem, x: Value, cut: _Cut) -> Value:
    """What each slab of results reads, padding of the depth included, as a batch."""
    before, depth = problem.padding[0], problem.input[_DEPTH]
    slabs = [
        _shifted(ops, x, before - slab * cut.step, cut.extent + slab * cut.step - before - depth)
        for slab in range(_SLABS)
    ]
    return ops.call(_ATEN.cat.default, slabs)


def _shifted(ops: Ops, value: Value, before: int, after: int) -> Value:
    """Zeros at either end of the depth; negative numbers cut off."""
    return ops.call(_ATEN.constant_pad_nd.default, value, [0, 0, 0, 0, before, after])
