"""Metrics begin each epoch at zero, by Keras' way or their own."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest


class KeepsItsCount(keras.metrics.Metric):
    """Counts the batches of all epochs."""

    def __init__(self) -> None:
        super().__init__(name="batches")
        self.count = self.add_weight(name="count", initializer="zeros")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        self.count.assign_add(1.0)

    def result(self) -> Any:
        return self.count + 0.0

    def reset_state(self) -> None:
        pass


@pytest.mark.parametrize("replicas", [1, 2])
def test_metrics_of_each_epoch_are_of_that_epoch_alone(on_ipus: Any, replicas: int) -> None:
    x = np.arange(16, dtype=np.float32)[:, np.newaxis] / 16
    with on_ipus(replicas).scope():
        model = keras.Sequential(
            [keras.Input((1,)), keras.layers.Dense(1, kernel_initializer="ones", trainable=False)]
        )
        metrics = ["mae", keras.metrics.Precision(thresholds=[0.25, 0.5]), KeepsItsCount()]
        model.compile("sgd", "mse", metrics=metrics, steps_per_execution=2)
        fitted = model.fit(x, x > 0.3, batch_size=4, epochs=3, shuffle=False, verbose=0)
    steps = 4 // replicas
    assert fitted.history["batches"] == [steps, 2 * steps, 3 * steps]
    for name in ("loss", "mae", *(key for key in fitted.history if key.startswith("precision"))):
        values = np.asarray(fitted.history[name])
        np.testing.assert_array_equal(values[1:], np.stack([values[0]] * 2))


def test_a_models_own_way_to_compute_metrics_is_used_in_every_step(on_ipus: Any) -> None:
    class Counting(keras.Model):
        """Updates a metric of its own."""

        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(1)
            self.batches = KeepsItsCount()

        def call(self, x: Any) -> Any:
            return self.dense(x)

        def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any) -> Any:
            self.batches.update_state(y, y_pred)
            return {"batches": self.batches.result()}

    x = np.ones((16, 1), np.float32)
    with on_ipus(1).scope():
        model = Counting()
        model.compile("sgd", "mse", steps_per_execution=4)
        fitted = model.fit(x, x, batch_size=4, epochs=1, verbose=0)
    assert fitted.history["batches"] == [4]
