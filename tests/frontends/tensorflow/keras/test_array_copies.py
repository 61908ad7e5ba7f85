"""Arrays that `fit` gets: copied once, in the type of the model, and out of reach of the program afterwards."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

ROWS = 1 << 14


def large(dtype: Any) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 100, (ROWS, 4)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int16", "int32"])
def test_a_tensor_has_the_numbers_of_the_array_in_the_type_that_keras_takes(dtype: str) -> None:
    from tremula.frontends.tensorflow.keras.array_copies import tensor_of

    array = large(dtype)
    tensor = tensor_of(array)
    assert tf.is_tensor(tensor)
    assert tensor.dtype == ("float32" if dtype.startswith("float") else dtype)
    np.testing.assert_array_equal(tensor, array)


def test_a_change_of_the_array_does_not_change_the_tensor() -> None:
    from tremula.frontends.tensorflow.keras.array_copies import tensor_of

    array = large(np.float32)
    before = array.copy()
    tensor = tensor_of(array)
    array[:] = -1
    np.testing.assert_array_equal(tensor, before)


@pytest.mark.parametrize(
    "view", [lambda a: a[::2], lambda a: a.T, lambda a: a[:, ::-1], lambda a: np.asfortranarray(a)]
)
def test_views_are_copied_in_their_own_order(view: Any) -> None:
    from tremula.frontends.tensorflow.keras.array_copies import tensor_of

    array = view(large(np.float32))
    np.testing.assert_array_equal(tensor_of(array), array)


@pytest.mark.parametrize(
    "other", [np.zeros(3, np.float32), large(np.int64), large(bool), [1.0, 2.0], None, tf.zeros([2])]
)
def test_small_arrays_other_types_and_what_is_no_array_stay_as_they_are(other: Any) -> None:
    from tremula.frontends.tensorflow.keras.array_copies import tensor_of

    assert tensor_of(other) is other


def test_a_callback_that_changes_the_arrays_does_not_change_the_training(on_ipus: Any) -> None:
    x, y = large(np.float32) / 100, large(np.float64)[:, :1] / 100

    class Spoils(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            given[0][:], given[1][:] = 0, 0

    losses = []
    for callbacks in ([], [Spoils()]):
        given = x.copy(), y.copy()
        with on_ipus().scope():
            model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, kernel_initializer="ones")])
            model.compile("sgd", "mse", steps_per_execution=ROWS // 64)
            fitted = model.fit(
                *given, batch_size=64, epochs=2, shuffle=False, verbose=0, callbacks=list(callbacks)
            )
            losses.append(fitted.history["loss"])
    assert losses[0] == losses[1]


def test_a_seed_gives_the_same_order_each_time(on_ipus: Any) -> None:
    x = large(np.float32) / 100
    losses = []
    for _ in range(2):
        tf.random.set_seed(3)
        with on_ipus().scope():
            model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, kernel_initializer="ones")])
            model.compile("sgd", "mse", steps_per_execution=ROWS // 64)
            losses.append(model.fit(x, x[:, :1], batch_size=64, epochs=2, verbose=0).history["loss"])
    assert losses[0] == losses[1]
