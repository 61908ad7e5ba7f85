"""Small ONNX models for the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper

from tremula.frontends.onnx.arrays import tensor_of
from tremula.frontends.onnx.interpreter import Interpreter
from tremula.frontends.onnx.model import OnnxModel
from tremula.frontends.onnx.settings import Settings

FLOAT = onnx.TensorProto.FLOAT
INT64 = onnx.TensorProto.INT64
BOOL = onnx.TensorProto.BOOL
node = helper.make_node


def value(name: str, shape: Sequence[int | str | None] | None, kind: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def graph_of(
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[str],
    weights: Mapping[str, Any] | None = None,
) -> Any:
    arrays = {name: np.asarray(each) for name, each in (weights or {}).items()}
    return helper.make_graph(
        list(nodes),
        "main",
        list(inputs),
        [value(name, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )


def proto(
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[str],
    weights: Mapping[str, Any] | None = None,
    opset: int = 13,
) -> Any:
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.graphcore", 1)]
    return helper.make_model(graph_of(nodes, inputs, outputs, weights), opset_imports=opsets)


def loaded(*args: Any, **kwargs: Any) -> OnnxModel:
    return OnnxModel.load(proto(*args, **kwargs).SerializeToString())


def run_node(
    type: str,
    *inputs: Any,
    opset: int = 13,
    domain: str = "",
    outputs: int = 1,
    settings: Settings | None = None,
    **attributes: Any,
) -> list[torch.Tensor]:
    """The outputs of one node; None is an input that is left out."""
    tensors = {
        f"i{place}": each if isinstance(each, torch.Tensor) else tensor_of(each)
        for place, each in enumerate(inputs)
        if each is not None
    }
    names = [f"i{place}" if each is not None else "" for place, each in enumerate(inputs)]
    made = [f"o{place}" for place in range(outputs)]
    model = loaded(
        [node(type, names, made, domain=domain, **attributes)],
        [value(name, None) for name in tensors],
        made,
        opset=opset,
    )
    results = Interpreter(model.graph, model.opsets, settings).run(tensors, made)
    return [results[name] for name in made]
