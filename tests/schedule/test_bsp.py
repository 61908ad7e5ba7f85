"""Costs of ops in a program: planned once, rearranged where layouts meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.planner import Planner
from tremula.program.control import Call, Execute, Repeat, Sequence
from tremula.program.op import Op, Phase
from tremula.program.program import Program
from tremula.program.tensor import Role, Tensor
from tremula.program.work import Elementwise, MatMul, Softmax, Work
from tremula.schedule.bsp import FREE, Cycles, CycleSum, op_costs, rearrangement


def _program(*ops: tuple[Work | None, tuple[int, ...], int], tensors: int) -> Program:
    """Ops as (work, tensors read, tensor made); tensor 0 is a weight, all have 64 x 64 elements."""
    made = [
        Tensor(f"t{n}", (64, 64), role=Role.PARAMETER if n == 0 else Role.ACTIVATION) for n in range(tensors)
    ]
    flat = [
        Op(f"op{n}", "op", Phase.FORWARD, () if work is None else (work,), read, (out,))
        for n, (work, read, out) in enumerate(ops)
    ]
    for number, (_, _, out) in enumerate(ops):
        made[out].producer = number
    return Program(flat, made)


_PRODUCT = MatMul(64, 64, 64)
_ADD = Elementwise("add", 64 * 64, operands=2)


def test_results_of_two_products_have_to_meet() -> None:
    program = _program((_PRODUCT, (1, 0), 2), (_PRODUCT, (1, 0), 3), (_ADD, (2, 3), 4), tensors=5)
    assert op_costs(program, Planner(chip("mk2"))).rearranged == [0, 0, 4 * 64 * 64]


def test_an_elementwise_op_works_where_its_operand_lies() -> None:
    program = _program((_PRODUCT, (1, 0), 2), (_ADD, (2,), 3), (_ADD, (2, 3), 4), tensors=5)
    assert op_costs(program, Planner(chip("mk2"))).rearranged == [0, 0, 0]


def test_weights_lie_as_they_are_used() -> None:
    program = _program((_PRODUCT, (1, 0), 2), (_ADD, (2, 0), 3), tensors=4)
    assert op_costs(program, Planner(chip("mk2"))).rearranged == [0, 0]


def test_rows_come_together_once() -> None:
    softmax = Softmax(64, 64)
    program = _program((_PRODUCT, (1, 0), 2), (softmax, (2,), 3), (softmax, (3,), 4), tensors=5)
    assert op_costs(program, Planner(chip("mk2"))).rearranged == [0, 4 * 64 * 64, 0]


@given(st.integers(0, 5), st.integers(0, 5))
def test_an_op_costs_as_often_as_the_control_tree_runs_it(outer: int, inner: int) -> None:
    program = _program((_PRODUCT, (1, 0), 2), (_ADD, (2,), 3), tensors=4)
    planner = Planner(chip("mk2"))
    once = op_costs(program, planner).costs
    loop = Repeat(outer, Sequence((Execute(0), Repeat(inner, Call("add")))))
    program.control, program.functions = Sequence((loop, Call("add"))), {"add": Execute(1)}
    costs = op_costs(program, planner).costs
    assert costs[0].cycles == pytest.approx(outer * once[0].cycles)
    assert costs[1].cycles == pytest.approx((outer * inner + 1) * once[1].cycles)
    assert costs[0].bytes == once[0].bytes


def test_equal_ops_are_one_cost_and_views_are_free(layered: Callable[..., Any]) -> None:
    program = layered(50, training=False)
    costs = op_costs(program, Planner(chip("bow"))).costs
    assert len({id(cost) for cost in costs}) == 2
    assert op_costs(_program((None, (1,), 2), tensors=3), Planner(chip("bow"))).costs == [FREE]


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_more_bytes_never_take_less(one: int, other: int) -> None:
    few, many = sorted((one, other))
    mk2 = chip("mk2")
    assert rearrangement(few, mk2, 0.5).cycles <= rearrangement(many, mk2, 0.5).cycles
    # no faster than the wires
    assert rearrangement(many, mk2, 0.5).cycles >= 0.5 * many / mk2.tiles / mk2.exchange_bytes_per_cycle


def test_parts_of_cycles() -> None:
    cycles = Cycles(
        compute=1,
        exchange=2,
        sync=3,
        inter_ipu=4,
        host_call=2,
        host_transfer=3,
        streaming=6,
        collectives=7,
        pipeline_idle=8,
    )
    assert cycles.total == 36
    assert (cycles + cycles).parts() == (cycles * 2).parts()
    assert cycles.host == 5
    assert cycles.with_(host_call=0, host_transfer=0).total == 31
    cost = Planner(chip("mk2")).plan(_PRODUCT)
    total = CycleSum()
    total.add(cost)
    total.add(cost)
    assert total.cycles.total == pytest.approx(2 * cost.cycles)
