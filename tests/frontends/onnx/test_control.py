"""Branches, loops, scans and calls, with conditions that are known and with some that are not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tremula.errors import Error
from tremula.frontends.onnx.interpreter import Interpreter

from .models import BOOL, INT64, graph_of, loaded, node, value
from .test_recording import recorded


def _loop(turns: int, condition: str = "go") -> object:
    """h is doubled, and collected, while `condition` of the body holds."""
    body = graph_of(
        [
            node("Add", ["h", "h"], ["h2"]),
            node("Less", ["h2", "limit"], ["below"]),
            node("Identity", ["h2"], ["seen"]),
            node("Identity", [condition], ["go2"]),
        ],
        [value("i", [], INT64), value("go", [], BOOL), value("h", [])],
        ["go2", "h2", "seen"],
    )
    return loaded(
        [node("Loop", ["turns", "yes", "x"], ["y", "all"], body=body)],
        [value("x", [])],
        ["y", "all"],
        {"turns": np.array(turns), "yes": np.array(True), "limit": np.array(5.0, np.float32)},
    )


def test_a_loop_runs_as_often_as_it_says() -> None:
    found = Interpreter(_loop(3).graph).run({"x": torch.tensor(1.0)})
    assert found["y"].item() == 8.0
    assert found["all"].tolist() == [2.0, 4.0, 8.0]


def test_a_loop_ends_when_its_condition_does_not_hold() -> None:
    found = Interpreter(_loop(100, "below").graph).run({"x": torch.tensor(1.0)})
    assert found["y"].item() == 8.0


def test_a_recorded_loop_keeps_its_state_once_its_condition_does_not_hold() -> None:
    _, (result, seen) = recorded(_loop(5, "below"), x=torch.tensor(1.0))
    assert result.item() == 8.0
    assert len(seen) == 5


@pytest.mark.parametrize("condition", [True, False])
def test_a_branch_whose_condition_is_an_input_chooses_when_the_graph_runs(condition: bool) -> None:
    then = graph_of([node("Neg", ["x"], ["t"])], [], ["t"])
    otherwise = graph_of([node("Add", ["x", "one"], ["e"])], [], ["e"])
    model = loaded(
        [node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise)],
        [value("c", [], BOOL), value("x", [2])],
        ["y"],
        {"one": np.array(1.0, np.float32)},
    )
    inputs = {"c": torch.tensor(condition), "x": torch.tensor([1.0, 2.0])}
    wanted = [-1.0, -2.0] if condition else [2.0, 3.0]
    assert Interpreter(model.graph).run(inputs)["y"].tolist() == wanted
    assert recorded(model, **inputs)[1][0].tolist() == wanted


def test_branches_of_different_shapes_need_a_known_condition() -> None:
    then = graph_of([node("Identity", ["x"], ["t"])], [], ["t"])
    otherwise = graph_of([node("Concat", ["x", "x"], ["e"], axis=0)], [], ["e"])
    model = loaded(
        [node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise)],
        [value("c", [], BOOL), value("x", [2])],
        ["y"],
    )
    with pytest.raises(Error, match="shapes are fixed when a graph is compiled"):
        recorded(model, c=torch.tensor(True), x=torch.ones(2))


def test_a_scan_goes_over_its_inputs_forward_and_backward() -> None:
    body = graph_of(
        [node("Add", ["s", "e"], ["s2"]), node("Identity", ["s2"], ["o"])],
        [value("s", []), value("e", [])],
        ["s2", "o"],
    )
    results = {}
    for direction in (0, 1):
        model = loaded(
            [
                node(
                    "Scan",
                    ["zero", "x"],
                    ["last", "sums"],
                    body=body,
                    num_scan_inputs=1,
                    scan_input_directions=[direction],
                )
            ],
            [value("x", [3])],
            ["last", "sums"],
            {"zero": np.array(0.0, np.float32)},
        )
        results[direction] = (
            Interpreter(model.graph).run({"x": torch.tensor([1.0, 2.0, 4.0])})["sums"].tolist()
        )
    assert results == {0: [1.0, 3.0, 7.0], 1: [4.0, 6.0, 7.0]}


def test_a_called_graph_is_differentiated_through() -> None:
    callee = graph_of([node("Mul", ["a", "b"], ["r"])], [value("a", [1]), value("b", [1])], ["r"])
    model = loaded(
        [
            node("Call", ["x", "x"], ["h"], domain="ai.graphcore", callee=callee),
            node("Call", ["h", "x"], ["y"], domain="ai.graphcore", callee=callee),
        ],
        [value("x", [1])],
        ["y"],
    )
    x = torch.tensor([2.0], requires_grad=True)
    result = Interpreter(model.graph).run({"x": x})["y"]
    assert torch.autograd.grad(result, [x])[0].item() == 12.0


def test_an_endless_loop_is_refused() -> None:
    body = graph_of(
        [node("Identity", ["go"], ["go2"]), node("Neg", ["h"], ["h2"])],
        [value("i", [], INT64), value("go", [], BOOL), value("h", [])],
        ["go2", "h2"],
    )
    model = loaded(
        [node("Loop", ["turns", "", "x"], ["y"], body=body)],
        [value("x", [])],
        ["y"],
        {"turns": np.array(2**50)},
    )
    from tremula.frontends.onnx import interpreter

    limit, interpreter._MOST_NODES = interpreter._MOST_NODES, 100
    try:
        with pytest.raises(Error, match="more than 100 nodes"):
            recorded(model, x=torch.tensor(1.0))
    finally:
        interpreter._MOST_NODES = limit
