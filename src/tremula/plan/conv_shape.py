"""A convolution as the planner rewrites it: extents per dimension, and what its operands look like.

A matrix product is a convolution with one kernel position whose rows are the batch (PopLibs MatMul.cpp). All
convolutions have at least two dimensions here, the outer ones of extent 1 if need be.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np

from tremula.program.work import Convolution, MatMul

#: pairs of output and kernel positions up to which those that meet an input are counted one by one
COUNTED_PAIRS = 4_000_000


@dataclass(frozen=True)
class Dimension:
    """One dimension of the field. Positions: output * stride + kernel * dilation - before = input * spread."""

    field: int
    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    #: distance of inputs: zeros in between
    spread: int = 1
    before: int = 0
    after: int = 0

    @functools.cached_property
    def window(self) -> int:
        """Extent of the kernel with its holes."""
        return (self.kernel - 1) * self.dilation + 1

    @functools.cached_property
    def padded(self) -> int:
        """Extent of the input with its zeros."""
        return (self.field - 1) * self.spread + 1 + self.before + self.after

    @functools.cached_property
    def out(self) -> int:
        """Extent of the output."""
        return max(1, (self.padded - self.window) // self.stride + 1)

    @functools.cached_property
    def step(self) -> int:
        """For one kernel position: distance of the outputs that meet an input."""
        return self.spread // math.gcd(self.spread, self.stride)

    @functools.cached_property
    def plain(self) -> bool:
        """Whether inputs and outputs are the same points."""
        return (
            self.window == 1 and self.stride == 1 and self.spread == 1 and not self.before and not self.after
        )

    def canonical(self) -> Dimension:
        """Without strides and distances that make no difference, and without inputs that nothing reads."""
        field, before, after = self.field, self.before, self.after
        if before < 0:
            cut = min(field - 1, -before // self.spread)
            field, before = field - cut, before + cut * self.spread
        if after < 0:
            cut = min(field - 1, -after // self.spread)
            field, after = field - cut, after + cut * self.spread
        same = replace(self, field=field, before=before, after=after)._without_zero_outputs()
        out = same.out
        # the end of the input that a stride leaves over
        unread = same.padded - ((out - 1) * same.stride + same.window)
        if unread > 0:
            off_padding = min(unread, max(0, same.after))
            cut = min(same.field - 1, (unread - off_padding) // same.spread)
            same = replace(same, after=same.after - off_padding, field=same.field - cut)
        return replace(
            same,
            stride=1 if same.padded == same.window else same.stride,
            dilation=1 if same.kernel == 1 else same.dilation,
            spread=1 if same.field == 1 else same.spread,
        )

    def _without_zero_outputs(self) -> Dimension:
        """Without outputs at the ends whose windows hold padding only; they are filled in afterwards."""
        outs = self.out
        lead = min(outs - 1, max(0, -(-(self.before - self.window + 1) // self.stride)))
        last = self.before + (self.field - 1) * self.spread
        trail = min(outs - 1 - lead, max(0, outs - 1 - last // self.stride))
        after = self.after - trail * self.stride if trail else self.after
        return replace(self, before=self.before - lead * self.stride, after=after)

    def swapped(self) -> Dimension:
        """Kernel and field in each other's place: the same outputs."""
        margin = self.padded - self.window
        return Dimension(
            field=self.kernel,
            kernel=self.field,
            stride=self.stride,
            dilation=self.spread,
            spread=self.dilation,
            before=margin - self.after,
            after=margin - self.before,
        )

    def useful_pairs(self) -> float:
        """Pairs of output and kernel position that meet an input."""
        if self.out * self.kernel > COUNTED_PAIRS:
            return self.out * self.kernel / self.step
        outs = np.arange(self.out)[:, None] * self.stride
        at = outs + np.arange(self.kernel)[None, :] * self.dilation - self.before
        meets = (at >= 0) & (at <= (self.field - 1) * self.spread) & (at % self.spread == 0)
        return float(np.count_nonzero(meets))


@dataclass(frozen=True)
class ConvShape:
    """Extents of a convolution; channels are per group."""

    groups: int
    batch: int
    in_channels: int
    out_channels: int
    dimensions: tuple[Dimension, ...]

    @functools.cached_property
    def kernel_positions(self) -> int:
        """Of all dimensions."""
        return math.prod(d.kernel for d in self.dimensions)

    @functools.cached_property
    def inputs(self) -> int:
        """Elements of the input."""
        return self.groups * self.batch * self.in_channels * math.prod(d.field for d in self.dimensions)

    @functools.cached_property
    def weights(self) -> int:
        """Elements of the weights."""
        return self.groups * self.in_channels * self.out_channels * self.kernel_positions

    @functools.cached_property
    def outputs(self) -> int:
        """Elements of the output."""
        return self.groups * self.batch * self.out_channels * math.prod(d.out for d in self.dimensions)

    @functools.cached_property
    def macs(self) -> float:
        """Multiply-accumulates of all outputs with all kernel positions, padding included."""
        positions = math.prod(-(-d.out // d.step) * d.kernel for d in self.dimensions)
        return float(self.groups * self.batch * self.in_channels * self.out_channels * positions)

    @functools.cached_property
    def useful_macs(self) -> float:
        """Multiply-accumulates that meet an input."""
        pairs = math.prod(d.useful_pairs() for d in self.dimensions)
        return float(self.groups * self.batch * self.in_channels * self.out_channels) * pairs

    def swapped(self) -> ConvShape:
        """Input and weights in each other's place."""
        return ConvShape(
            self.groups,
            self.out_channels,
            self.in_channels,
            self.batch,
            tuple(d.swapped().canonical() for d in self.dimensions),
        )


def shape_of(work: Convolution | MatMul) -> ConvShape:
    """The work as the planner starts from it."""
    if isinstance(work, MatMul):
        one = Dimension(1)
        return ConvShape(
            max(1, work.groups), max(1, work.rows), max(1, work.inner), max(1, work.columns), (one, one)
        )
    dimensions = tuple(
        Dimension(max(1, field), max(1, kernel), stride, dilation, spread, before, after).canonical()
        for field, kernel, stride, dilation, spread, (before, after) in zip(
            work.field,
            work.kernel,
            work.stride,
            work.dilation,
            work.input_dilation,
            work.padding,
            strict=True,
        )
    )
    dimensions = (Dimension(1),) * (2 - len(dimensions)) + dimensions
    return ConvShape(
        max(1, work.groups),
        max(1, work.batch),
        max(1, work.in_channels),
        max(1, work.out_channels),
        dimensions,
    )
