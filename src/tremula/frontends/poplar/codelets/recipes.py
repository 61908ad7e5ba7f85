"""Codelets of libraries by name, so that executables can be saved: what makes one, and its plain arguments.

The name of a maker begins with that of its library, as those of library functions do: `popops.Reduce`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from typing import Any

from tremula.frontends.poplar.codelets.codelet import Codelet, Recipe

#: makes a codelet from numbers, strings, booleans and None; raises ValueError or KeyError for others
Maker = Callable[[Sequence[Any]], Codelet]

_MAKERS: dict[str, Maker] = {}
_LIBRARIES = "tremula.frontends.poplar.libs"


def maker(name: str) -> Callable[[Maker], Maker]:
    """Register what makes the codelets of a library."""

    def register(made: Maker) -> Maker:
        _MAKERS[name] = made
        return made

    return register


def made_from(name: str, arguments: Sequence[Any]) -> Codelet | None:
    """A codelet of a library, or None where the library has no such maker."""
    if name not in _MAKERS:
        import_library(name)
    found = _MAKERS.get(name)
    return None if found is None else found(arguments)


def import_library(name: str) -> bool:
    """Import the library that a name belongs to, if it is one of ours; whether it is."""
    library = name.partition(".")[0]
    package = importlib.import_module(_LIBRARIES)
    if library not in {each.name for each in pkgutil.iter_modules(package.__path__) if each.ispkg}:
        return False
    inner = importlib.import_module(f"{_LIBRARIES}.{library}")
    for each in pkgutil.walk_packages(inner.__path__, f"{inner.__name__}."):
        importlib.import_module(each.name)
    return True


__all__ = ["Maker", "Recipe", "import_library", "made_from", "maker"]
