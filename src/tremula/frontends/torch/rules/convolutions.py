"""Convolutions and their gradients: torch's arguments to the geometry of `lowering.convolutions`."""

from __future__ import annotations

from collections.abc import Sequence

from tremula.frontends.torch.rules.call import Call
from tremula.frontends.torch.rules.operand import Operand
from tremula.frontends.torch.rules.products import proportion
from tremula.lowering.convolutions import Geometry, bias_gradient
from tremula.lowering.products import bias, partials
from tremula.program.lowered import Lowered
from tremula.program.work import Work

Ints = tuple[int, ...]


def convolution(call: Call) -> Lowered:
    """A convolution, plain or transposed, and its bias."""
    source, weight = call.tensor("input") or call.tensor("self"), call.tensor("weight")
    if source is None or weight is None:
        return call.unknown()
    result = call.output
    works: list[Work] = []
    if call.argument("transposed", False):
        works.append(_geometry(call, x=result, y=source, weight=weight).x_from_y("forward"))
    else:
        works.append(_geometry(call, x=source, y=result, weight=weight).y_from_x("forward"))
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
        _geometry(call, x=gradient, y=source, weight=weight)
        if transposed
        else _geometry(call, x=source, y=gradient, weight=weight)
    )
    of_input, of_weight, of_bias = call.argument("output_mask", (True, True, True))
    works: list[Work] = []
    if of_input:
        forward = geometry.y_from_x if transposed else geometry.x_from_y
        works.append(forward("input_gradient"))
    if of_weight:
        works.append(geometry.weight_gradient())
    if of_bias:
        works.append(bias_gradient(gradient.elements, gradient.shape[1 - len(weight.shape)], gradient.dtype))
    return call.lowered(works)


def _geometry(call: Call, x: Operand, y: Operand, weight: Operand) -> Geometry:
    """The convolution from `x` to `y`; the weight is (y channels, x channels per group, ...)."""
    dims = len(weight.shape) - 2
    groups = int(call.argument("groups", 1))
    wanted = call.settings.convolution_partials or call.settings.partials
    group = call.op.attributes.get("multi_conv")
    if isinstance(group, dict) and group.get("partials_type") in (0, 1):
        wanted = ("fp32", "fp16")[group["partials_type"]]
    return Geometry(
        batch=x.shape[0] if len(x.shape) == dims + 2 else 1,
        groups=groups,
        x_channels=weight.shape[1],
        y_channels=weight.shape[0] // groups,
        x=x.shape[-dims:],
        y=y.shape[-dims:],
        kernel=weight.shape[2:],
        stride=_spread(call.argument("stride", 1), dims),
        padding=tuple((p, p) for p in _spread(call.argument("padding", 0), dims)),
        dilation=_spread(call.argument("dilation", 1), dims),
        dtype=x.dtype,
        partials=partials(x.dtype, wanted),
        proportion=proportion(call),
    )


def _spread(value: int | Sequence[int], dims: int) -> Ints:
    if isinstance(value, int):
        return (value,) * dims
    listed = tuple(value)
    return listed * dims if len(listed) == 1 else listed
