"""The Keras 2 that `tf.keras` is: `keras` with TensorFlow 2.15, `tf_keras` with newer ones. Modules of this front end
take Keras from here.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from tremula.frontends.tensorflow import versions

#: "keras" or "tf_keras"
NAME = "keras" if versions.check().tier == 1 else "tf_keras"

keras: Any = importlib.import_module(NAME)


def internal(name: str) -> Any:
    """A module of Keras' implementation: `internal("engine.training")` is `keras.src.engine.training`."""
    module: ModuleType = importlib.import_module(f"{NAME}.src.{name}")
    return module
