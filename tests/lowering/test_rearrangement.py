"""When data moves and in which pieces, against views of numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.lowering.movement import joined, pad_gradient, padded
from tremula.lowering.operand import Operand, dense_strides
from tremula.lowering.rearrangement import rearranged, run_length, same_order
from tremula.lowering.reductions import shaped
from tremula.program.work import Copy, Elementwise, Fill


def operand(array):
    return Operand(
        None, array.shape, tuple(step // array.itemsize for step in array.strides), "fp32", array.size
    )


def dense(*shape):
    return Operand(None, shape, dense_strides(shape), "fp32", int(np.prod(shape)))


@given(st.permutations(range(3)))
def test_a_transposed_tensor_is_in_another_order_than_a_dense_one(order):
    turned = operand(np.zeros((2, 3, 4), np.float32).transpose(order))
    plain = dense(*turned.shape)
    assert same_order(turned, turned)
    assert same_order(turned, plain) == (list(order) == [0, 1, 2])


@given(st.permutations(range(3)))
def test_runs_lie_together_in_both_tensors(order):
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(order)
    run = run_length(operand(array), dense(*array.shape))
    pieces = array.reshape(-1, run)
    assert (np.diff(pieces, axis=1) == 1).all()


def test_a_copy_into_the_same_order_stays_on_its_tile():
    rows = np.zeros((6, 8), np.float32)
    assert not rearranged(operand(rows), dense(6, 8)).between_tiles
    turned = rearranged(operand(rows.T), dense(8, 6))
    assert (turned.between_tiles, turned.contiguous, turned.elements) == (True, 1, 48)
    assert rearranged(operand(rows[:, :4]), dense(6, 4)).contiguous == 4


def test_pieces_of_a_concatenation_lie_together_from_its_dimension_inwards():
    result = dense(4, 6, 5)
    assert joined([dense(4, 2, 5), dense(4, 4, 5)], result, 1).contiguous == 10
    assert joined([dense(4, 5), dense(4, 5)], dense(4, 2, 5), 1, stacked=True).contiguous == 5


def test_a_border_is_filled_or_copied():
    source, result = dense(3, 4), dense(3, 6)
    constant = padded(source, result, by_constant=True)
    assert [type(work) for work in constant] == [Fill, Copy]
    assert constant[0].elements == 6
    reflected = padded(source, result, by_constant=False)
    assert [(type(work), work.elements) for work in reflected] == [(Copy, 6), (Copy, 12)]
    _, added = pad_gradient(result, source)
    assert isinstance(added, Elementwise)
    assert added.elements == 6


@pytest.mark.parametrize("dims", [[0], [1], [2], [0, 1], [1, 2], [0, 2], [0, 1, 2]])
def test_a_reduction_has_all_elements_of_its_operand(dims):
    source = dense(2, 3, 4)
    work = shaped(source, dims, "sum")
    assert work.outer * work.reduced * work.inner == source.elements
    assert work.reduced == np.prod([source.shape[d] for d in dims])
    assert work.inner == np.prod(source.shape[max(dims) + 1 :])
