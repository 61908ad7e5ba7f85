"""All targets by name; a target's own imports wait until it is made."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from fuzz.target import Events, Target

#: target -> the module that holds it
_MODULES = {
    "operators": "operators",
    "exports": "exports",
    "profiles": "profiles",
    "traces": "traces",
    "programs": "answers",
    "answers": "answers",
    "cache": "cache_entries",
    "cosmictagger": "science",
    "cosmoflow": "science",
    "weights": "weights",
    "configurations": "configurations",
    "logs": "logs",
    "executables": "executables",
    "session_executables": "session_files",
    "onnx": "onnx_models",
    "poplar": "poplar_executables",
    "codelets": "codelet_archives",
    "kills": "kills",
    "poplar_kills": "poplar_kills",
    "interrupts": "interrupts",
}
#: targets that need more than the environment of the tests
_ON_REQUEST = {"tensorflow_kills": "tensorflow_kills"}


def _maker(name: str) -> Callable[[], Target | Events]:
    def made() -> Target | Events:
        target: Target | Events = getattr(
            importlib.import_module(f"fuzz.targets.{(_MODULES | _ON_REQUEST)[name]}"), name.upper()
        )
        return target

    return made


TARGETS: dict[str, Callable[[], Target | Events]] = {name: _maker(name) for name in _MODULES}
#: with those that run on request only
ALL_TARGETS = TARGETS | {name: _maker(name) for name in _ON_REQUEST}


def find(name: str) -> Target | Events:
    """A target by its name, or one from elsewhere by `module:NAME`."""
    module, colon, attribute = name.partition(":")
    if not colon:
        return ALL_TARGETS[name]()
    target: Target | Events = getattr(importlib.import_module(module), attribute)
    return target
