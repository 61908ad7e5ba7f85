"""Passes over data: what is cast, rearranged and repeated for them."""

import pytest

from tremula.lowering.elementwise import one_hot, passes_over, power
from tremula.lowering.operand import Operand, dense_strides
from tremula.program.work import Cast, Copy, Elementwise


def operand(*shape, dtype="fp32", strides=None):
    elements = 1
    for extent in shape:
        elements *= extent
    return Operand(None, shape, strides or dense_strides(shape), dtype, elements)


def test_each_operation_is_a_pass_and_the_later_ones_are_in_place():
    works = passes_over(["mul", "add"], [operand(4, 8), operand(4, 8)], operand(4, 8))
    assert [(work.operation, work.operands, work.in_place) for work in works] == [
        ("mul", 2, False), ("add", 2, True)
    ]  # fmt: skip


def test_another_type_is_cast_and_another_order_rearranged_first():
    half = operand(4, 8, dtype="fp16")
    turned = operand(4, 8, strides=(1, 4))
    cast, copy, work = passes_over(["add"], [half, turned], operand(4, 8))
    assert isinstance(cast, Cast)
    assert isinstance(copy, Copy)
    assert copy.contiguous == 1
    assert work.dtype == "fp32"


@pytest.mark.parametrize(
    ("shape", "strides", "inner"),
    [((4, 8), (0, 1), True), ((4, 8), (1, 0), False)],
)
def test_a_repeated_operand_is_broadcast(shape, strides, inner):
    (work,) = passes_over(["add"], [operand(4, 8), operand(*shape, strides=strides)], operand(4, 8))
    assert work.broadcast_elements == (8 if inner else 4)
    assert work.broadcast_inner is inner


def test_one_operand_that_is_repeated_is_computed_before_it_is_expanded():
    (work,) = passes_over(["exp"], [operand(4, 8, strides=(0, 1))], operand(4, 8))
    assert work.elements == 8
    assert work.broadcast_elements is None


def test_a_number_of_the_program_is_a_second_operand():
    (work,) = passes_over(["mul"], [operand(4, 8)], operand(4, 8), scalar=True)
    assert (work.operands, work.broadcast_elements) == (2, 1)


def test_comparisons_compute_in_the_type_of_their_operands():
    (work,) = passes_over(
        ["eq"], [operand(4, dtype="fp16"), operand(4, dtype="fp16")], operand(4, dtype="bool")
    )
    assert (work.dtype, work.output_dtype) == ("fp16", "bool")


def test_simple_powers_have_passes_of_their_own():
    assert power(2) != "pow"
    assert power(2.5) == power("x") == "pow"


def test_classes_are_picked_with_one_pass():
    work = one_hot(64, 16, "fp16")
    assert isinstance(work, Elementwise)
    assert (work.elements, work.broadcast_elements, work.operands) == (64, 16, 2)
