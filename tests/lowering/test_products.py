"""Products: which operands are not laid out for them, and products in parts."""

import numpy as np
import pytest

from tremula.lowering.products import crossed, innermost, partials, serialised
from tremula.program.work import Elementwise, MatMul

WHOLE = MatMul(rows=8, inner=12, columns=20, dtype="fp16")


def test_only_short_numbers_have_a_choice_of_partial_sums():
    assert partials("fp16", "fp16") == partials("fp8", "fp16") == "fp16"
    assert partials("fp32", "fp16") == "fp32"


#: operands of a product of 8 x 12 by 12 x 20, as they are stored and as views of what is stored the other way
LEFT, LEFT_TURNED = np.zeros((8, 12), np.float32), np.zeros((12, 8), np.float32).T
RIGHT, RIGHT_TURNED = np.zeros((12, 20), np.float32), np.zeros((20, 12), np.float32).T


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (LEFT, RIGHT_TURNED, ""),
        (LEFT, RIGHT, "right"),
        (LEFT_TURNED, RIGHT_TURNED, "left"),
        (LEFT_TURNED, RIGHT, "both"),
    ],
)
def test_operands_whose_inner_extent_does_not_lie_together(left, right, expected):
    sides = [innermost([step // 4 for step in each.strides], each.shape) for each in (left, right)]
    assert crossed(*sides) == expected


@pytest.mark.parametrize("cut", ["rows", "columns"])
def test_parts_of_the_result_are_done_one_after_the_other(cut):
    works = serialised(WHOLE, cut, 4)
    assert len(works) == 4
    assert sum(getattr(work, cut) for work in works) == getattr(WHOLE, cut)


def test_parts_of_the_inner_extent_are_added_up():
    works = serialised(WHOLE, "inner", 3, sums_dtype="fp32")
    products = [work for work in works if isinstance(work, MatMul)]
    sums = [work for work in works if isinstance(work, Elementwise)]
    assert [work.inner for work in products] == [4, 4, 4]
    assert [(work.elements, work.dtype, work.in_place) for work in sums] == [(160, "fp32", True)] * 2


def test_one_part_is_the_whole():
    assert serialised(WHOLE, None, 4) == serialised(WHOLE, "rows", 1) == [WHOLE]
