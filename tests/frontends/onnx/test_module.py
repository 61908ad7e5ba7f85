"""ONNX graphs as torch modules: weights, scopes, capture, training."""

from __future__ import annotations

import numpy as np
import torch

from tremula.frontends.onnx.model import OnnxModel
from tremula.frontends.onnx.module import OnnxModule
from tremula.frontends.torch.factory import Made, subject_of
from tremula.frontends.torch.graphs.program import record_of
from tremula.program.op import SourceLine
from tremula.program.variant import Variant
from tremula.schedule.deployment import Deployment

from .models import loaded, node, proto, value


def two_layers(sources: dict[str, SourceLine] | None = None) -> OnnxModel:
    rng = np.random.default_rng(1)
    message = proto(
        [
            node("Gemm", ["x", "net.0.weight", "net.0.bias"], ["a"], name="/net/0/Gemm", transB=1),
            node("Relu", ["a"], ["b"], name="/net/1/Relu"),
            node("Gemm", ["b", "net.2.weight"], ["y"], name="/net/2/Gemm", transB=1),
        ],
        [value("x", [4, 3])],
        ["y"],
        {
            "net.0.weight": rng.normal(size=(5, 3)).astype(np.float32),
            "net.0.bias": rng.normal(size=5).astype(np.float32),
            "net.2.weight": rng.normal(size=(2, 5)).astype(np.float32),
            "unused": np.ones(3, np.float32),
        },
    )
    return OnnxModel.load(message.SerializeToString(), sources)


def test_weights_are_parameters_with_their_own_names_and_scopes_are_modules() -> None:
    module = OnnxModule(two_layers())
    assert [name for name, _ in module.named_parameters()] == ["net.0.weight", "net.0.bias", "net.2.weight"]
    assert {name for name, _ in module.named_modules()} == {"", "net", "net.0", "net.1", "net.2"}


def test_forward_is_differentiable() -> None:
    module = OnnxModule(two_layers())
    x = torch.randn(4, 3)
    weights = dict(module.named_parameters())
    hidden = torch.relu(x @ weights["net.0.weight"].T + weights["net.0.bias"])
    wanted = hidden @ weights["net.2.weight"].T
    (found,) = module(x)
    assert torch.allclose(found, wanted)
    found.sum().backward()
    assert torch.allclose(weights["net.2.weight"].grad, hidden.sum(0).expand(2, 5))


def test_a_captured_graph_has_segments_modules_and_lines() -> None:
    line = SourceLine("build.py", 3, "layer")
    module = OnnxModule(two_layers({"a": line}), values=False)
    subject = subject_of(Made(module, (torch.empty(4, 3),), {}, None), "it", training=False)
    captured, program = subject._captured(Variant())
    assert [cut.module for cut in captured.cuts] == ["net.1", "net.2"]
    records = [record_of(each) for each in program.step.graph.nodes if each.op == "call_function"]
    assert {record.annotation.module for record in records} >= {"net.0", "net.1", "net.2"}
    assert {str(record.source) for record in records if record.annotation.module == "net.0"} == {str(line)}
    assert {record.source for record in records if record.annotation.module == "net.2"} == {None}


def test_without_scopes_every_node_is_a_module() -> None:
    model = loaded(
        [node("Relu", ["x"], ["a"], name="first"), node("Neg", ["a"], ["y"])], [value("x", [1])], ["y"]
    )
    assert [name for name, _ in OnnxModule(model).named_modules()] == ["", "first", "Neg_1"]


def test_another_precision_reaches_constants_and_casts() -> None:
    model = loaded(
        [
            node("MatMul", ["x", "w"], ["h"]),
            node("Add", ["h", "c"], ["i"]),
            node("Cast", ["i"], ["y"], to=1),
        ],
        [value("x", [4, 3])],
        ["y"],
        {"w": np.ones((3, 3), np.float32), "c": np.array(0.5, np.float32)},
    )
    module = OnnxModule(model, values=False)
    subject = subject_of(Made(module, (torch.empty(4, 3),), {}, None), "it", training=False)
    program = subject.program(Variant(precision="fp16"), Deployment())
    assert {each.dtype for each in program.tensors} <= {"float16", "half", "fp16"}


def test_statistics_of_batch_norms_are_no_parameters() -> None:
    ones = np.ones(2, np.float32)
    model = loaded(
        [node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"])],
        [value("x", [3, 2])],
        ["y"],
        dict.fromkeys("sbmv", ones),
    )
    module = OnnxModule(model)
    assert [name for name, _ in module.named_parameters()] == ["s", "b"]
    assert [name for name, _ in module.named_buffers()] == ["m", "v"]


def test_the_engine_trains_a_graph_to_the_same_weights_as_torch() -> None:
    import poptorch
    from tremula.frontends.onnx.losses import WithLoss

    def trained() -> WithLoss:
        module = WithLoss(two_layers())
        module.loss = "mse"
        return module

    plain, wrapped = trained(), trained()
    x, target = torch.randn(4, 3), torch.randn(4, 2)
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
    model = poptorch.trainingModel(wrapped, optimizer=poptorch.optim.SGD(wrapped.parameters(), lr=0.1))
    for _ in range(3):
        loss = plain(x, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert torch.allclose(model(x, target), loss.detach())
    model.copyWeightsToHost()
    for name, weight in plain.named_parameters():
        assert torch.allclose(dict(wrapped.named_parameters())[name], weight, atol=1e-6), name
