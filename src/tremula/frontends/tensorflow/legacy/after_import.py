"""Calls functions when modules have been imported: at once if they are there, else when a program imports them.

So `tensorflow.python.ipu` changes parts of TensorFlow and Keras that are loaded late without loading them itself.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Callback = Callable[[ModuleType], None]

_waiting: dict[str, list[Callback]] = {}


def after_import(name: str, call: Callback) -> None:
    """Call `call(module)` once the module `name` is there."""
    module = sys.modules.get(name)
    if module is not None:
        call(module)
        return
    if not any(finder is _Watcher for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher)  # type: ignore[arg-type]
    _waiting.setdefault(name, []).append(call)


class _Watcher:
    """Is asked first for every module; knows those that somebody waits for."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in _waiting:
            return None
        calls = _waiting.pop(name)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            _waiting[name] = calls
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            for call in calls:
                call(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
