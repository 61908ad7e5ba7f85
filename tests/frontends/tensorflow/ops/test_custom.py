"""Operations that a program brings itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ipu import vertex_edsl
from tensorflow.python.ipu.ops import custom_ops


def test_an_expression_is_computed_elementwise_and_broadcasts() -> None:
    a, b = np.arange(4.0, dtype=np.float32).reshape(4, 1), np.array([2.0, -1.0], np.float32)
    found = custom_ops.codelet_expression_op(
        lambda x, y: abs(x * y - x) + (-y), tf.constant(a), tf.constant(b)
    )
    np.testing.assert_array_equal(found, np.abs(a * b - a) - b)


def test_numbers_in_an_expression_have_the_type_of_the_tensors() -> None:
    found = custom_ops.codelet_expression_op(
        lambda x: x * 3 + vertex_edsl.constant(1), tf.constant([2], tf.float16)
    )
    assert found.dtype == tf.float16
    assert found.numpy().tolist() == [7]


def test_let_and_condition_are_computed() -> None:
    def clipped_square(x: Any) -> Any:
        square = vertex_edsl.let(x, lambda part: part * part)
        small = vertex_edsl.BinaryExpr("<", square, vertex_edsl.constant(5))
        return vertex_edsl.condition(small, square, vertex_edsl.constant(5))

    found = custom_ops.codelet_expression_op(clipped_square, tf.constant([1.0, 2.0, 3.0]))
    assert found.numpy().tolist() == [1, 4, 5]


def test_an_expression_has_a_cpp_form() -> None:
    x, y = (vertex_edsl.PlaceholderVertexExpr(name) for name in "xy")
    assert (x * x + y).lower(vertex_edsl.DefaultNameSource()) == "((x*x)+y)"


def test_an_expression_has_no_gradient() -> None:
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = custom_ops.codelet_expression_op(lambda value: value * value, x)
    with pytest.raises(LookupError, match="no gradient"):
        tape.gradient(y, x)


def test_a_library_that_is_not_there_is_named() -> None:
    with pytest.raises(tf.errors.NotFoundError, match=r"absent\.so"):
        custom_ops.precompiled_user_op([], "/nowhere/absent.so")


def test_a_library_needs_what_cpp_enable_makes(tmp_path: Path) -> None:
    library = tmp_path / "libmine.so"
    library.write_bytes(b"")
    for op in (custom_ops.precompiled_user_op, custom_ops.cpu_user_operation):
        with pytest.raises(tf.errors.NotFoundError, match=r"Run `tremula cpp enable`"):
            op([tf.zeros([2])], str(library), outs={"output_types": [tf.float32], "output_shapes": [[2]]})


@pytest.mark.parametrize("name", ["attributes", "gradient_attributes"])
def test_attributes_are_text(name: str) -> None:
    with pytest.raises(ValueError, match=f"Expected {name} to be a 'str'"):
        custom_ops.precompiled_user_op([], "lib.so", **{name: 3})
