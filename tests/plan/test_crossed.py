"""Operands of products that lie against the grain are transposed first."""

from dataclasses import replace

import pytest

from tremula.hardware.catalogue import chip
from tremula.plan.cost import Superstep
from tremula.plan.planner import Planner
from tremula.program.work import MatMul

_MK2 = chip("mk2")
_PLANNER = Planner(_MK2)
#: probabilities times values of attention: 96 heads, 128 tokens, 64 wide
_VALUES = MatMul(128, 128, 64, groups=96, dtype="fp16", partials="fp16")


def transposing(work: MatMul) -> list[Superstep]:
    return [step for step in _PLANNER.plan(work).supersteps if step.name == "transpose operands"]


def test_operands_that_lie_well_are_read_as_they_are() -> None:
    assert not transposing(_VALUES)


def test_a_crossed_operand_is_moved_once() -> None:
    plain, crossed = (_PLANNER.plan(replace(_VALUES, crossed=which)) for which in ("", "right"))
    (step,) = transposing(replace(_VALUES, crossed="right"))
    assert crossed.cycles == pytest.approx(plain.cycles + step.cycles)
    moved = 96 * 128 * 64 * 2 / _MK2.tiles
    assert step.exchange_cycles == pytest.approx(moved / 4 + _MK2.exchange_latency_cycles)
    assert "the right operand transposed" in str(crossed.why)


def test_the_left_operand_of_attention_is_larger() -> None:
    left, right, both = (
        transposing(replace(_VALUES, crossed=which))[0] for which in ("left", "right", "both")
    )
    assert right.compute_cycles < left.compute_cycles < both.compute_cycles


def test_lengths_that_are_no_whole_vectors_move_element_by_element() -> None:
    even, odd = (
        transposing(replace(_VALUES, inner=inner, crossed="right"))[0].compute_cycles for inner in (196, 197)
    )
    assert odd > 5 * even


@pytest.mark.parametrize(("inner", "factor"), [(3348, 1.0), (3349, 4.0)])
def test_gradients_of_weights_sum_over_rows(inner: int, factor: float) -> None:
    work = MatMul(768, inner, 768, dtype="fp16", partials="fp16", role="weight_gradient")
    (step,) = transposing(work)
    whole = transposing(replace(work, inner=3348))[0]
    assert step.compute_cycles >= factor * whole.compute_cycles


def test_products_of_activations_have_no_layout_of_a_forward_pass() -> None:
    """Gradients of attention cost what the same product costs in the forward pass, but for what is transposed."""
    costs = {_PLANNER.plan(replace(_VALUES, role=role)).cycles for role in ("forward", "weight_gradient")}
    assert len(costs) == 1
