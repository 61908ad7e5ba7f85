"""Gives the module `tensorflow` the interface of TensorFlow 1.15, just after it was imported."""

from __future__ import annotations

import importlib
import os
from types import ModuleType
from typing import Any

from tremula.frontends import numpy_names
from tremula.frontends.tensorflow import versions
from tremula.frontends.tensorflow.legacy.after_import import after_import
from tremula.frontends.tensorflow.tensorflow1 import SWITCH, VERSION

#: folders with modules such as `tensorflow.keras`, of the interface of TensorFlow 2 -> of that of TensorFlow 1
_FOLDERS = {
    os.path.join("keras", "api", "_v2"): os.path.join("keras", "api", "_v1"),
    os.path.join("estimator", "api", "_v2"): os.path.join("estimator", "api", "_v1"),
}


def follow_switch() -> None:
    """Let `import tensorflow` give the interface of TensorFlow 1. To be called before it is imported."""
    after_import("tensorflow", use_version_1)


def use_version_1(tensorflow: ModuleType) -> None:
    """Turn off the behaviour of TensorFlow 2 and give the module the names of TensorFlow 1.

    Raises:
        UnsupportedTensorFlow: this TensorFlow is not the one that it is tested with.
    """
    found = versions.installed()
    if found.tier != 1:
        raise versions.UnsupportedTensorFlow(
            f"{SWITCH}=1: programs for TensorFlow 1 run on TensorFlow 2.15.1 (Python 3.11), and this is "
            f"{found.tensorflow}."
        )
    v1: Any = tensorflow.compat.v1
    level = v1.logging.get_verbosity()
    v1.logging.set_verbosity(
        v1.logging.ERROR
    )  # that resource variables are turned off is what TensorFlow 1 does
    try:
        v1.disable_v2_behavior()
    finally:
        v1.logging.set_verbosity(level)
    for name in dir(v1):
        if not name.startswith("_"):
            setattr(tensorflow, name, getattr(v1, name))
    tensorflow.__path__ = [_version_1_folder(folder) for folder in tensorflow.__path__]
    tensorflow.__version__ = VERSION  # type: ignore[attr-defined]
    tensorflow.VERSION = VERSION  # type: ignore[attr-defined]
    tensorflow.__getattr__ = _look_up  # type: ignore[method-assign]
    numpy_names.restore()


def _look_up(name: str) -> Any:
    if name == "contrib":
        return importlib.import_module("tensorflow.contrib")
    raise AttributeError(f"module 'tensorflow' has no attribute {name!r}")


def _version_1_folder(folder: str) -> str:
    for newer, older in _FOLDERS.items():
        if folder.endswith(newer):
            return folder.removesuffix(newer) + older
    return folder
