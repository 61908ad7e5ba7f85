"""A PopXL program as plain data: equal for programs that compute the same, whatever values their variables have.

Ops and tensors are lines of text, so that a difference between two descriptions can be shown to the user.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from tremula.frontends.poplar.user_ops.popart_ops import Original
from tremula.frontends.popxl.info import TensorInfo, TensorKind
from tremula.frontends.popxl.model import Graph, Ir, Op, Tensor
from tremula.frontends.popxl.ops.gradients import Forward


def described(ir: Ir) -> dict[str, Any]:
    """The program of `ir`, as JSON data."""
    return {
        "replicas": ir.share.total,
        "replicas of an instance": ir.share.local,
        "host transfers": ir.host_transfers,
        "checks of float8 scales": ir.checks_log2_scale,
        "strided groups": ir.strided_groups,
        "remote buffers": {
            str(number): f"{buffer.entries} of {_type(buffer.type)}"
            for number, buffer in sorted(ir.remote_buffers.items())
        },
        "graphs": {graph.identifier or "main graph": _graph(graph) for graph in ir.reachable()},
    }


def _graph(graph: Graph) -> dict[str, Any]:
    return {
        "inputs": [f"{each.identifier} {_type(each.type)}" for each in graph.inputs],
        "outputs": [each.identifier for each in graph.outputs],
        "variables and constants": {
            name: _held(tensor)
            for name, tensor in graph.tensors.items()
            if tensor.kind in (TensorKind.VARIABLE, TensorKind.CONST)
        },
        "ops": {str(place): _op(op) for place, op in enumerate(graph.schedule())},
    }


def _held(tensor: Tensor) -> str:
    text = f"{tensor.kind.value} {_type(tensor.type)}"
    if tensor.kind is TensorKind.CONST:
        return f"{text} {_plain(tensor.data)}"
    settings = tensor.settings
    return text if settings is None else f"{text} {vars(settings)}"


def _op(op: Op) -> str:
    inputs = {index: tensor.identifier for index, tensor in sorted(op.inputs.items())}
    outputs = {
        index: f"{tensor.identifier} {_type(tensor.type)}" for index, tensor in sorted(op.outputs.items())
    }
    place = op.settings
    return (
        f"{op.kind} {_plain(op.attributes)} of {inputs} to {outputs} on IPU {place.ipu}, IO tiles {place.io_tiles}, "
        f"{place.fragment.value}"
    )


def _type(info: TensorInfo) -> str:
    whole = f" of {list(info.meta_shape)}" if info.meta_shape else ""
    return f"{info.dtype} {list(info.shape)}{whole}"


def _plain(value: Any) -> str:
    """A value of an attribute as text that is the same in all processes."""
    if isinstance(value, Graph):
        return value.identifier
    if isinstance(value, Forward):
        types = {index: _type(each.type) for index, each in sorted(value.inputs.items())}
        return f"{value.kind} {_plain(value.attributes)} of {types}"
    if isinstance(value, Original):
        return f"{value}, version {value.version}, {_plain(value.parameters)}"
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"{value.dtype.name} {list(value.shape)} {digest[:16]}"
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_plain(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_plain, value)) + "]"
    if value is None or isinstance(value, bool | int | float | str | np.generic | torch.dtype):
        return str(value)
    raise TypeError(f"An op has an attribute that has no description: {value!r}.")
