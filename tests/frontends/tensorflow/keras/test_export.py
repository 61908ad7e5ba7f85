"""Keras models exported for serving."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf


def test_an_exported_model_gives_what_the_model_predicts(
    on_ipus: Callable[[int], Any], tmp_path: Path
) -> None:
    x = np.linspace(0, 1, 8, dtype=np.float32).reshape(2, 4)
    with on_ipus(1).scope():
        model = tf.keras.Sequential([tf.keras.Input((4,), batch_size=2), tf.keras.layers.Dense(3)])
        model.compile(steps_per_execution=1)
        model.export_for_ipu_serving(str(tmp_path / "model"))
        expected = model.predict(x, batch_size=2, verbose=0)
    served = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    [name] = served.structured_input_signature[1]
    [found] = served(**{name: tf.constant(x)}).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
