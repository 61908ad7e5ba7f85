"""Loops, branches, functions and errors, and how often each node ran, with one replica and with several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tremula.frontends.poplar.errors import ApplicationRuntimeError, ControlProgramError
from tremula.frontends.poplar.execute.engine import ProgramEngine
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program import programs as p
from tremula.frontends.poplar.program.copies import make_copy
from tremula.frontends.poplar.program.endpoints import HostFunction
from tremula.frontends.poplar.program.library import LibraryCall, across_kernel, kernel
from tremula.frontends.poplar.target import TargetFacts, TargetKind
from tremula.frontends.poplar.types import BOOL, FLOAT, INT, UNSIGNED_INT

from ..conftest import placed, started, value_of


@kernel("test::add")
def _add(attributes: Any) -> Any:
    amount = attributes["amount"]

    def run(inputs: Any, outputs: Any) -> None:
        np.add(inputs[0], amount, out=outputs[0])

    return run


@kernel("test::less")
def _less(attributes: Any) -> Any:
    return lambda inputs, outputs: np.less(inputs[0], inputs[1], out=outputs[0])


@across_kernel("test::sum")
def _sum(attributes: Any) -> Any:
    def run(inputs: Any, outputs: Any) -> None:
        total = sum(each[0] for each in inputs)
        for each in outputs:
            each[0][...] = total

    return run


def add(view: Any, amount: int) -> p.Program:
    return p.RunLibrary(LibraryCall("test::add", (view,), (view,), {"amount": amount}))


def less(one: Any, other: Any, flag: Any) -> p.Program:
    return p.RunLibrary(LibraryCall("test::less", (one, other), (flag,)))


def replicated(replicas: int) -> Graph:
    return Graph(TargetFacts(TargetKind.IPU_MODEL, ipus=replicas, tiles_per_ipu=4), replicas)


def numbers_of_replicas(graph: Graph) -> Any:
    made = graph.add_constant(UNSIGNED_INT, [], 0, "replica")
    graph.set_tile_mapping(made, 0)
    graph.contents.replication_indices.append(graph.memory.at(made.offset).number)
    return made


def all_values(engine: ProgramEngine, view: Any) -> list[Any]:
    from tremula.frontends.poplar.execute import values

    assert engine._loaded is not None
    return [values.reader(view, arena)().tolist() for arena in engine._loaded.arenas]


def counts(engine: ProgramEngine, kind: type) -> list[int]:
    """How often each node of a kind ran in the last run, in order."""
    from tremula.frontends.poplar.program.numbering import nodes

    found = sorted(node.id for node in nodes(engine.numbering) if isinstance(node.program, kind))
    return [engine.runs[-1].executions[each] for each in found]


def test_a_loop_runs_while_its_predicate_holds(graph: Graph) -> None:
    n, end, flag = placed(graph, INT, ()), placed(graph, INT, ()), placed(graph, BOOL, ())
    graph.set_initial_value(end, 5)
    inner = p.Repeat(3, add(n, 0))
    engine = started(graph, p.RepeatWhile(less(n, end, flag), flag, p.Sequence_(add(n, 1), inner), True))
    engine.run()
    assert value_of(engine, n) == 5
    assert sorted(counts(engine, p.RunLibrary)) == [5, 6, 15]
    assert counts(engine, p.Repeat) == [5]


@pytest.mark.parametrize(("control", "expected"), [(0, 10), (7, 20), (-3, 30)])
def test_switches_and_branches_choose(graph: Graph, control: int, expected: int) -> None:
    value, chosen = placed(graph, INT, ()), placed(graph, INT, ())
    graph.set_initial_value(value, control)
    switch = p.Switch(value, [(0, add(chosen, 10)), (7, add(chosen, 20))], add(chosen, 30))
    engine = started(graph, switch, p.If(value, add(chosen, 1), add(chosen, 2)))
    engine.run()
    assert value_of(engine, chosen) == expected
    engine.run(1)
    assert value_of(engine, chosen) == expected + (1 if control else 2)
    assert [run.program for run in engine.runs] == [0, 1]


def test_a_switch_with_checked_bounds_names_the_value(graph: Graph) -> None:
    value = placed(graph, INT, ())
    graph.set_initial_value(value, 9)
    switch = p.Switch(value, [(1, p.Program()), (2, p.Program())])
    switch.unreachable = "the value has no case"
    with pytest.raises(ApplicationRuntimeError, match="a switch got 9: the value has no case; it has 1, 2"):
        started(graph, switch).run()


def test_functions_run_wherever_they_are_called(graph: Graph) -> None:
    n = placed(graph, INT, ())
    twice = graph.add_function(p.Sequence_(add(n, 1), add(n, 1)))
    nested = graph.add_function(p.Repeat(2, p.Call(twice)))
    engine = started(graph, p.Sequence_(p.Call(twice), p.Call(nested), p.Call(twice)))
    engine.run()
    assert value_of(engine, n) == 8
    assert counts(engine, p.RunLibrary) == [4, 4]


def test_aborts_and_errors_end_the_run(graph: Graph) -> None:
    n = placed(graph, INT, (2,))
    flag = placed(graph, BOOL, ())
    programs = [
        p.Abort("enough"),
        p.AbortOnCondition(flag, "it is true"),
        p.ErrorProgram("wrong numbers", n),
        p.Sequence_(add(n, 1), p.Abort()),
    ]
    engine = started(graph, *programs)
    with pytest.raises(ApplicationRuntimeError, match="enough"):
        engine.run(0)
    engine.run(1)
    with pytest.raises(ApplicationRuntimeError, match=r"wrong numbers: \[0 0\]"):
        engine.run(2)
    with pytest.raises(ApplicationRuntimeError):
        engine.run(3)
    assert value_of(engine, n).tolist() == [1, 1]
    graph.set_initial_value(flag, True)
    engine = started(graph, *programs)
    with pytest.raises(ApplicationRuntimeError, match="it is true"):
        engine.run(1)


def test_replicas_take_ways_of_their_own() -> None:
    graph = replicated(4)
    replica = numbers_of_replicas(graph)
    n, end, flag = placed(graph, UNSIGNED_INT, ()), placed(graph, UNSIGNED_INT, ()), placed(graph, BOOL, ())
    loop = p.RepeatWhile(less(n, end, flag), flag, add(n, 1), True)
    branch = p.If(end, add(n, 100), add(n, 200))
    engine = started(graph, p.Sequence_(make_copy(replica, end), loop, branch))
    engine.run()
    assert all_values(engine, n) == [200, 101, 102, 103]
    assert sorted(counts(engine, p.RunLibrary)) == [1, 1, 3, 4]


def test_replicas_exchange_data() -> None:
    graph = replicated(3)
    replica = numbers_of_replicas(graph)
    given, taken, total = (placed(graph, UNSIGNED_INT, ()) for _ in range(3))
    steps = p.Sequence_(
        make_copy(replica, given),
        p.CrossReplicaCopy(given, taken, {0: 1, 1: 2, 2: 0}),
        p.RunLibrary(LibraryCall("test::sum", (taken,), (total,))),
        p.AssumeEqualAcrossReplicas(total),
    )
    engine = started(graph, steps, p.AssumeEqualAcrossReplicas(taken), p.If(replica, steps))
    engine.run()
    assert all_values(engine, taken) == [2, 0, 1]
    assert all_values(engine, total) == [3, 3, 3]
    with pytest.raises(ApplicationRuntimeError, match="replicas 0 and 1 hold different values"):
        engine.run(1)
    with pytest.raises(ApplicationRuntimeError, match=r"needs all 3 replicas, but only \[1, 2\] run it"):
        engine.run(2)


def test_the_host_is_called_with_tensors(graph: Graph) -> None:
    given, back = placed(graph, INT, (3,)), placed(graph, FLOAT, (2,))
    graph.set_initial_value(given, [1, 2, 3])
    function = HostFunction("half", ((INT, 3),), ((FLOAT, 2),))
    graph.contents.host_functions["half"] = function
    engine = started(graph, p.CallHost(function, [given], [back]))
    with pytest.raises(ApplicationRuntimeError, match="host function 'half' is called and not connected"):
        engine.run()
    engine.connect_host_function("half", lambda inputs, outputs: np.copyto(outputs[0], inputs[0][1:] / 2))
    engine.run()
    assert value_of(engine, back).tolist() == [1.0, 1.5]


def test_what_controls_a_program_is_checked(graph: Graph) -> None:
    vector, real = placed(graph, INT, (2,)), placed(graph, FLOAT, ())
    nothing = p.Program()
    for program, text in (
        (p.If(vector, nothing), "the predicate has to be one element"),
        (
            p.RepeatWhile(nothing, real, nothing, True),
            "the predicate has to be BOOL or an integer, not float",
        ),
        (p.Switch(real), "the control value has to be an integer, not float"),
        (p.TensorCopy(real, constant(graph)), "writes to constant 'pi'"),
    ):
        with pytest.raises(ControlProgramError, match=text):
            ProgramEngine(graph, [program])
    other = Graph(graph.contents.target)
    with pytest.raises(ControlProgramError, match="a tensor of another graph"):
        ProgramEngine(other, [p.If(vector[0], nothing)])


def constant(graph: Graph) -> Any:
    made = graph.add_constant(FLOAT, [], 3.0, "pi")
    graph.set_tile_mapping(made, 0)
    return made


def test_cycles_of_a_part_are_those_of_its_leaves(graph: Graph) -> None:
    n = placed(graph, INT, ())
    counter, stamps = placed(graph, UNSIGNED_INT, (2,)), placed(graph, UNSIGNED_INT, (3, 2))
    counted = p.CountCycles(p.Repeat(5, p.Sequence_(add(n, 1), add(n, 1))), counter, 0)
    steps = p.Sequence_(p.CountCycles(None, stamps[0], 0), counted, p.CountCycles(None, stamps[1], 0))
    engine = started(graph, steps, p.CountCycles(p.Repeat(3, add(n, 1)), counter, 0))
    calls = _library_nodes(engine)

    class Model:
        def leaf_cycles(self) -> dict[int, float]:
            return {calls[0]: 1000.0, calls[1]: 2**33 * 1.0, calls[2]: 7.0}

    engine._figures.model = Model()  # type: ignore[assignment]
    engine.run(1)
    assert value_of(engine, counter).tolist() == [21, 0]
    engine.run(0)
    assert value_of(engine, counter).tolist() == [5000, 10]
    assert value_of(engine, stamps).tolist() == [[21, 0], [5021, 10], [0, 0]]


def _library_nodes(engine: ProgramEngine) -> list[int]:
    from tremula.frontends.poplar.program.numbering import nodes

    return sorted(node.id for node in nodes(engine.numbering) if isinstance(node.program, p.RunLibrary))


def test_functions_that_call_themselves_are_refused(graph: Graph) -> None:
    body = p.Sequence_()
    function = graph.add_function(body, "again")
    body.add(p.Repeat(2, p.Call(function)))
    with pytest.raises(ControlProgramError, match="function 'again' calls itself"):
        ProgramEngine(graph, [p.Call(function)])


def test_deep_nests_run_or_are_refused(graph: Graph) -> None:
    n = placed(graph, INT, ())

    def nested(levels: int) -> p.Program:
        found = add(n, 1)
        for _ in range(levels):
            found = p.Repeat(1, found)
        return found

    engine = started(graph, nested(150))
    engine.run()
    assert value_of(engine, n) == 1
    with pytest.raises(ControlProgramError, match="nested more than 200 deep"):
        ProgramEngine(graph, [nested(300)])
