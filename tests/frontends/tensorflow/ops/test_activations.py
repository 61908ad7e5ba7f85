"""Activations of the device, their slopes, and their names."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tremula.frontends.tensorflow.ops import activations, facts
from tremula.frontends.tensorflow.ops.native import popnn

X = np.linspace(-6, 6, 49)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


REFERENCES = {
    "gelu": (
        lambda x: activations.gelu(x),
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ),
    "gelu by erf": (
        lambda x: activations.gelu(x, approximate=False),
        lambda x: 0.5 * x * (1 + np.vectorize(__import__("math").erf)(x / np.sqrt(2))),
    ),
    "swish": (activations.swish, lambda x: x * sigmoid(x)),
    "hard_sigmoid": (activations.hard_sigmoid, lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    "softmax": (activations.softmax, lambda x: np.exp(x) / np.exp(x).sum()),
    "stable softmax": (lambda x: activations.softmax(x, stable=True), lambda x: np.exp(x) / np.exp(x).sum()),
}


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-6), (np.float16, 5e-3)])
@pytest.mark.parametrize("name", REFERENCES)
def test_values(name, dtype, tolerance):
    function, reference = REFERENCES[name]
    result = function(tf.constant(X, dtype))
    assert result.dtype == dtype
    np.testing.assert_allclose(result, reference(X), atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32])
@pytest.mark.parametrize("name", ["gelu", "swish", "hard_sigmoid"])
def test_slopes_are_finite_far_from_zero(name, dtype):
    x = tf.constant([-250.0, -2.5, 0.0, 2.5, 250.0], dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = REFERENCES[name][0](x)
    slopes = tape.gradient(y, x).numpy()
    assert np.isfinite(slopes).all()
    if name == "hard_sigmoid":
        np.testing.assert_allclose(slopes, [0, 0.2, 0.2, 0.2, 0], atol=1e-3)
    else:
        np.testing.assert_allclose(slopes[[0, 2, 4]], [0, 0.5, 1], atol=1e-3)
    gradient = getattr(popnn, f"ipu_{name}_grad")(tf.ones_like(x), x)
    np.testing.assert_array_equal(gradient, slopes)


def test_the_kind_of_softmax_is_a_fact():
    with tf.Graph().as_default():
        assert facts.recorded(activations.softmax(tf.zeros([3]), stable=True)) == {"stable": True}


def test_names_of_activations():
    assert activations.name_of("tanh") == "tanh"
    assert activations.name_of(tf.tanh) == "tanh"
    assert activations.name_of(tf.keras.activations.hard_sigmoid) == "hard_sigmoid"
    with pytest.raises(TypeError, match="Unrecognized function"):
        activations.name_of(sigmoid)
    with pytest.raises(TypeError, match="Could not interpret"):
        activations.name_of(3)
