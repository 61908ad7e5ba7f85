"""Convolutions and their gradients: TensorFlow's attributes to the geometry of `lowering.convolutions`.

Filters are (field..., input channels of a group, output channels), those of depthwise convolutions (field..., channels,
multiplier). A gradient with respect to the input that is part of the forward pass is a transposed convolution.
"""

from __future__ import annotations

from collections.abc import Sequence

from tremula.frontends.tensorflow.rules.call import Call, Operand
from tremula.lowering.convolutions import Geometry, bias_gradient
from tremula.program.lowered import Lowered

Ints = tuple[int, ...]


def channels_first(call: Call) -> bool:
    """Whether channels are dimension 1 of the data."""
    return str(call.attribute("data_format", "NHWC")).startswith("NC")


def spatial(values: Sequence[int], first: bool) -> Ints:
    """Of one number for each dimension, those of the field."""
    return tuple(values[2:]) if first else tuple(values[1:-1])


def convolution(call: Call) -> Lowered:
    """Conv2D, Conv3D, DepthwiseConv2dNative; in the backward pass the input's gradient of a transposed one."""
    source, weight = call.given(0), call.given(1)
    role = "input_gradient" if call.backward else "forward"
    return call.lowered((_geometry(call, source, call.output, weight.shape).y_from_x(role),))


def input_gradient(call: Call) -> Lowered:
    """Conv2DBackpropInput and its like: (sizes of the input, filter, gradient)."""
    weight, gradient = call.given(1), call.given(2)
    role = "input_gradient" if call.backward else "forward"
    return call.lowered((_geometry(call, call.output, gradient, weight.shape).x_from_y(role),))


def filter_gradient(call: Call) -> Lowered:
    """Conv2DBackpropFilter and its like: (input, sizes of the filter, gradient)."""
    source, gradient = call.given(0), call.given(2)
    return call.lowered((_geometry(call, source, gradient, call.output.shape).weight_gradient(),))


def gradient_of_bias(call: Call) -> Lowered:
    """BiasAddGrad."""
    gradient = call.given(0)
    return call.lowered((bias_gradient(gradient.elements, call.output.elements, gradient.dtype),))


def _geometry(call: Call, x: Operand, y: Operand, weight: Ints) -> Geometry:
    """The convolution from `x` to `y`."""
    first = channels_first(call)
    dims = len(weight) - 2
    channels = x.shape[1] if first else x.shape[-1]
    if call.type.startswith("Depthwise"):
        groups, inner, outer = weight[-2], 1, weight[-1]
    else:
        inner = weight[-2]
        groups = max(1, channels // max(1, inner))
        outer = weight[-1] // groups
    field, made = spatial(x.shape, first), spatial(y.shape, first)
    kernel = weight[:dims]
    stride = _listed(call, "strides", dims, first)
    dilation = _listed(call, "dilations", dims, first)
    return Geometry(
        batch=x.shape[0],
        groups=groups,
        x_channels=inner,
        y_channels=outer,
        x=field,
        y=made,
        kernel=kernel,
        stride=stride,
        padding=_padding(call, field, made, kernel, stride, dilation, first),
        dilation=dilation,
        dtype=x.dtype,
        partials=call.partials(x.dtype, convolution=True),
        proportion=call.proportion,
    )


def _listed(call: Call, name: str, dims: int, first: bool) -> Ints:
    values = call.attribute(name) or ()
    return spatial([int(n) for n in values], first) if len(values) == dims + 2 else (1,) * dims


def _padding(
    call: Call, field: Ints, made: Ints, kernel: Ints, stride: Ints, dilation: Ints, first: bool
) -> tuple[tuple[int, int], ...]:
    kind = str(call.attribute("padding", "VALID"))
    if kind == "EXPLICIT":
        flat = [int(n) for n in call.attribute("explicit_paddings", ())]
        pairs = list(zip(flat[::2], flat[1::2], strict=True))
        return tuple(pairs[2:] if first else pairs[1:-1])
    if kind != "SAME":
        return tuple((0, 0) for _ in field)
    found = []
    for n, m, k, s, d in zip(field, made, kernel, stride, dilation, strict=True):
        total = max(0, (m - 1) * s + (k - 1) * d + 1 - n)
        found.append((total // 2, total - total // 2))
    return tuple(found)
