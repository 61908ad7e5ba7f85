"""The control tree of a placed program: how often each node runs."""

from __future__ import annotations

from tremula.program.placed_steps import (
    Branch,
    Call,
    Execute,
    Repeat,
    Steps,
    While,
    called,
    executions,
    in_order,
)


def test_repeats_multiply() -> None:
    tree = Steps(0, (Repeat(1, 3, Repeat(2, 5, Execute(3, 0))), Execute(4, 1)))
    assert executions(tree, {}) == {0: 1, 1: 1, 2: 3, 3: 15, 4: 1}


def test_what_was_measured_counts_and_is_passed_down() -> None:
    loop = While(1, Execute(2, 0), Steps(3, (Execute(4, 1),)))
    assert executions(loop, {}, {2: 8, 3: 7}) == {1: 1, 2: 8, 3: 7, 4: 7}


def test_a_branch_that_was_not_measured_takes_its_first_case() -> None:
    assert executions(Branch(0, (Execute(1, 0), Execute(2, 1))), {}) == {0: 1, 1: 1, 2: 0}


def test_a_function_runs_as_often_as_all_its_calls_together() -> None:
    functions = {"inner": Execute(10, 0), "outer": Steps(11, (Call(12, "inner"), Call(13, "inner")))}
    tree = Steps(0, (Call(1, "inner"), Repeat(2, 4, Call(3, "outer"))))
    assert executions(tree, functions)[10] == 1 + 4 * 2
    assert called(tree, functions) == ["outer", "inner"]
    assert executions(tree, functions, {10: 6})[10] == 6


def test_nodes_of_functions_are_listed_once_where_they_are_called_first() -> None:
    tree = Steps(0, (Call(1, "f"), Execute(2, 0), Call(3, "f")))
    assert [step.id for step in in_order(tree, {"f": Execute(9, 1)})] == [0, 1, 9, 2, 3]
