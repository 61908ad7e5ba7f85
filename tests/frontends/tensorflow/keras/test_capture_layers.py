"""Keras layers that capture gradients."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ipu.eager.backprop import GradientCaptureTape

from keras.ipu.layers import CaptureActivationGradients, CaptureUpstreamGradients  # isort: skip


def _dense(**options: object) -> keras.layers.Layer:
    return keras.layers.Dense(2, kernel_initializer="ones", name="inner", **options)


def test_gradients_of_the_outputs_are_captured() -> None:
    layer = CaptureUpstreamGradients(_dense())
    x = tf.constant([[1.0, 2.0]])
    with GradientCaptureTape() as tape:
        y = tf.reduce_sum(layer(x) ** 2)
    tape.gradient(y, layer.trainable_variables)
    np.testing.assert_array_equal(tape.captured_gradients["inner_cug"][0], [[6, 6]])
    assert [tuple(weight.shape) for weight in layer.weights] == [(2, 2), (2,)]


def test_gradients_of_activations_are_captured() -> None:
    layer = CaptureActivationGradients(_dense(activation="relu"))
    x = tf.constant([[1.0, 2.0]])
    with GradientCaptureTape() as tape:
        y = tf.reduce_sum(layer(x) * [[5.0, -1.0]])
    tape.gradient(y, layer.trainable_variables)
    np.testing.assert_array_equal(tape.captured_gradients["inner_cag_activation"][0], [[5, -1]])


def test_training_reaches_only_layers_that_take_it() -> None:
    x = tf.ones([64, 4])
    dropped = CaptureUpstreamGradients(keras.layers.Dropout(0.5), tag="drop")(x, training=True)
    assert np.any(dropped.numpy() == 0)
    np.testing.assert_array_equal(
        CaptureUpstreamGradients(keras.layers.Flatten(), tag="flat")(x, training=True), x
    )


@pytest.mark.parametrize("kind", [CaptureUpstreamGradients, CaptureActivationGradients])
def test_models_with_capture_layers_are_rebuilt_from_their_configuration(kind: type) -> None:
    inputs = keras.Input([3])
    model = keras.Model(inputs, kind(_dense(activation="tanh"), tag="mine")(inputs))
    with keras.utils.custom_object_scope({kind.__name__: kind}):
        again = keras.Model.from_config(model.get_config())
    assert again.layers[1].tag == "mine"
    assert again.layers[1].layer.get_config()["units"] == 2


def test_only_layers_are_wrapped() -> None:
    with pytest.raises(ValueError, match="Expected an instance of a Keras layer"):
        CaptureUpstreamGradients(lambda x: x)
