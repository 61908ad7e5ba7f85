"""Convolutions and their gradients: TensorFlow's attributes to the geometry of `lowering.convolutions`.

Filters are (field..., input channels of a group, output channels), those of depthwise convolutions (field..., channels,
multiplier). A gradient with respect to the input that is part of the forward pass is a transposed convolution. Zeros
that a program puts around the input of a convolution alone become its padding, as XLA simplifies it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tremula.frontends.tensorflow.capture.nodes import Node
from tremula.frontends.tensorflow.rules.call import Call, GraphFacts, Operand
from tremula.lowering.convolutions import Geometry, bias_gradient
from tremula.program.lowered import Lowered

Ints = tuple[int, ...]


def channels_first(call: Call) -> bool:
    """Whether channels are dimension 1 of the data."""
    return str(call.attribute("data_format", "NHWC")).startswith("NC")


def spatial(values: Sequence[int], first: bool) -> Ints:
    """Of one number for each dimension, those of the field."""
    return tuple(values[2:]) if first else tuple(values[1:-1])


#: which input of a convolution is its field
_READS_FIELD = {
    "Conv2D": 0, "Conv3D": 0, "DepthwiseConv2dNative": 0, "Conv2DBackpropFilter": 0, "Conv3DBackpropFilterV2": 0,
    "DepthwiseConv2dNativeBackpropFilter": 0,
}  # fmt: skip


def is_folded(pad: Node, facts: GraphFacts) -> bool:
    """Whether a node puts zeros around fields of convolutions alone, which then do it themselves."""
    value = pad.output
    users = facts.users(value)
    if pad.type != "Pad" or pad.inputs[1].constant is None or not users or value in facts.kept:
        return False
    if not all(_READS_FIELD.get(user.type) == 0 and user.inputs[0] is value for user in users):
        return False
    amounts = pad.inputs[1].constant
    first = str(users[0].attribute("data_format", "NHWC")).startswith("NC")
    others = (amounts[0], amounts[1]) if first else (amounts[0], amounts[-1])
    return not any(int(n) for pair in others for n in pair)


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
    folded = ((0, 0),) * dims
    pad = x.node.node if x.node is not None else None
    if pad is not None and pad.type == "Pad" and is_folded(pad, call.facts):
        amounts = pad.inputs[1].constant
        if amounts is not None:
            folded = tuple(
                (int(before), int(after)) for before, after in (amounts[2:] if first else amounts[1:-1])
            )
            field = tuple(n - before - after for n, (before, after) in zip(field, folded, strict=True))
    kernel = weight[:dims]
    stride = _listed(call, "strides", dims, first)
    dilation = _listed(call, "dilations", dims, first)
    padding = _padding(call, spatial(x.shape, first), made, kernel, stride, dilation, first)
    return Geometry(
        batch=x.shape[0],
        groups=groups,
        x_channels=inner,
        y_channels=outer,
        x=field,
        y=made,
        kernel=kernel,
        stride=stride,
        padding=tuple(
            (before + more, after + most)
            for (before, after), (more, most) in zip(padding, folded, strict=True)
        ),
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
