"""Convolutions and their gradients, each as a convolution of its own.

With y = x * w of stride s, dilation d and padding p:

- the gradient of x is a convolution of y's gradient, spread by s, with the kernel turned over;
- the gradient of w is a convolution of x (channels as batch, batch as channels) whose kernel is y's gradient:
  what was the stride dilates that kernel, and the kernel's dilation is the stride;
- a transposed convolution is the gradient of x, and its own gradients are the other two.

Extents are exact: `output_field` of the work is the field (or kernel) that the gradient has.
"""

from __future__ import annotations

from collections.abc import Sequence

from tremula.frontends.torch.rules.call import Call
from tremula.frontends.torch.rules.operand import Operand
from tremula.frontends.torch.rules.products import bias, partials, proportion
from tremula.program.lowered import Lowered
from tremula.program.work import Convolution, Reduction, Work

Ints = tuple[int, ...]


class Geometry:
    """A convolution from `x` (the larger field, or as if it were) to `y` with kernel `w`.

    For a transposed convolution x and y have changed places: it computes x from y.
    """

    def __init__(self, call: Call, x: Operand, y: Operand, weight: Operand) -> None:
        self.call = call
        dims = len(weight.shape) - 2
        self.groups = int(call.argument("groups", 1))
        self.batch = x.shape[0] if len(x.shape) == dims + 2 else 1
        self.x, self.y = x.shape[-dims:], y.shape[-dims:]
        self.kernel = weight.shape[2:]
        #: channels per group: the weight is (y channels, x channels per group, ...)
        self.y_channels = weight.shape[0] // self.groups
        self.x_channels = weight.shape[1]
        self.stride = _spread(call.argument("stride", 1), dims)
        self.dilation = _spread(call.argument("dilation", 1), dims)
        self.padding = _spread(call.argument("padding", 0), dims)
        self.dtype = x.dtype
        wanted = call.settings.convolution_partials or call.settings.partials
        group = call.op.attributes.get("multi_conv")
        if isinstance(group, dict) and group.get("partials_type") in (0, 1):
            wanted = ("fp32", "fp16")[group["partials_type"]]
        self.partials = partials(self.dtype, wanted)
        self.proportion = proportion(call)

    def y_from_x(self, role: str) -> Convolution:
        """The plain convolution."""
        return Convolution(
            batch=self.batch,
            in_channels=self.x_channels,
            out_channels=self.y_channels,
            field=self.x,
            kernel=self.kernel,
            stride=self.stride,
            padding=tuple((p, p) for p in self.padding),
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
            d * (k - 1) - p for d, k, p in zip(self.dilation, self.kernel, self.padding, strict=True)
        )
        after = tuple(
            x - 1 - (y - 1) * s + p
            for x, y, s, p in zip(self.x, self.y, self.stride, self.padding, strict=True)
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
        after = tuple(
            (k - 1) * d + (y - 1) * s + 1 - p - x
            for x, y, s, k, d, p in zip(
                self.x, self.y, self.stride, self.kernel, self.dilation, self.padding, strict=True
            )
        )
        return Convolution(
            batch=self.x_channels,
            in_channels=self.batch,
            out_channels=self.y_channels,
            field=self.x,
            kernel=self.y,
            stride=self.dilation,
            padding=tuple(zip(self.padding, after, strict=True)),
            dilation=self.stride,
            input_dilation=(1,) * len(self.x),
            groups=self.groups,
            dtype=self.dtype,
            partials=self.partials,
            proportion=self.proportion,
            role="weight_gradient",
        )


def convolution(call: Call) -> Lowered:
    """A convolution, plain or transposed, and its bias."""
    source, weight = call.tensor("input") or call.tensor("self"), call.tensor("weight")
    if source is None or weight is None:
        return call.unknown()
    result = call.output
    works: list[Work] = []
    if call.argument("transposed", False):
        works.append(Geometry(call, x=result, y=source, weight=weight).x_from_y("forward"))
    else:
        works.append(Geometry(call, x=source, y=result, weight=weight).y_from_x("forward"))
    added = call.tensor("bias")
    if added is not None:
        works.append(bias(result, added))
    return call.lowered(works)


def convolution_gradient(call: Call) -> Lowered:
    """Gradients of input, weight and bias, those of the three that are wanted."""
    gradient, source, weight = (call.tensor(name) for name in ("grad_output", "input", "weight"))
    if gradient is None or source is None or weight is None:
        return call.unknown()
    transposed = bool(call.argument("transposed", False))
    geometry = (
        Geometry(call, x=gradient, y=source, weight=weight)
        if transposed
        else Geometry(call, x=source, y=gradient, weight=weight)
    )
    of_input, of_weight, of_bias = call.argument("output_mask", (True, True, True))
    works: list[Work] = []
    if of_input:
        forward = geometry.y_from_x if transposed else geometry.x_from_y
        works.append(forward("input_gradient"))
    if of_weight:
        works.append(geometry.weight_gradient())
    if of_bias:
        works.append(bias_gradient(gradient, len(weight.shape) - 2))
    return call.lowered(works)


def bias_gradient(gradient: Operand, dims: int) -> Reduction:
    """The sum over all but the channels, which lie innermost on the device."""
    channels = gradient.shape[-dims - 1]
    return Reduction(
        outer=1, reduced=gradient.elements // max(1, channels), inner=channels, dtype=gradient.dtype
    )


def _spread(value: int | Sequence[int], dims: int) -> Ints:
    if isinstance(value, int):
        return (value,) * dims
    listed = tuple(value)
    return listed * dims if len(listed) == 1 else listed
