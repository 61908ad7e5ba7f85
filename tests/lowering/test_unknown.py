"""Ops that no planner knows."""

from tremula.lowering.operand import Operand, dense_strides
from tremula.lowering.unknown import unknown


def test_repeated_elements_are_read_once_and_the_type_is_that_of_the_result():
    column = Operand(None, (4, 8), (1, 0), "fp32", 32)
    result = Operand(None, (4, 8), dense_strides((4, 8)), "fp16", 32)
    work = unknown("spin", [column], [result])
    assert (work.operation, work.read_elements, work.written_elements, work.dtype) == ("spin", 4, 32, "fp16")


def test_an_op_without_tensors_has_a_type():
    assert unknown("barrier", [], []).dtype == "fp32"
