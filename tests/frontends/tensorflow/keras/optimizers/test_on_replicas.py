"""Loss scaling with replicas and accumulated gradients leaves the training alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from keras.ipu import optimizers
from tensorflow import keras
from tensorflow.python import ipu

legacy = keras.optimizers.legacy
X = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
Y = (X @ [[2.0], [-1.0], [0.5]]).astype(np.float32)


def _trained(make: Callable[[], Any], replicas: int, batches: int) -> tuple[Any, Any]:
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = replicas
    config.configure_ipu_system()
    try:
        with ipu.ipu_strategy.IPUStrategy().scope():
            dense = keras.layers.Dense(1, kernel_initializer="ones")
            model = keras.Sequential([keras.Input((3,), batch_size=8), dense])
            optimizer = make()
            model.compile(optimizer, "mse", steps_per_execution=8 // replicas)
            if batches > 1:
                model.set_gradient_accumulation_options(gradient_accumulation_steps_per_replica=batches)
            model.fit(X, Y, batch_size=8, epochs=2, verbose=0, shuffle=False)
            return model.get_weights()[0], optimizer
    finally:
        ipu.config.reset_ipu_configuration()


@pytest.mark.parametrize(("replicas", "batches"), [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_weights_are_those_of_plain_gradient_descent(replicas: int, batches: int) -> None:
    expected, _ = _trained(lambda: legacy.SGD(0.02), replicas, batches)
    for make in (
        lambda: optimizers.ALSOptimizer(legacy.SGD(0.02), update_frequency=2),
        lambda: optimizers.ALSOptimizerSGD(0.02, update_frequency=2),
    ):
        found, optimizer = _trained(make, replicas, batches)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        # a change in every third update
        updates = 16 // (replicas * batches)
        assert float(optimizer.loss_scaling_factor) == 2.0 ** (updates // 3)
