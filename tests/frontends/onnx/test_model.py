"""Reading ONNX models: what is wrong is said, nothing is executed, data outside is read when it is asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import numpy_helper

from tremula.errors import Error
from tremula.frontends.onnx.model import OnnxModel
from tremula.frontends.onnx.stored_tensors import stored

from .models import graph_of, loaded, node, proto, value


def with_data_outside(folder: Path, **changes: str) -> Path:
    """A model whose weight is in another file, with entries of its place changed."""
    model = proto(
        [node("MatMul", ["x", "w"], ["y"])], [value("x", [1, 2])], ["y"], {"w": np.eye(2, dtype=np.float32)}
    )
    (weight,) = model.graph.initializer
    (folder / "w.bin").write_bytes(weight.raw_data)
    weight.ClearField("raw_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    for key, text in {"location": "w.bin", "offset": "0", "length": "16", **changes}.items():
        weight.external_data.add(key=key, value=text)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_a_model_knows_its_inputs_weights_and_operator_sets() -> None:
    model = loaded(
        [node("Gemm", ["x", "w"], ["y"], name="net/layer.0/Gemm")],
        [value("x", ["batch", 3])],
        ["y"],
        {"w": np.ones((3, 2), np.float32)},
        opset=11,
    )
    assert model.opsets["ai.onnx"] == 11
    assert model.graph.inputs[0].shape == ("batch", 3)
    assert model.graph.initializers["w"].shape == (3, 2)
    (gemm,) = model.graph.nodes
    assert (gemm.type, gemm.version, gemm.scope) == ("Gemm", 11, ("net", "layer", "0"))


def test_the_exporter_of_torch_notes_modules_and_lines() -> None:
    gemm = node("Gemm", ["x", "x"], ["y"], name="node_linear")
    gemm.metadata_props.add(key="pkg.torch.onnx.name_scopes", value="['', 'encoder', 'encoder.0', 'linear']")
    trace = 'File "/home/me/net.py", line 7, in forward\n    return self.f(x)'
    gemm.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=trace)
    (found,) = loaded([gemm], [value("x", [2, 2])], ["y"]).graph.nodes
    assert found.scope == ("encoder", "0")
    assert str(found.source) == "/home/me/net.py:7 in forward"


def test_data_outside_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    path = with_data_outside(tmp_path)
    weight = OnnxModel.load(path).graph.initializers["w"]
    assert weight.external
    assert torch.equal(weight.tensor(), torch.eye(2))


@pytest.mark.parametrize(
    "location", ["../w.bin", "/etc/hostname", "a/../../w.bin", "", "c:w.bin", "a\\..\\w.bin"]
)
def test_data_outside_the_folder_is_refused(tmp_path: Path, location: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(16))
    with pytest.raises(Error, match="only files inside the model's folder are read"):
        OnnxModel.load(with_data_outside(inner, location=location))


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    path = with_data_outside(inner)
    (tmp_path / "w.bin").write_bytes(bytes(16))
    (inner / "w.bin").unlink()
    (inner / "w.bin").symlink_to(tmp_path / "w.bin")
    with pytest.raises(Error, match="a link out of the model's folder"):
        OnnxModel.load(path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"length": "8"}, "has 8 bytes, but its type and shape need 16"),
        ({"offset": "8"}, "which has 16"),
        ({"offset": "-1"}, "not a number of bytes"),
        ({"offset": "9" * 30}, "not a number of bytes"),
        ({"location": "none.bin"}, "cannot be read"),
    ],
)
def test_a_file_that_does_not_hold_the_data_is_refused(tmp_path: Path, changes: Any, words: str) -> None:
    with pytest.raises(Error, match=words):
        OnnxModel.load(with_data_outside(tmp_path, **changes))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = with_data_outside(tmp_path)
    (tmp_path / "w.bin").unlink()
    os.mkfifo(tmp_path / "w.bin")
    with pytest.raises(Error, match="not a regular file"):
        OnnxModel.load(path)


def test_data_that_changed_since_is_noticed(tmp_path: Path) -> None:
    weight = OnnxModel.load(with_data_outside(tmp_path)).graph.initializers["w"]
    (tmp_path / "w.bin").write_bytes(bytes(8))
    with pytest.raises(Error, match="has changed since the model was read"):
        weight.tensor()


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([node("Relu", ["nothing"], ["y"])], "reads nothing, which is neither an input"),
        ([node("Relu", ["x"], ["y"]), node("Relu", ["x"], ["y"])], "y is made by two nodes"),
        ([node("Relu", ["y"], ["z"]), node("Relu", ["x"], ["y"])], "reads y, which is neither an input"),
        ([node("Relu", ["x"], ["z"])], "an output that nothing makes: y"),
    ],
)
def test_a_graph_that_makes_no_sense_is_refused(nodes: list[Any], words: str) -> None:
    with pytest.raises(Error, match=words):
        loaded(nodes, [value("x", [1])], ["y"])


def test_an_initializer_with_too_little_data_is_refused() -> None:
    model = proto([node("Relu", ["w"], ["y"])], [], ["y"], {"w": np.ones(4, np.float32)})
    model.graph.initializer[0].dims[0] = 2**40
    with pytest.raises(Error, match="the initializer w: it has 16 bytes of data"):
        OnnxModel.load(model.SerializeToString())


@pytest.mark.parametrize("contents", [b"", b"\x00", b"hello world", b"\x0a\x03abc"])
def test_other_files_are_no_models(tmp_path: Path, contents: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(contents)
    with pytest.raises(Error, match=r"model\.onnx: this is not an ONNX model"):
        OnnxModel.load(path)


@pytest.mark.parametrize("name", [b"layer", b"x", b"main", b"Relu"])
def test_a_name_that_is_no_text_is_refused(name: bytes) -> None:
    contents = proto([node("Relu", ["x"], ["y"], name="layer")], [value("x", [1])], ["y"]).SerializeToString()
    with pytest.raises(Error, match="a name in it is not text"):
        OnnxModel.load(contents.replace(name, b"\xff" * len(name)))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(
        [
            "float32",
            "float64",
            "float16",
            "int8",
            "uint8",
            "int16",
            "uint16",
            "int32",
            "int64",
            "uint32",
            "uint64",
            "bool",
        ]
    ),
    st.lists(st.integers(0, 1), min_size=0, max_size=6),
    st.booleans(),
)
def test_stored_values_are_those_that_were_stored(dtype: str, bits: list[int], raw: bool) -> None:
    array = np.array(bits, dtype=dtype)
    message = numpy_helper.from_array(array)
    if not raw:
        message = onnx.helper.make_tensor("t", message.data_type, array.shape, array.tolist())
    assert np.array_equal(stored(message, None, "it").tensor().numpy(), array)


def test_graphs_inside_graphs_are_read() -> None:
    inner = graph_of([node("Identity", ["x"], ["y"])], [], ["y"])
    for _ in range(20):  # a message may be nested 100 deep, which is 33 graphs
        inner = graph_of([node("Call", ["x"], ["y"], domain="ai.graphcore", callee=inner)], [], ["y"])
    model = loaded([node("Call", ["x"], ["y"], domain="ai.graphcore", callee=inner)], [value("x", [])], ["y"])
    assert len(list(model.graph.all_nodes())) == 22
