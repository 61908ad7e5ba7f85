"""Ops whose meaning is that of an operator of ONNX, or of the IPU's own ones: computed by the ONNX front end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.model import STANDARD, Node
from tremula.frontends.onnx.ops.table import GRAPHCORE
from tremula.frontends.onnx.ops.table import find as find_rule
from tremula.frontends.onnx.settings import Settings
from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.model import Op
from tremula.frontends.popxl.ops.reductions import dims_of
from tremula.frontends.popxl.ops.table import Function, kernel
from tremula.frontends.popxl.runtime_errors import check_log2_scale

Attributes = Callable[[Op], Mapping[str, Any]]


def _no_inner_graph(*_arguments: Any) -> list[torch.Tensor]:
    raise graph_error("This op has no inner graph.")


def shared(kind: str, domain: str, type: str, version: int, attributes: Attributes, **options: Any) -> None:
    """Compute ops of `kind` as the operator of that version does, with `attributes`."""

    @kernel(kind, **options)
    def make(op: Op) -> Function:
        rule = find_rule(domain, type, version)
        if rule is None:
            raise graph_error(f"The operator {type} of {domain} is not supported.")
        names = tuple(tensor.identifier for tensor in op.input_list)
        node = Node(domain, type, version, names, tuple(t.identifier for t in op.output_list), attributes(op))
        function = rule.function
        settings = Settings()

        def run(*tensors: torch.Tensor) -> Any:
            return function(Call(node, tensors, settings, _no_inner_graph, False), *tensors)

        return run


def _window(op: Op) -> dict[str, Any]:
    attributes = op.attributes
    found: dict[str, Any] = {"kernel_shape": list(attributes["kernel_size"])}
    names = {"stride": "strides", "padding": "pads", "dilation": "dilations"}
    for ours, theirs in names.items():
        if attributes.get(ours):
            found[theirs] = list(attributes[ours])
    found["ceil_mode"] = int(attributes.get("ceil_mode", False))
    found["auto_pad"] = attributes.get("pad_type", "not_set").upper().replace("NOT_SET", "NOTSET")
    found["storage_order"] = attributes.get("storage_order", 0)
    return found


def _convolution(op: Op) -> dict[str, Any]:
    attributes = op.attributes
    found = {
        "strides": list(attributes["stride"]),
        "pads": list(attributes["padding"]),
        "dilations": list(attributes["dilation"]),
        "group": attributes["groups"],
        "auto_pad": attributes["pad_type"].upper().replace("NOT_SET", "NOTSET"),
    }
    for name in ("output_padding", "output_shape"):
        if attributes.get(name):
            found[name] = list(attributes[name])
    spatial = len(op.inputs[0].type.shape) - 2
    for name, length in (("strides", spatial), ("dilations", spatial), ("pads", 2 * spatial)):
        if len(found[name]) != length and len(set(found[name])) == 1:
            found[name] = [found[name][0]] * length
    return found


shared("AveragePool", STANDARD, "AveragePool", 11, _window)
shared("MaxPool", STANDARD, "MaxPool", 11, _window)
shared(
    "RoiAlign",
    STANDARD,
    "RoiAlign",
    10,
    lambda op: {
        "output_height": op.attributes["output_size"][0],
        "output_width": op.attributes["output_size"][1],
        "spatial_scale": float(op.attributes["spatial_scale"]),
        "sampling_ratio": op.attributes["sampling_ratio"],
    },
)
shared(
    "ScatterReduce",
    GRAPHCORE,
    "ScatterReduce",
    1,
    lambda op: {
        "axis": op.attributes["axis"],
        "axis_size": op.attributes["axis_size"],
        "group_size": op.attributes["group_size"],
        "reduction": op.attributes["reduction"],
        "enable_index_broadcast": int(op.attributes["enable_index_broadcast"]),
    },
    dtypes=["=0"],
)
shared(
    "Scatter",
    STANDARD,
    "ScatterElements",
    11,
    lambda op: {"axis": op.attributes["axis"]},
)
shared(
    "ReduceMedian",
    GRAPHCORE,
    "ReduceMedian",
    1,
    lambda op: {"axes": dims_of(op), "keepdims": int(op.attributes["keepdims"])},
    dtypes=["=0", "int32"],
)


def _carried(kind: str, plain: Function, op: Op) -> Function:
    """A convolution, also of float8 operands, whose result is scaled by a power of two."""
    if 2 not in op.inputs:
        return plain

    def run(tensor: torch.Tensor, weights: torch.Tensor, log2_scale: torch.Tensor) -> torch.Tensor:
        check_log2_scale(log2_scale, op)
        result: torch.Tensor = plain(tensor.float(), weights.float())
        return (result * torch.exp2(log2_scale.float())).half()

    return run


def _convolutions(kind: str) -> None:
    @kernel(kind)
    def make(op: Op) -> Function:
        rule = find_rule(STANDARD, kind, 11)
        if rule is None:
            raise graph_error(f"The operator {kind} is not supported.")
        names = tuple(tensor.identifier for tensor in op.input_list)[:2]
        node = Node(STANDARD, kind, 11, names, (op.outputs[0].identifier,), _convolution(op))
        function, settings = rule.function, Settings()

        def plain(tensor: torch.Tensor, weights: torch.Tensor) -> Any:
            call = Call(node, (tensor, weights), settings, _no_inner_graph, False)
            return function(call, tensor, weights)

        return _carried(kind, plain, op)


for _kind in ("Conv", "ConvTranspose"):
    _convolutions(_kind)


@kernel("Resize")
def _resize(op: Op) -> Function:
    rule = find_rule(STANDARD, "Resize", 11)
    if rule is None:
        raise graph_error("The operator Resize is not supported.")
    attributes = {
        "mode": op.attributes["mode"],
        "coordinate_transformation_mode": op.attributes["coordinates"],
        "nearest_mode": op.attributes["nearest_mode"],
    }
    node = Node(STANDARD, "Resize", 11, ("x", "", "scales"), ("y",), attributes)
    scales = [float(each) for each in op.attributes["scales"]]
    function, settings = rule.function, Settings()

    def run(tensor: torch.Tensor) -> Any:
        places = torch.tensor(scales, device="cpu")
        call = Call(node, (tensor, None, places), settings, _no_inner_graph, False)
        call.reals = lambda place: scales  # type: ignore[method-assign]
        return function(call, tensor, None, places)

    return run


@kernel("TopK", dtypes=["=0", "uint32"])
def _top_k(op: Op) -> Function:
    count, axis = op.attributes["k"], op.attributes["axis"]
    largest, ordered = op.attributes["largest"], op.attributes["sorted"]

    def run(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, places = torch.topk(tensor, count, axis, largest, ordered)
        return values, places

    return run


def _arg(kind: str, *, largest: bool) -> None:
    @kernel(kind, dtypes=["int32"])
    def make(op: Op) -> Function:
        dim, keep = op.attributes["dim"], op.attributes["keepdim"]
        choose = torch.argmax if largest else torch.argmin
        return lambda tensor: choose(tensor, dim, keep).to(torch.int32)


_arg("ArgMax", largest=True)
_arg("ArgMin", largest=False)


@kernel("Onehot", op_type="OneHot", dtypes=["=1"])
def _one_hot(op: Op) -> Function:
    count, axis = op.attributes["classes"], op.attributes["axis"]
    rank = len(op.inputs[0].type.shape) + 1
    axis %= rank

    def run(indices: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        places = indices.long()
        places = torch.where(places < 0, places + count, places)
        classes = torch.arange(count, device=indices.device)
        hot = places.unsqueeze(axis) == classes.reshape(-1, *[1] * (rank - 1 - axis))
        return torch.where(hot, values[1], values[0])

    return run
