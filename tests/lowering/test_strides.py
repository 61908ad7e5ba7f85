"""Strides of views against numpy's, and of results against the order of their operand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tremula.lowering.operand import Operand, dense_strides
from tremula.lowering.strides import like, reshaped


def operand(array):
    strides = tuple(step // array.itemsize for step in array.strides)
    return Operand(None, array.shape, strides, "fp32", array.size)


@st.composite
def views(draw):
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    array = np.zeros(shape, np.float32).transpose(draw(st.permutations(range(len(shape)))))
    return array[::2] if draw(st.booleans()) else array


@given(views(), st.data())
def test_a_reshape_is_a_view_where_numpy_makes_one(array, data):
    sizes = [array.size]
    while len(sizes) < 3:
        divisor = data.draw(st.sampled_from([n for n in range(1, sizes[-1] + 1) if sizes[-1] % n == 0]))
        sizes[-1:] = [sizes[-1] // divisor, divisor]
    view = array.view()
    try:
        view.shape = tuple(sizes)
    except AttributeError:
        assert reshaped(operand(array), sizes) is None
        return
    found = reshaped(operand(array), sizes)
    assert found is not None
    expected = operand(view).strides
    assert [f for f, n in zip(found, sizes, strict=True) if n > 1] == [
        e for e, n in zip(expected, sizes, strict=True) if n > 1
    ]


def test_repeated_dimensions_stay_repeated():
    assert reshaped(Operand(None, (4, 6), (0, 0), "fp32", 24), (2, 12)) == (0, 0)


def test_a_result_lies_as_its_operand_does():
    turned = operand(np.zeros((4, 6), np.float32).T)
    assert like(turned, turned.shape) == (1, 6)
    assert like(Operand(None, (4, 6), (12, 2), "fp32", 24), (4, 6)) == dense_strides((4, 6))
