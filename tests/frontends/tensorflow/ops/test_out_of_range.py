"""Class labels that do not exist: an error on the host, NaN for their rows in a program of the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tremula.frontends.tensorflow.replicas.program import DeviceFunction

LOGITS = np.float32([[1, 2, 3], [3, 2, 1], [0, 1, 0], [2, 2, 2]])


def loss_and_gradient(labels: Any, logits: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return loss, tape.gradient(loss, logits)


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_rows_with_such_labels_are_nan_on_the_device(dtype: Any) -> None:
    labels = tf.constant([0, 3, -1, 2], dtype)
    loss, gradient = DeviceFunction(loss_and_gradient, replicas=1)(labels, tf.constant(LOGITS))
    chances = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
    np.testing.assert_allclose(
        loss, [-np.log(chances[0, 0]), np.nan, np.nan, -np.log(chances[3, 2])], rtol=1e-5
    )
    np.testing.assert_allclose(gradient[0], chances[0] - [1, 0, 0], rtol=1e-5)
    assert np.isnan(gradient[1:3]).all()
    assert not np.isnan(gradient[3]).any()


def test_the_host_refuses_them() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        loss_and_gradient(tf.constant([0, 3, 1, 2]), tf.constant(LOGITS))
