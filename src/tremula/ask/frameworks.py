"""Which framework a factory is written for, without importing any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_KERAS = {"tensorflow", "keras", "tf_keras"}
_TORCH = {"torch"}


def names_only_keras(function: Callable[[], Any]) -> bool:
    """Whether a function, or the module that it is in, names TensorFlow or Keras, and not torch."""
    code = getattr(function, "__code__", None)
    names = set(() if code is None else code.co_names)
    for value in getattr(function, "__globals__", {}).values():
        # modules have a name, classes and functions the module that they are from
        name = getattr(value, "__name__" if type(value).__name__ == "module" else "__module__", None)
        if isinstance(name, str):
            names.add(name)
    packages = {name.partition(".")[0] for name in names}
    return bool(packages & _KERAS) and not packages & _TORCH


def is_keras(returned: Any) -> bool:
    """Whether what a factory returned is a Keras model, alone or before other things."""
    model = returned[0] if isinstance(returned, tuple | list) and returned else returned
    return any(
        base.__name__ == "Model" and base.__module__.partition(".")[0] in _KERAS
        for base in type(model).__mro__
    )
