"""What TensorFlow 2.6 and Keras 2.6 did and later releases do not."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu
from tensorflow.python.ops import functional_ops

from keras.engine.data_adapter import expand_1d  # isort: skip


def test_expand_1d_makes_columns_of_vectors_only() -> None:
    x, (y, weights) = expand_1d((tf.ones((2, 3)), (tf.ones(2), None)))
    assert x.shape == (2, 3)
    assert y.shape == (2, 1)
    assert weights is None


def test_expand_1d_of_specs() -> None:
    assert expand_1d(tf.TensorSpec([4], tf.int32)) == tf.TensorSpec([4, 1], tf.int32)


@pytest.mark.parametrize("steps", [tf.constant(4), tf.constant(4, tf.int64), 4])
def test_steps_per_execution_may_be_a_tensor(steps: object) -> None:
    with ipu.ipu_strategy.IPUStrategy().scope():
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile(steps_per_execution=steps)
    assert int(model._steps_per_execution) == 4


def test_initialized_value_in_eager_mode_is_the_value() -> None:
    np.testing.assert_array_equal(tf.Variable([1.0, 2.0]).initialized_value(), [1, 2])


def test_initialized_value_in_a_graph_does_not_need_the_initializer_to_have_run() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variable = tf.compat.v1.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
        value = variable.initialized_value()
        np.testing.assert_array_equal(session.run(value), [1, 2])
        session.run(variable.initializer)
        session.run(variable.assign([3.0, 4.0]))
        np.testing.assert_array_equal(session.run(value), [3, 4])


def test_set_policy_sets_the_policy_of_new_layers() -> None:
    keras.mixed_precision.policy.set_policy("mixed_float16")
    try:
        assert keras.layers.Dense(1).compute_dtype == "float16"
    finally:
        keras.mixed_precision.policy.set_policy("float32")


def test_a_function_of_the_graph_is_called() -> None:
    from tensorflow.python.framework import function

    @function.Defun(tf.float32, tf.float32)
    def add(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return x + y

    @tf.function
    def call(x: tf.Tensor) -> tf.Tensor:
        return functional_ops.partitioned_call(args=[x, x], f=add)[0]

    np.testing.assert_array_equal(call(tf.constant([1.0, 2.0])), [2, 4])


def test_the_policy_for_half_precision_is_allowed_under_the_strategy() -> None:
    with ipu.ipu_strategy.IPUStrategy().scope():
        layer = keras.layers.Dense(1, dtype=keras.mixed_precision.Policy("mixed_float16"))
        assert layer(tf.ones((1, 2))).dtype == tf.float16
