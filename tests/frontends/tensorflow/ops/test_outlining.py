"""Outlined functions and multi-convolutions compute what their bodies compute."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tremula.frontends.tensorflow.ops import facts, outlining


def test_values_gradients_and_variables_are_those_of_the_body():
    w = tf.Variable([[2.0]])

    @outlining.outlined_function
    def scale(x, offset):
        return {"y": x @ w + offset, "none": None, "constant": 4}

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            first = scale(x, 1.0)
            loss = tf.reduce_sum(scale(first["y"], 1.0)["y"])
        return first, loss, tape.gradient(loss, [x, w])

    first, loss, (for_x, for_w) = run(tf.constant([[3.0]]))
    assert first["none"] is None
    assert int(first["constant"]) == 4
    assert (float(loss), for_x.numpy().item(), for_w.numpy().item()) == (15.0, 4.0, 13.0)


def test_variables_of_a_variable_scope_are_shared_with_the_graph_around():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:

        @outlining.outlined_function(unique_sharding=True, keep_input_layouts=False, name="layer")
        def layer(x):
            w = tf.compat.v1.get_variable("w", initializer=3.0, use_resource=True)
            return x * w

        y = layer(2.0)
        (gradient,) = tf.gradients(y, tf.compat.v1.trainable_variables())
        session.run(tf.compat.v1.global_variables_initializer())
        assert session.run([y, gradient]) == [6.0, 2.0]
        (product,) = [
            op for op in y.graph.get_operations() if op.type == "Mul" and "outlined" in facts.recorded(op)
        ]
        assert facts.recorded(product)["unique_sharding"] is True
        assert facts.recorded(product)["keep_input_layouts"] is False


def test_calls_are_told_apart():
    with tf.Graph().as_default():
        square = outlining.outlined_function(tf.square)
        first, second = square(1.0), square(2.0)
        calls = {
            facts.recorded(y.op.inputs[0].op if y.op.type == "Identity" else y)["outlined"]
            for y in (first, second)
        }
        assert len(calls) == 2


def test_a_body_is_plain_python():
    seen = []

    @outlining.outlined_function
    def body(x):
        seen.append(isinstance(x > 0, bool))
        for i in range(2):
            x = x + i
        return x

    @tf.function
    def run(x):
        return body(x)

    assert float(run(tf.constant(1.0))) == 2.0
    assert seen == [False]


def test_convolutions_with_options():
    x, w = tf.ones([1, 4, 4, 2]), tf.ones([2, 2, 2, 3])

    @outlining.multi_conv(options={"perConvReservedTiles": "50"})
    def both(x, w):
        return tf.nn.conv2d(x, w, 1, "VALID"), tf.nn.conv2d(x, w, 1, "SAME")

    for found, padding in zip(both(x, w), ("VALID", "SAME"), strict=True):
        np.testing.assert_array_equal(found, tf.nn.conv2d(x, w, 1, padding))
    with tf.Graph().as_default() as graph:
        both(tf.ones([1, 4, 4, 2]), tf.ones([2, 2, 2, 3]))
        convolutions = [op for op in graph.get_operations() if op.type == "Conv2D"]
        assert {facts.recorded(op)["multi_conv_options"] for op in convolutions} == {
            '{"perConvReservedTiles": "50"}'
        }
    with pytest.raises(TypeError, match="to be a `dict`"):
        outlining.multi_conv(tf.identity, options=["a"])(1.0)
