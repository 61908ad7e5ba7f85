"""Graphs on fake tensors: shapes that are computed in the graph are known, what is recorded gives the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from tremula.errors import Error
from tremula.frontends.onnx.interpreter import Interpreter
from tremula.frontends.onnx.model import OnnxModel

from .models import INT64, loaded, node, value


def recorded(model: OnnxModel, **inputs: torch.Tensor) -> tuple[torch.fx.GraphModule, list[torch.Tensor]]:
    interpreter = Interpreter(model.graph)
    names = [each.name for each in model.graph.outputs]

    def forward(*values: torch.Tensor) -> list[torch.Tensor]:
        results = interpreter.run(dict(zip(inputs, values, strict=True)), names)
        return [results[name] for name in names]

    mode = FakeTensorMode()
    graph = make_fx(forward, tracing_mode="fake")(*(mode.from_tensor(each) for each in inputs.values()))
    return graph, graph(*inputs.values())


def test_a_shape_that_the_graph_computes_is_known() -> None:
    model = loaded(
        [
            node("Shape", ["x"], ["s"]),
            node("Gather", ["s", "first"], ["b"]),
            node("Unsqueeze", ["b", "zero"], ["b1"]),
            node("Concat", ["b1", "rest"], ["shape"], axis=0),
            node("Reshape", ["x", "shape"], ["y"]),
        ],
        [value("x", [2, 3, 4])],
        ["y"],
        {"first": np.array(0), "zero": np.array([0]), "rest": np.array([-1])},
    )
    graph, (result,) = recorded(model, x=torch.randn(2, 3, 4))
    assert result.shape == (2, 12)
    computing = {str(each.target) for each in graph.graph.nodes if each.op == "call_function"}
    assert computing <= {"aten.view.default", "aten._unsafe_view.default"}


def test_a_shape_that_depends_on_an_input_is_refused_by_name() -> None:
    model = loaded(
        [node("Reshape", ["x", "s"], ["y"], name="r")], [value("x", [4]), value("s", [1], INT64)], ["y"]
    )
    with pytest.raises(Error, match=r"input 1 \('s'\) must be of type Constant$") as refused:
        recorded(model, x=torch.randn(4), s=torch.tensor([4]))
    assert refused.value.note.startswith("Reshape 'r'")  # type: ignore[attr-defined]


def test_large_values_are_made_when_the_graph_runs() -> None:
    model = loaded(
        [node("ConstantOfShape", ["n"], ["zeros"]), node("Add", ["zeros", "x"], ["y"])],
        [value("x", [1])],
        ["y"],
        {"n": np.array([2**21])},
    )
    graph, (result,) = recorded(model, x=torch.ones(1))
    assert result.shape == (2**21,)
    assert not [each for each in graph.graph.nodes if each.op == "get_attr"]


def test_tensors_are_dropped_after_their_last_use() -> None:
    model = loaded(
        [node("Relu", ["x"], ["a"]), node("Neg", ["a"], ["b"]), node("Abs", ["b"], ["y"])],
        [value("x", [1])],
        ["y"],
    )
    running = Interpreter(model.graph).begin({"x": torch.ones(1)})
    held = []
    for each in running.nodes:
        running.execute(each)
        held.append({name for name in "xaby" if running.tensor(name) is not None})
    assert held == [{"a"}, {"b"}, {"y"}]


def test_only_what_is_wanted_is_computed() -> None:
    model = loaded([node("Relu", ["x"], ["a"]), node("Neg", ["x"], ["b"])], [value("x", [1])], ["a", "b"])
    assert [each.type for each in Interpreter(model.graph).needed(["b"])] == ["Neg"]


def test_all_unknown_operators_are_named_at_once() -> None:
    model = loaded(
        [node("Zip", ["x"], ["a"]), node("Unzip", ["a"], ["y"], domain="mine")], [value("x", [1])], ["y"]
    )
    with pytest.raises(Error, match=r"Zip \(version 13\), mine.Unzip \(version 1\)"):
        Interpreter(model.graph)


_CHAIN = st.lists(
    st.sampled_from(["Relu", "Neg", "Sigmoid", "Tanh", "Softmax", "Add", "Transpose", "Slice", "ReduceSum"]),
    min_size=1,
    max_size=6,
)


@settings(max_examples=15, deadline=None)
@given(_CHAIN, st.integers(1, 3), st.integers(1, 4))
def test_a_recording_computes_what_the_interpreter_computes(
    chain: list[str], rows: int, columns: int
) -> None:
    nodes, last = [], "x"
    for place, kind in enumerate(chain):
        inputs = {"Add": [last, last], "Slice": [last, "from", "to"], "ReduceSum": [last, "axis"]}.get(
            kind, [last]
        )
        nodes.append(node(kind, inputs, [f"t{place}"]))
        last = f"t{place}"
    model = loaded(
        nodes,
        [value("x", [rows, columns])],
        [last],
        {"from": np.array([0]), "to": np.array([2]), "axis": np.array([-1])},
    )
    given_input = torch.randn(rows, columns)
    direct = Interpreter(model.graph).run({"x": given_input})[last]
    _, (result,) = recorded(model, x=given_input)
    assert torch.equal(result, direct)
