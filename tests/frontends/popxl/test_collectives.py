"""Collectives over replicas."""

from __future__ import annotations

import numpy as np
import pytest

from .graphs import constant, new_ir, op, run, store, variable

FOUR = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]


@pytest.mark.parametrize(
    ("operator", "assignment", "expected"),
    [
        ("add", (0, 0, 0, 0), [[16.0, 20.0]] * 4),
        ("mean", (0, 0, 1, 1), [[2.0, 3.0]] * 2 + [[6.0, 7.0]] * 2),
        ("max", (0, 1, 0, 1), [[5.0, 6.0], [7.0, 8.0]] * 2),
        ("mul", (0, 0, 1, 1), [[3.0, 8.0]] * 2 + [[35.0, 48.0]] * 2),
    ],
)
def test_all_reduce(operator: str, assignment: tuple[int, ...], expected: list[list[float]]) -> None:
    ir = new_ir(replicas=4)
    x = variable(ir, "x", FOUR, groups=(0, 1, 2, 3))
    store(ir, "out", op(ir.main, "ReplicatedAllReduce", x, op=operator, assignment=assignment))
    (values,) = run(ir, "out")
    assert values.tolist() == expected


def test_a_reduced_tensor_is_scattered_and_gathered_again() -> None:
    ir = new_ir(replicas=4)
    x = variable(ir, "x", np.arange(4 * 6).reshape(4, 6), groups=(0, 1, 2, 3))
    group = (0, 0, 0, 0)
    part = op(ir.main, "ReplicatedReduceScatter", x, op="add", assignment=group, for_sharding=True)
    assert part.type.shape == (2,)  # 6 elements over 4 replicas, filled up
    assert part.type.meta_shape == (6,)
    store(ir, "whole", op(ir.main, "ReplicatedAllGather", part, assignment=group, shape=(6,)))
    (whole,) = run(ir, "whole")
    assert whole.tolist() == [np.arange(24).reshape(4, 6).sum(0).tolist()] * 4


def test_variables_of_groups_go_to_their_replicas_and_back() -> None:
    ir = new_ir(replicas=4)
    x = variable(ir, "x", [[1.0], [2.0]], groups=(0, 1, 0, 1))
    store(ir, "out", op(ir.main, "Identity", x))
    op(ir.main, "AddLhsInplace", x, constant(ir.main, "ten", [10.0]))
    (values,) = run(ir, "out")
    assert values.ravel().tolist() == [1.0, 2.0, 1.0, 2.0]
    assert x.data is not None
    assert x.data.ravel().tolist() == [11.0, 12.0]
