"""Convolutions and their gradients, each as a convolution of its own.

With y = x * w of stride s, dilation d and padding p:

- the gradient of x is a convolution of y's gradient, spread by s, with the kernel turned over;
- the gradient of w is a convolution of x (channels as batch, batch as channels) whose kernel is y's gradient:
  what was the stride dilates that kernel, and the kernel's dilation is the stride;
- a transposed convolution is the gradient of x, and its own gradients are the other two.

Extents are exact: `output_field` of the work is the field (or kernel) that the gradient has.
"""

from __future__ import annotations

from dataclasses import dataclass

from tremula.program.work import Convolution, Reduction

Ints = tuple[int, ...]


@dataclass(frozen=True)
class Geometry:
    """A convolution from `x` (the larger field, or as if it were) to `y`.

    For a transposed convolution x and y have changed places: it computes x from y.
    """

    batch: int
    groups: int
    #: channels per group
    x_channels: int
    y_channels: int
    #: extents of the fields
    x: Ints
    y: Ints
    kernel: Ints
    stride: Ints
    #: before and after each dimension of x
    padding: tuple[tuple[int, int], ...]
    dilation: Ints
    dtype: str
    partials: str
    proportion: float

    def y_from_x(self, role: str) -> Convolution:
        """The plain convolution."""
        return Convolution(
            batch=self.batch,
            in_channels=self.x_channels,
            out_channels=self.y_channels,
            field=self.x,
            kernel=self.kernel,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            input_dilation=(1,) * len(self.x),
            groups=self.groups,
            dtype=self.dtype,
            partials=self.partials,
            proportion=self.proportion,
            role=role,
        )

    def x_from_y(self, role: str) -> Convolution:
        """The convolution of y spread by the stride, with the kernel turned over."""
        before = tuple(
            d * (k - 1) - p for d, k, (p, _) in zip(self.dilation, self.kernel, self.padding, strict=True)
        )
        after = tuple(
            x - 1 - (y - 1) * s + p
            for x, y, s, (p, _) in zip(self.x, self.y, self.stride, self.padding, strict=True)
        )
        return Convolution(
            batch=self.batch,
            in_channels=self.y_channels,
            out_channels=self.x_channels,
            field=self.y,
            kernel=self.kernel,
            stride=(1,) * len(self.y),
            padding=tuple(zip(before, after, strict=True)),
            dilation=self.dilation,
            input_dilation=self.stride,
            groups=self.groups,
            dtype=self.dtype,
            partials=self.partials,
            proportion=self.proportion,
            role=role,
        )

    def weight_gradient(self) -> Convolution:
        """The convolution of x, its channels as batch, by y as kernel."""
        before = tuple(p for p, _ in self.padding)
        after = tuple(
            (k - 1) * d + (y - 1) * s + 1 - p - x
            for x, y, s, k, d, p in zip(
                self.x, self.y, self.stride, self.kernel, self.dilation, before, strict=True
            )
        )
        return Convolution(
            batch=self.x_channels,
            in_channels=self.batch,
            out_channels=self.y_channels,
            field=self.x,
            kernel=self.y,
            stride=self.dilation,
            padding=tuple(zip(before, after, strict=True)),
            dilation=self.stride,
            input_dilation=(1,) * len(self.x),
            groups=self.groups,
            dtype=self.dtype,
            partials=self.partials,
            proportion=self.proportion,
            role="weight_gradient",
        )


def bias_gradient(elements: int, channels: int, dtype: str) -> Reduction:
    """The sum over all but the channels, which lie innermost on the device."""
    return Reduction(outer=1, reduced=elements // max(1, channels), inner=channels, dtype=dtype)
