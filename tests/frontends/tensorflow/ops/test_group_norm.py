"""Group normalisation equals a NumPy reference in both groupings, both formats and both float types."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.frontends.tensorflow.ops import normalization
from tremula.frontends.tensorflow.ops.group_norm import Grouping
from tremula.frontends.tensorflow.ops.native import popnn

EPSILON = 1.53e-5


def reference(x, gamma, beta, groups, strided):
    """Channels last, group by group."""
    x = x.astype(np.float64)
    channels = x.shape[-1]
    output = np.empty_like(x)
    for group in range(groups):
        size = channels // groups
        members = np.arange(channels) % groups == group if strided else np.arange(channels) // size == group
        part = x[..., members]
        axes = tuple(range(1, x.ndim))
        mean, variance = part.mean(axes, keepdims=True), part.var(axes, keepdims=True)
        output[..., members] = (part - mean) / np.sqrt(variance + EPSILON) * gamma[members] + beta[members]
    return output


shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3)


@settings(max_examples=30, deadline=None)
@given(shapes, st.integers(1, 4), st.integers(1, 3), st.booleans(), st.booleans(), st.integers(0, 1000))
def test_values_equal_the_reference(leading, groups, members, strided, first, seed):
    rng = np.random.default_rng(seed)
    channels = groups * members
    x = rng.normal(2, 3, [*leading, channels]).astype(np.float32)
    gamma, beta = rng.normal(size=[2, channels]).astype(np.float32)
    grouping = Grouping(groups, "NCHW" if first else "NHWC", strided, EPSILON)
    given_x = np.moveaxis(x, -1, 1) if first else x
    output, mean, inverse = grouping.normalise(tf.constant(given_x), gamma, beta)
    output = np.moveaxis(output.numpy(), 1, -1) if first else output.numpy()
    np.testing.assert_allclose(output, reference(x, gamma, beta, groups, strided), rtol=1e-3, atol=2e-3)
    assert mean.shape == inverse.shape == [leading[0] * groups]


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
def test_the_gradient_op_equals_automatic_differentiation(strided, data_format):
    rng = np.random.default_rng(1)
    x, backprop = (tf.constant(rng.normal(size=[2, 4, 5, 4]), tf.float32) for _ in range(2))
    gamma, beta = (tf.constant(rng.normal(size=[4]), tf.float32) for _ in range(2))
    arguments = {
        "data_format": data_format, "epsilon": EPSILON, "num_groups": 2, "strided_channel_grouping": strided
    }  # fmt: skip
    with tf.GradientTape() as tape:
        tape.watch([x, gamma, beta])
        output, mean, inverse = popnn.popnn_group_norm_training(x, gamma, beta, **arguments)
    expected = tape.gradient(output, [x, gamma, beta], output_gradients=backprop)
    found = popnn.popnn_group_norm_grad(x, gamma, mean, inverse, backprop, **arguments)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_inference_with_the_statistics_equals_training():
    x = tf.random.stateless_normal([3, 2, 6], [1, 2], dtype=tf.float16)
    gamma, beta = tf.ones([6], tf.float16), tf.zeros([6], tf.float16)
    arguments = {"data_format": "NHWC", "epsilon": EPSILON, "num_groups": 3}
    output, _, _ = popnn.popnn_group_norm_training(x, gamma, beta, **arguments)
    mean, inverse = popnn.popnn_group_norm_statistics(x, **arguments)
    applied = popnn.popnn_group_norm_inference(x, gamma, beta, mean, inverse, **arguments)
    assert output.dtype == mean.dtype == applied.dtype == tf.float16
    np.testing.assert_allclose(output, applied, atol=1e-2)


def test_layer_norm_takes_all_axes_and_instance_norm_each_channel():
    x = np.random.default_rng(0).normal(3, 2, [2, 4, 5, 3]).astype(np.float32)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        layer = normalization.layer_norm(tf.constant(x))
        instance = normalization.instance_norm(tf.constant(x), training=False)
        session.run(tf.compat.v1.global_variables_initializer())
        layer, instance = session.run([layer, instance])
    ones, zeros = np.ones(3), np.zeros(3)
    np.testing.assert_allclose(layer, reference(x, ones, zeros, 1, False), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(instance, reference(x, ones, zeros, 3, False), rtol=1e-4, atol=1e-4)


def test_variables_are_made_once_with_their_initializers_and_collections():
    with tf.Graph().as_default() as graph:
        x = tf.zeros([2, 3, 4])
        options = {
            "groups": 2,
            "scope": "n",
            "param_initializers": {"gamma": tf.compat.v1.constant_initializer(5.0)},
            "variables_collections": {"beta": ["mine"]},
        }
        normalization.group_norm(x, **options)
        normalization.group_norm(x, reuse=True, **options)
        assert [v.op.name for v in graph.get_collection("mine")] == ["n/beta"]
        variables = tf.compat.v1.global_variables()
        assert [v.op.name for v in variables] == ["n/gamma"]
        with tf.compat.v1.Session() as session:
            session.run([v.initializer for v in variables])
            np.testing.assert_array_equal(session.run(variables[0]), np.full([4], 5.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": 10}, "Invalid groups 10 for 4 channels"),
        ({"groups": 3}, "4 channels is not commensurate with 3 groups"),
        ({"channels_axis": 4}, "Axis is out of bounds"),
        ({"channels_axis": 2}, "axis 1 or the last"),
    ],
)
def test_groups_and_axes_that_do_not_fit_are_refused(options, message):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        normalization.group_norm(tf.zeros([2, 3, 5, 4]), **options)
