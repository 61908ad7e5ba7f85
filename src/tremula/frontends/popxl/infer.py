"""Shapes and types of what an op gives: it is run on tensors without values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tremula.errors import Error
from tremula.frontends.popxl.elements import ELEMENTS, element_of
from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Op
from tremula.frontends.popxl.ops.table import Function, Kernel, find


def infer(op: Op) -> Mapping[int, TensorInfo]:
    """Shapes and types of the outputs of `op`.

    Raises:
        Error: its inputs do not fit together.
    """
    kernel = find(op.kind)
    if kernel.infer is not None:
        return kernel.infer(op)
    inputs = [
        torch.empty(tensor.type.shape, dtype=ELEMENTS[tensor.type.dtype].carrier, device="meta")
        for tensor in op.input_list
    ]
    try:
        results = _without_values(kernel.make(op), inputs)
    except (RuntimeError, ValueError, IndexError, Error) as problem:
        shapes = ", ".join(f"{tensor.type.dtype}{list(tensor.type.shape)}" for tensor in op.input_list)
        text = problem.message if isinstance(problem, Error) else str(problem).splitlines()[0]
        raise graph_error(f"{kernel.op_type} cannot be applied to {shapes}: {text}") from problem
    found = list(results) if isinstance(results, tuple | list) else [results]
    return {index: _info(op, kernel, index, found[place]) for place, index in enumerate(sorted(op.outputs))}


def _without_values(function: Function, inputs: list[torch.Tensor]) -> Any:
    """On the meta device, or, where the function makes tensors of its own on the host, as if there."""
    try:
        return function(*inputs)
    except RuntimeError as problem:
        if "meta" not in str(problem):
            raise
    with FakeTensorMode(allow_non_fake_inputs=True):
        return function(*[torch.empty(each.shape, dtype=each.dtype) for each in inputs])


def _info(op: Op, kernel: Kernel, index: int, result: torch.Tensor) -> TensorInfo:
    dtype = _dtype(op, kernel, index, result)
    shape = tuple(result.shape)
    meta_shape: tuple[int, ...] = ()
    for tensor in op.input_list:
        if tensor.type.meta_shape and tensor.type.shape == shape:
            meta_shape = tensor.type.meta_shape
            break
    return TensorInfo(dtype, shape, meta_shape)


def _dtype(op: Op, kernel: Kernel, index: int, result: torch.Tensor) -> str:
    rule = kernel.dtypes[index] if index < len(kernel.dtypes) else ""
    if rule == "to":
        return str(op.attributes["to"])
    if rule.startswith("="):
        return op.input_list[int(rule[1:])].type.dtype
    if rule:
        return rule
    for tensor in op.input_list:
        if ELEMENTS[tensor.type.dtype].carrier == result.dtype:
            return tensor.type.dtype
    return element_of(result.dtype).name
