"""Operators that say something to the compiler or the user, and convolutions side by side."""

from __future__ import annotations

from torch import Tensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.ops.convolutions import convolve
from tremula.frontends.onnx.ops.padding import padded
from tremula.frontends.onnx.ops.table import GRAPHCORE, op
from tremula.frontends.torch.ops.print_tensor import print_tensor


@op("PrintTensor", domain=GRAPHCORE, folds=False)
def printed(call: Call, tensor: Tensor) -> Tensor:
    """The tensor itself; it is printed when the graph runs."""
    layout = (
        call.integer("summariseThreshold", 1000),
        call.integer("edgeItems", 3),
        call.integer("maxLineWidth", 75),
        call.integer("digits", 8),
        call.integer("floatFormat", 0),
        chr(call.integer("separator", ord(" "))),
        chr(call.integer("openBracket", ord("["))),
        chr(call.integer("closeBracket", ord("]"))),
    )
    title, gradient_title = call.text("title", ""), ""
    if not title:
        title = call.node.inputs[0]
        gradient_title = f"Gradient___{title}"
    shown: Tensor = print_tensor(tensor, title, call.flag("print_gradient", True), *layout, gradient_title)
    return shown


@op("CopyVarUpdate", domain=GRAPHCORE)
def copied_variable(call: Call, variable: Tensor, value: Tensor) -> Tensor:
    """The variable's new value; who keeps variables stores it."""
    if variable.shape != value.shape:
        raise Error(f"a variable of the shape {list(variable.shape)} cannot become {list(value.shape)}.")
    return value


@op("MultiConv", domain=GRAPHCORE)
def several_convolutions(call: Call, *tensors: Tensor | None) -> list[Tensor]:
    """Convolutions that the device runs together: data, weights and bias of one after those of the other."""
    padded_tensors = [*tensors, *[None] * (-len(tensors) % 3)]
    lists = {
        name: call.integers(name, ()) for name in ("strides", "dilations", "inDilations", "pads", "outPads")
    }
    results = []
    for place in range(0, len(padded_tensors), 3):
        data, weights, bias = padded_tensors[place : place + 3]
        if data is None or weights is None:
            raise Error("each convolution needs data and weights.")
        dims = data.dim() - 2
        taken: dict[str, list[int]] = {}
        for name, values in lists.items():
            count = 2 * dims if name.lower().endswith("pads") else dims
            neutral = 0 if name.lower().endswith("pads") else 1
            taken[name] = values[:count] or [neutral] * count
            lists[name] = values[count:]
        data = _spread(data, taken["inDilations"])
        groups = data.shape[1] // weights.shape[1]
        result = convolve(data, weights, taken["strides"], taken["pads"], taken["dilations"], groups)
        if bias is not None:
            result = result + bias.reshape(-1, *[1] * dims)
        if any(taken["outPads"]):
            pads = taken["outPads"]
            result = padded(result, [0, 0, *pads[:dims], 0, 0, *pads[dims:]], "constant")
        results.append(result)
    return results


def _spread(data: Tensor, dilations: list[int]) -> Tensor:
    """`data` with zeros between its elements."""
    for place, dilation in enumerate(dilations):
        if dilation > 1:
            dim = place + 2
            behind = [0] * (2 * (data.dim() + 1))
            behind[data.dim() + 1 + dim + 1] = dilation - 1
            spread = padded(data.unsqueeze(dim + 1), behind, "constant")
            extent = (data.shape[dim] - 1) * dilation + 1
            data = spread.flatten(dim, dim + 1).narrow(dim, 0, extent)
    return data
