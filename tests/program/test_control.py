"""The control tree: how often ops run, and what makes a tree invalid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.program.control import (
    Branch,
    Call,
    Control,
    CopyTensor,
    Execute,
    Repeat,
    Sequence,
    While,
    op_runs,
    walk,
)
from tremula.program.program import Program
from tremula.program.verify import InvalidProgram, verify


def test_loops_multiply_and_calls_are_entered() -> None:
    inner = Repeat(3, Sequence((Execute(0), Call("f"))))
    tree = Sequence((inner, Repeat(2, inner), CopyTensor(0, 1)))
    assert op_runs(tree, {"f": Execute(1)}) == {0: 9, 1: 9}


def test_a_condition_runs_once_more_than_its_body() -> None:
    assert op_runs(While(0, Execute(0), Execute(1), expected=4), {}) == {0: 5, 1: 4}
    assert op_runs(While(0, Execute(0), Execute(1)), {}) == {0: 2, 1: 1}


def test_of_a_branch_the_costliest_case_counts() -> None:
    tree = Branch(0, (Repeat(5, Execute(0)), Execute(1)))
    assert op_runs(tree, {}) == {0: 5}
    assert op_runs(tree, {}, lambda op: {0: 1.0, 1: 10.0}[op]) == {1: 1}
    assert op_runs(Branch(0, ()), {}) == {}


TREES = st.recursive(
    st.builds(Execute, st.integers(0, 3)),
    lambda inner: (
        st.builds(Sequence, st.lists(inner, max_size=3).map(tuple))
        | st.builds(Repeat, st.integers(0, 3), inner)
    ),
)


def _unrolled(node: Control) -> list[int]:
    match node:
        case Execute(op):
            return [op]
        case Sequence(steps):
            return [op for step in steps for op in _unrolled(step)]
        case Repeat(count, body):
            return _unrolled(body) * count
    raise AssertionError(node)


@given(TREES)
def test_counts_are_those_of_running_it(tree: Control) -> None:
    ran = _unrolled(tree)
    assert {op: n for op, n in op_runs(tree, {}).items() if n} == {op: ran.count(op) for op in set(ran)}
    assert {node.op for node in walk(tree) if isinstance(node, Execute)} >= set(ran)


@pytest.mark.parametrize(
    ("tree", "functions", "text"),
    [
        (Execute(99), {}, "op 99"),
        (CopyTensor(0, 99), {}, "does not exist"),
        (CopyTensor(0, 1), {}, "another size"),
        (Call("nothing"), {}, "calls nothing"),
        (Call("a"), {"a": Call("b"), "b": Sequence((Call("a"),))}, "a -> b -> a"),
        (Branch(99, ()), {}, "decides by tensor 99"),
        (While(99, Sequence(), Sequence()), {}, "decides by tensor 99"),
    ],
)
def test_invalid_trees_are_refused(
    layered: Callable[..., Program], tree: Control, functions: dict[str, Control], text: str
) -> None:
    program = replace(layered(2, rows=4, width=8), control=tree, functions=functions)
    with pytest.raises(InvalidProgram, match=text):
        verify(program)


def test_captured_like_programs_are_valid(layered: Callable[..., Program]) -> None:
    verify(layered(4, stages=2, training=True))
    verify(layered(1, training=False))
