"""The parameters of a convolution: extents, and what is done to input, kernel and output around the plain convolution.

Input and kernel are truncated, dilated with zeros, padded with zeros and then flipped. The output is truncated, every
`stride`-th element is kept, and zeros are put around it. The plain convolution multiplies a kernel that is not flipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tremula.frontends.poplar.libs.checks import refuse
from tremula.frontends.poplar.types import Type
from tremula.program.work import Convolution

Ints = tuple[int, ...]


def dilated(size: int, dilation: int) -> int:
    """The extent after `dilation - 1` zeros are put between elements."""
    return (size - 1) * dilation + 1 if size else 0


@dataclass(frozen=True)
class InputTransform:
    """What is done to the input or to the kernel, for each dimension of the field."""

    truncation_lower: Ints
    truncation_upper: Ints
    dilation: Ints
    padding_lower: Ints
    padding_upper: Ints
    flip: tuple[bool, ...]

    @staticmethod
    def none(rank: int) -> InputTransform:
        """Nothing is done."""
        zero = (0,) * rank
        return InputTransform(zero, zero, (1,) * rank, zero, zero, (False,) * rank)

    def size(self, dimension: int, size: int) -> int:
        """The extent of a dimension afterwards."""
        kept = size - self.truncation_lower[dimension] - self.truncation_upper[dimension]
        inner = dilated(kept, self.dilation[dimension])
        return inner + self.padding_lower[dimension] + self.padding_upper[dimension]

    @property
    def is_plain(self) -> bool:
        """Whether nothing is done."""
        return self == InputTransform.none(len(self.dilation))


@dataclass(frozen=True)
class OutputTransform:
    """What is done to the output, for each dimension of the field."""

    truncation_lower: Ints
    truncation_upper: Ints
    stride: Ints
    padding_lower: Ints
    padding_upper: Ints

    @staticmethod
    def none(rank: int) -> OutputTransform:
        """Nothing is done."""
        zero = (0,) * rank
        return OutputTransform(zero, zero, (1,) * rank, zero, zero)


@dataclass(frozen=True)
class ConvParams:
    """A convolution. Channels are those of one group."""

    input_type: Type
    output_type: Type
    batch: int
    field: Ints
    kernel: Ints
    in_channels: int
    out_channels: int
    groups: int
    input: InputTransform
    weights: InputTransform
    output: OutputTransform

    @property
    def rank(self) -> int:
        """Dimensions of the field."""
        return len(self.field)

    def plain_size(self, dimension: int) -> int:
        """The extent of the output before anything is done to it."""
        inner = self.input.size(dimension, self.field[dimension])
        return inner - self.weights.size(dimension, self.kernel[dimension]) + 1

    def kept_size(self, dimension: int) -> int:
        """The extent of the output without its padding."""
        cut = self.output.truncation_lower[dimension] + self.output.truncation_upper[dimension]
        return -(-(self.plain_size(dimension) - cut) // self.output.stride[dimension])

    def output_size(self, dimension: int) -> int:
        """The extent of the output."""
        padding = self.output.padding_lower[dimension] + self.output.padding_upper[dimension]
        return self.kept_size(dimension) + padding

    @property
    def output_field(self) -> Ints:
        """The extents of the output."""
        return tuple(self.output_size(dimension) for dimension in range(self.rank))

    @property
    def input_shape(self) -> Ints:
        """Batch, channels, field."""
        return (self.batch, self.groups * self.in_channels, *self.field)

    @property
    def weights_shape(self) -> Ints:
        """Groups, channels of the output and of the input, kernel."""
        return (self.groups, self.out_channels, self.in_channels, *self.kernel)

    @property
    def output_shape(self) -> Ints:
        """Batch, channels, field."""
        return (self.batch, self.groups * self.out_channels, *self.output_field)

    def check(self) -> None:
        """Raise an error if no such convolution is possible."""
        rank = self.rank
        lists = (
            *vars(self.input).values(),
            *vars(self.weights).values(),
            *vars(self.output).values(),
            self.kernel,
        )
        if any(len(each) != rank for each in lists):
            raise refuse(
                "ConvParams", f"every list needs {rank} entries, one for each dimension of the field"
            )
        if min((*self.output.stride, *self.input.dilation, *self.weights.dilation, 1)) < 1:
            raise refuse("ConvParams", "strides and dilations have to be at least 1")
        for dimension in range(rank):
            self._check_dimension(dimension)

    def _check_dimension(self, dimension: int) -> None:
        for what, transform, size in (
            ("input", self.input, self.field[dimension]),
            ("kernel", self.weights, self.kernel[dimension]),
        ):
            if transform.truncation_lower[dimension] + transform.truncation_upper[dimension] > size:
                raise refuse(
                    "ConvParams", f"dimension {dimension} of the {what} is truncated by more than it has"
                )
        kernel = self.weights.size(dimension, self.kernel[dimension])
        inner = self.input.size(dimension, self.field[dimension])
        if kernel < 1 or inner < kernel:
            raise refuse(
                "ConvParams",
                f"in dimension {dimension} a kernel of {kernel} does not fit into an input of {inner} elements",
            )
        if (
            self.output.truncation_lower[dimension] + self.output.truncation_upper[dimension]
            > inner - kernel + 1
        ):
            raise refuse(
                "ConvParams", f"dimension {dimension} of the output is truncated by more than it has"
            )


def gradient_params(params: ConvParams) -> ConvParams:
    """The convolution that gives the gradient of the input: with the weights turned, channels exchanged."""
    rank = range(params.rank)
    kernel_size = [params.weights.size(d, params.kernel[d]) for d in rank]
    out, source = params.output, params.input
    # how far the kept elements of the plain output reach
    reach = [dilated(params.kept_size(d), out.stride[d]) for d in rank]
    input_transform = InputTransform(
        truncation_lower=out.padding_lower,
        truncation_upper=out.padding_upper,
        dilation=out.stride,
        padding_lower=tuple(out.truncation_lower[d] + kernel_size[d] - 1 for d in rank),
        padding_upper=tuple(
            params.plain_size(d) - out.truncation_lower[d] - reach[d] + kernel_size[d] - 1 for d in rank
        ),
        # a gradient of a flipped input is flipped: so are both of its operands
        flip=source.flip,
    )
    # the weights are turned before their transform, so its ends are exchanged
    weights = InputTransform(
        truncation_lower=params.weights.truncation_upper,
        truncation_upper=params.weights.truncation_lower,
        dilation=params.weights.dilation,
        padding_lower=params.weights.padding_upper,
        padding_upper=params.weights.padding_lower,
        flip=tuple(a != b for a, b in zip(params.weights.flip, source.flip, strict=True)),
    )
    output_transform = OutputTransform(
        truncation_lower=source.padding_lower,
        truncation_upper=source.padding_upper,
        stride=source.dilation,
        padding_lower=source.truncation_lower,
        padding_upper=source.truncation_upper,
    )
    return ConvParams(
        params.output_type,
        params.input_type,
        params.batch,
        params.output_field,
        params.kernel,
        params.out_channels,
        params.in_channels,
        params.groups,
        input_transform,
        weights,
        output_transform,
    )


def work_of(params: ConvParams, type_name: str, partials: str, proportion: float, role: str) -> Convolution:
    """The convolution for the planner. Truncations cut its field; a padded or truncated kernel counts as dense."""
    rank = range(params.rank)
    simple = all(
        params.weights.truncation_lower[d] == params.weights.truncation_upper[d] == 0
        and params.weights.padding_lower[d] == params.weights.padding_upper[d] == 0
        for d in rank
    )
    kernel = params.kernel if simple else tuple(params.weights.size(d, params.kernel[d]) for d in rank)
    dilation = params.weights.dilation if simple else (1,) * params.rank
    source, out = params.input, params.output
    field_ = tuple(params.field[d] - source.truncation_lower[d] - source.truncation_upper[d] for d in rank)
    padding = tuple(
        (
            source.padding_lower[d] - out.truncation_lower[d],
            source.padding_upper[d] - out.truncation_upper[d],
        )
        for d in rank
    )
    return Convolution(
        batch=params.batch,
        in_channels=params.in_channels,
        out_channels=params.out_channels,
        field=field_,
        kernel=kernel,
        stride=out.stride,
        padding=padding,
        dilation=dilation,
        input_dilation=source.dilation,
        groups=params.groups,
        dtype=type_name,
        partials=partials,
        proportion=proportion,
        role=role,
    )


def as_ints(values: Sequence[Any]) -> Ints:
    """Extents as a tuple."""
    return tuple(int(value) for value in values)
