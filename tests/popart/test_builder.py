"""`Builder`: names, signatures, refusals, attributes, and the model that comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import popart
from tremula.frontends.onnx.build.signatures import signatures

#: methods of each version of ONNX, as the real builder has them
METHODS = {6: 95, 7: 102, 8: 104, 9: 123, 10: 137, 11: 156}


def floats(*shape: int) -> popart.TensorInfo:
    return popart.TensorInfo("FLOAT", shape)


@pytest.mark.parametrize(("opset", "count"), METHODS.items())
def test_every_version_offers_its_operators(opset: int, count: int) -> None:
    assert len(signatures("ai.onnx", opset)) == count
    assert (
        len([name for name in dir(popart.Builder(opsets={"ai.onnx": opset}).aiOnnx) if name == "relu"]) == 1
    )


def test_names_are_those_that_programs_read() -> None:
    builder = popart.Builder()
    first, second = builder.addInputTensor(floats(2)), builder.addInputTensor("FLOAT", [2])
    named = builder.addInputTensor(floats(2), debugContext=popart.DebugContext("images"))
    weight = builder.addInitializedInputTensor(np.ones(2, np.float32), "weight")
    with builder.nameScope("layer"):
        total = builder.aiOnnx.add([first, second])
    again = [builder.aiOnnx.add([first, named]) for _ in range(2)]
    assert [first, second, named, weight, total, *again] == [
        "input", "input/1", "images", "weight", "layer/Add:0", "Add:0", "Add:0/1",
    ]  # fmt: skip
    inner = builder.createSubgraphBuilder()
    assert inner.addUntypedInputTensor() == "input/2"
    assert builder.addInputTensor(floats(2)) == "input/3"


def test_shapes_and_types_follow_the_operators() -> None:
    builder = popart.Builder()
    data, weights = builder.addInputTensor(floats(1, 2, 8, 8)), builder.addInputTensor(floats(4, 2, 3, 3))
    made = builder.aiOnnx.conv([data, weights], pads=[1, 1, 1, 1])
    shape = builder.aiOnnx.constant(np.array([4, -1]))
    flat = builder.aiOnnx.reshape([made, shape])
    half = builder.aiOnnx.cast([flat], "FLOAT16")
    assert builder.getTensorShape(half) == [4, 64]
    assert builder.getTensorDtypeString(half) == "float16"
    values, indices = builder.aiGraphcore.sort([half])
    builder.addOutputTensor(values)
    assert builder.getOutputTensorIds() == [values]
    assert builder.getValueTensorIds() == [made, shape, flat, half, values, indices]
    model = onnx.load_from_string(builder.getModelProto())
    assert [each.dim_value for each in model.graph.output[0].type.tensor_type.shape.dim] == [4, 64]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda b, x: b.aiOnnx.add([x]), popart.popart_exception, r"^Add has invalid number of inputs 1\. Must"),
        (lambda b, x: b.aiOnnx.add("x"), TypeError, r"^add\(\): incompatible function arguments\."),
        (lambda b, x: b.aiOnnx.softmax([x], axis=1.5), TypeError, "axis must be an integer, not float"),
        (lambda b, x: b.aiOnnx.softmax([x], axes=1), TypeError, "It has no argument axes"),
        (lambda b, x: b.aiOnnx.relu(["none"]), popart.popart_exception, "^Unknown tensor 'none'"),
        (lambda b, x: b.aiOnnx.nosuch([x]), AttributeError, "has no such operator"),
        (lambda b, x: b.aiOnnxOpset11, RuntimeError, "^Invalid opset 'aiOnnxOpset11' selected"),
        (lambda b, x: b.aiGraphcore.subsample([x], [1, 0]), popart.popart_exception, "0 stride at index 1"),
        (lambda b, x: b.getTensorShape("none"), popart.popart_exception, "is not an known tensor"),
    ],
)  # fmt: skip
def test_wrong_calls_are_refused_at_once(call: Any, error: type[Exception], text: str) -> None:
    builder = popart.Builder()
    tensor = builder.addInputTensor(floats(2, 2))
    builder.aiOnnx.relu([tensor])
    with pytest.raises(error, match=text):
        call(builder, tensor)


def test_placement_is_written_into_the_model_and_the_innermost_holds() -> None:
    builder = popart.Builder()
    tensor = builder.addInputTensor(floats(2, 2))
    with builder.virtualGraph(1), builder.pipelineStage(2):
        with builder.virtualGraph(3):
            inner = builder.aiOnnx.relu([tensor])
        outer = builder.aiOnnx.relu([tensor])
        assert (builder.getVirtualGraph(), builder.getPipelineStage()) == (1, 2)
    later = builder.aiOnnx.relu([tensor])
    builder.virtualGraph(later, 7)
    assert [builder.getVirtualGraph(name) for name in (inner, outer, later)] == [3, 1, 7]
    assert not builder.hasVirtualGraph()
    with pytest.raises(popart.popart_exception, match="Virtual graph not set in current scope"):
        builder.getVirtualGraph()


def test_attributes_are_kept_by_kind() -> None:
    builder = popart.Builder()
    out = builder.aiOnnx.relu([builder.addInputTensor(floats(1))])
    for name, value in {"i": 3, "f": 0.5, "s": "text", "v": [1, 2], "t": ["a", "b"]}.items():
        builder.addNodeAttribute(name, value, {out})
    assert builder.getInt64NodeAttribute("i", {out}) == 3
    assert builder.getStringVectorNodeAttribute("t", {out}) == ["a", "b"]
    with pytest.raises(popart.popart_exception, match=r"Attribute f is not an integer\."):
        builder.getInt64NodeAttribute("f", {out})
    with pytest.raises(popart.popart_exception, match="Node already has attribute i"):
        builder.addNodeAttribute("i", 4, {out})
    with pytest.raises(popart.popart_exception, match=r"must be in \(0,1\]"):
        builder.setAvailableMemoryProportion(out, 1.5)


def test_models_are_saved_whole_and_go_on_from_files(tmp_path: Path) -> None:
    builder = popart.Builder()
    weight = builder.addInitializedInputTensor(np.arange(4, dtype=np.float32))
    with builder.virtualGraph(0):
        out = builder.aiOnnx.relu([weight])
    builder.addOutputTensor(out)
    path = tmp_path / "model.onnx"
    builder.saveModelProto(str(path))
    again = popart.Builder(str(path))
    assert again.getTrainableTensorIds() == [weight]
    assert again.aiOnnx.relu([out]) == "Relu:0/1"
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


def test_a_model_is_transformed_before_it_is_run() -> None:
    builder = popart.Builder()
    weight = builder.addInitializedInputTensor(np.array([2**40], dtype=np.int64))
    builder.addOutputTensor(builder.aiOnnx.identity([weight]))
    transformer = popart.GraphTransformer(builder.getModelProto())
    with pytest.raises(popart.popart_exception, match="values that INT32 cannot hold"):
        transformer.convertINT64ToINT32()
    transformer.convertInitializersToConstants([weight])
    model = onnx.load_from_string(transformer.getModelProto())
    assert [node.op_type for node in model.graph.node] == ["Constant", "Identity"]
    assert not model.graph.initializer
