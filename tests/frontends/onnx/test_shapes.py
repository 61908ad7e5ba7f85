"""Shapes of all tensors, and errors that say where a graph is wrong."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tremula.errors import Error
from tremula.frontends.onnx.model import OnnxModel
from tremula.frontends.onnx.shapes import TensorType, input_types, open_dimensions, shapes_of
from tremula.program.op import SourceLine

from .models import loaded, node, proto, value


def test_every_tensor_has_a_shape_and_a_type() -> None:
    model = loaded(
        [
            node("MatMul", ["x", "w"], ["h"]),
            node("ArgMax", ["h"], ["best"], axis=-1, keepdims=0),
            node("Cast", ["h"], ["half"], to=10),
        ],
        [value("x", ["batch", 4])],
        ["best", "half"],
        {"w": np.ones((4, 3), np.float32)},
    )
    found = shapes_of(model.graph, input_types(model, dimensions={"batch": 5}))
    assert found["x"] == TensorType((5, 4), torch.float32)
    assert found["w"] == TensorType((4, 3), torch.float32)
    assert found["h"] == TensorType((5, 3), torch.float32)
    assert found["best"] == TensorType((5,), torch.int64)
    assert found["half"] == TensorType((5, 3), torch.float16)


def test_an_error_names_the_node_its_inputs_and_the_line_that_made_it() -> None:
    message = proto([node("MatMul", ["x", "x"], ["y"], name="scores")], [value("x", [2, 3])], ["y"])
    line = SourceLine("model.py", 12, "build")
    model = OnnxModel.load(message.SerializeToString(), sources={"y": line})
    with pytest.raises(Error) as caught:
        shapes_of(model.graph, input_types(model))
    text = caught.value.message
    assert "MatMul 'scores'" in text
    assert "x: float32[2, 3]" in text
    assert "It was made at model.py:12 in build." in text


def test_no_memory_is_taken_for_large_tensors() -> None:
    model = loaded([node("Expand", ["x", "n"], ["y"])], [value("x", [1])], ["y"], {"n": np.array([2**40])})
    assert shapes_of(model.graph, input_types(model))["y"].shape == (2**40,)


def test_open_dimensions_are_listed_and_must_be_given() -> None:
    model = loaded([node("Relu", ["x"], ["y"])], [value("x", ["batch", None, 3])], ["y"])
    assert open_dimensions(model) == {"batch": ["x"], "x.1": ["x"]}
    with pytest.raises(Error, match=r"the dimension x\.1 of the input x open"):
        input_types(model, dimensions={"batch": 2})
    assert input_types(model, dimensions={"batch": 2, "x.1": 7})["x"].shape == (2, 7, 3)
    assert input_types(model, {"x": [4, 5, 3]})["x"].shape == (4, 5, 3)
    with pytest.raises(Error, match="does not fit"):
        input_types(model, {"x": [4, 5, 6]})
    with pytest.raises(Error, match="no input z"):
        input_types(model, {"z": [1]})
