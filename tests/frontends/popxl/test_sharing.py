"""Changes show where ops are in place, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from tremula.frontends.popxl.aliases import Summary, sharing_of
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Graph, Ir

from .graphs import call, constant, new_ir, op, run, store, variable


def test_a_view_that_is_not_in_place_keeps_its_value() -> None:
    ir = new_ir()
    x = variable(ir, "x", [1.0, 2.0])
    before = op(ir.main, "Reshape", x, shape=(2, 1))
    op(ir.main, "AddLhsInplace", x, constant(ir.main, "one", [10.0, 10.0]))
    store(ir, "before", before)
    store(ir, "after", x)
    kept, changed = run(ir, "before", "after")
    assert kept.ravel().tolist() == [1.0, 2.0]
    assert changed.ravel().tolist() == [11.0, 12.0]


@pytest.mark.parametrize("late", [False, True])
def test_a_view_is_copied_only_if_it_is_read_after_a_change(late: bool) -> None:
    ir = new_ir()
    x = variable(ir, "x", [[1.0, 2.0]])
    view = op(ir.main, "Transpose", x, permutation=(1, 0))
    early = op(ir.main, "Negate", view)
    op(ir.main, "AddLhsInplace", x, constant(ir.main, "one", [[10.0, 10.0]]))
    store(ir, "early", early)
    if late:
        store(ir, "late", op(ir.main, "Negate", view))
    ops = ir.main.schedule()
    sharing = sharing_of(ir.main, ops, lambda _graph: Summary())
    assert (view in sharing.copied_outputs) is late
    for found in run(ir, "early", "late") if late else run(ir, "early"):
        assert found.ravel().tolist() == [-1.0, -2.0]


def test_a_view_of_a_view_is_not_overtaken_by_a_change() -> None:
    ir = new_ir()
    x = variable(ir, "x", [[1.0, 2.0]])
    view = op(ir.main, "Transpose", x, permutation=(1, 0))
    again = op(ir.main, "Reshape", view, shape=(2,))
    op(ir.main, "AddLhsInplace", x, constant(ir.main, "one", [[10.0, 10.0]]))
    store(ir, "again", again)
    (found,) = run(ir, "again")
    assert found.ravel().tolist() == [1.0, 2.0]


def test_a_view_in_place_shows_the_change() -> None:
    ir = new_ir()
    x = variable(ir, "x", [1.0, 2.0])
    view = op(ir.main, "ReshapeInplace", x, shape=(2, 1))
    op(ir.main, "AddLhsInplace", x, constant(ir.main, "one", [10.0, 10.0]))
    store(ir, "view", view)
    (seen,) = run(ir, "view")
    assert seen.ravel().tolist() == [11.0, 12.0]


def _adder(ir: Ir) -> Graph:
    graph = ir.create_graph(ir.unique_graph("adder"))
    x = graph.add_input(graph.unique("x"), TensorInfo("float32", (2,)))
    graph.outputs.append(op(graph, "AddLhsInplace", x, constant(graph, "ten", [10.0, 10.0])))
    return graph


@pytest.mark.parametrize(("modified", "expected"), [((), [1.0, 2.0]), ((0,), [11.0, 12.0])])
def test_callers_see_changes_only_of_inputs_by_reference(
    modified: tuple[int, ...], expected: list[float]
) -> None:
    ir = new_ir()
    x = variable(ir, "x", [1.0, 2.0])
    made = call(ir.main, _adder(ir), x, modified=modified)
    store(ir, "returned", made.outputs[0])
    store(ir, "x_after", x)
    returned, after = run(ir, "returned", "x_after")
    assert returned.ravel().tolist() == [11.0, 12.0]
    assert after.ravel().tolist() == expected
    assert x.data is not None
    assert x.data.tolist() == expected


def test_what_a_call_returned_is_not_changed_through_its_input() -> None:
    ir = new_ir()
    graph = ir.create_graph("passes_on")
    x = graph.add_input(graph.unique("x"), TensorInfo("float32", (2,)))
    graph.outputs.append(op(graph, "Reshape", x, shape=(2,)))
    given = variable(ir, "x", [1.0, 2.0])
    made = call(ir.main, graph, given)
    op(ir.main, "AddLhsInplace", given, constant(ir.main, "ten", [10.0, 10.0]))
    store(ir, "returned", made.outputs[0])
    (returned,) = run(ir, "returned")
    assert returned.ravel().tolist() == [1.0, 2.0]


def test_a_constant_that_is_written_to_is_new_in_each_call() -> None:
    ir = new_ir()
    graph = ir.create_graph("counter")
    start = constant(graph, "start", [0.0])
    graph.outputs.append(op(graph, "AddLhsInplace", start, constant(graph, "one", [1.0])))
    first, second = call(ir.main, graph), call(ir.main, graph)
    store(ir, "first", first.outputs[0])
    store(ir, "second", second.outputs[0])
    assert [float(each.item()) for each in run(ir, "first", "second")] == [1.0, 1.0]


def test_a_loop_carries_its_outputs() -> None:
    ir = new_ir()
    body = ir.create_graph("body")
    number = body.add_input(body.unique("number"), TensorInfo("int32", ()))
    going = body.add_input(body.unique("going"), TensorInfo("bool", ()))
    x = body.add_input(body.unique("x"), TensorInfo("float32", ()))
    as_float = op(body, "Cast", number, to="float32")
    body.outputs += [going, op(body, "Add", x, as_float)]
    given = variable(ir, "x", 1.0)
    loop = ir.main.add_op("Loop", {2: given}, {0: "result"}, {"graphs": [body], "trip_count": 4})
    store(ir, "sum", loop.outputs[0])
    (total,) = run(ir, "sum")
    assert total.item() == 1 + 0 + 1 + 2 + 3


def test_replicas_take_their_own_branches() -> None:
    ir = new_ir(replicas=2)
    branches = []
    for name, value in (("then", 1.0), ("otherwise", 2.0)):
        graph = ir.create_graph(name)
        graph.outputs.append(constant(graph, "value", value))
        branches.append(graph)
    x = variable(ir, "x", [0.0, 5.0], groups=(0, 1))
    condition = op(ir.main, "Greater", x, constant(ir.main, "limit", 1.0))
    chosen = ir.main.add_op("If", {0: condition}, {0: "chosen"}, {"graphs": branches, "inputs": [{}, {}]})
    store(ir, "chosen_out", chosen.outputs[0])
    (values,) = run(ir, "chosen_out")
    assert values.tolist() == [2.0, 1.0]


def test_a_collective_that_only_some_replicas_reach_is_refused() -> None:
    ir = new_ir(replicas=2)
    graph = ir.create_graph("reduces")
    x = graph.add_input(graph.unique("x"), TensorInfo("float32", ()))
    graph.outputs.append(op(graph, "ReplicatedAllReduce", x, op="add", assignment=(0, 0)))
    other = ir.create_graph("other")
    y = other.add_input(other.unique("y"), TensorInfo("float32", ()))
    other.outputs.append(op(other, "Negate", y))
    x = variable(ir, "x", [0.0, 5.0], groups=(0, 1))
    condition = op(ir.main, "Greater", x, constant(ir.main, "limit", 1.0))
    attributes = {"graphs": [graph, other], "inputs": [{1: 0}, {2: 0}]}
    ir.main.add_op("If", {0: condition, 1: x, 2: x}, {0: "chosen"}, attributes)
    with pytest.raises(Exception, match="some replicas of its group only"):
        run(ir)


def test_streams_bring_values_in_order() -> None:
    ir = new_ir()
    ir.host_transfers = 2
    from tremula.frontends.popxl.info import TensorKind

    ir.main.add_tensor("in", TensorInfo("float32", ()), TensorKind.STREAM)
    loads = []
    for _ in range(2):
        space = ir.main.add_op("Init", {}, {0: "space"}, {"shape": (), "dtype": "float32"}).outputs[0]
        loads.append(op(ir.main, "HostLoad", space, stream="in"))
    store(ir, "second", op(ir.main, "Negate", loads[1]))
    (second,) = run(ir, "second", **{"in": np.array([3.0, 4.0], np.float32)})
    assert second.item() == -4.0
