"""What tests of advised lines share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def clean_process() -> Iterator[None]:
    """IPUs are free and the precision is single again after each test."""
    import tensorflow as tf
    from tensorflow.python import ipu

    yield
    ipu.config.reset_ipu_configuration()
    tf.keras.mixed_precision.set_global_policy("float32")
