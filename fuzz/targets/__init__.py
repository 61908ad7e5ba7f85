"""All targets by name; a target's own imports wait until it is made."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from fuzz.target import Target

#: target -> the module that holds it
_MODULES = {
    "operators": "operators",
    "exports": "exports",
    "profiles": "profiles",
    "programs": "answers",
    "answers": "answers",
    "cache": "cache_entries",
    "cosmictagger": "science",
    "cosmoflow": "science",
    "configurations": "configurations",
    "logs": "logs",
}


def _maker(name: str) -> Callable[[], Target]:
    def made() -> Target:
        target: Target = getattr(importlib.import_module(f"fuzz.targets.{_MODULES[name]}"), name.upper())
        return target

    return made


TARGETS: dict[str, Callable[[], Target]] = {name: _maker(name) for name in _MODULES}
