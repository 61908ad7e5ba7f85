"""Which functions, classes, enumerations and methods a C++ program may name."""

from __future__ import annotations

import importlib
from enum import Enum
from types import ModuleType
from typing import Any

from tremula.frontends.poplar.errors import PoplarError

#: the Python packages that stand for libraries of the SDK
PACKAGES = (
    "poplar",
    "poputil",
    "popops",
    "poplin",
    "popnn",
    "poprand",
    "popsparse",
    "popfloat",
    "gcl",
    "pva",
)
_ROOTS = (*PACKAGES, "tremula")


def package(name: str) -> ModuleType:
    """One of the packages, or a module in one of them."""
    root = name.split(".")[0]
    if root not in PACKAGES or any(not part.isidentifier() for part in name.split(".")):
        raise PoplarError(f"{name!r} is not a library that C++ programs can call here")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name is not None and name.startswith(problem.name):
            raise PoplarError(f"the library {name!r} is not offered here") from None
        raise


def shim() -> Any:
    """The Python package `poplar`, whose classes stand for those of C++."""
    return package("poplar")


def function(module: str, name: str) -> Any:
    """A public function or class of a package."""
    parts = name.split(".")
    found: Any = package(module)
    for part in parts:
        if part.startswith("_") or not hasattr(found, part):
            raise PoplarError(f"{module}::{name.replace('.', '::')} is not offered here")
        found = getattr(found, part)
    if not callable(found) or not _ours(found):
        raise PoplarError(
            f"{module}::{name.replace('.', '::')} is not a function that C++ programs can call here"
        )
    return found


def member(module: str, name: str, member: str) -> Any:
    """A member of a public enumeration."""
    found = function(module, name)
    if not (isinstance(found, type) and issubclass(found, Enum)) or member not in found.__members__:
        raise PoplarError(f"{module}::{name} has no member {member}")
    return found[member]


def attribute(owner: Any, name: str) -> Any:
    """A public attribute of an object of one of the packages."""
    if name.startswith("_") or not _ours(type(owner)):
        raise PoplarError(f"{type(owner).__name__}::{name} cannot be asked for by C++ programs")
    try:
        return getattr(owner, name)
    except AttributeError as problem:
        raise PoplarError(str(problem) or f"{type(owner).__name__} has no {name}") from None


def method(owner: Any, name: str) -> Any:
    """A public method of an object of one of the packages."""
    found = attribute(owner, name)
    if not callable(found):
        raise PoplarError(f"{type(owner).__name__}::{name} is not a function")
    return found


def _ours(what: Any) -> bool:
    return str(getattr(what, "__module__", "")).split(".")[0] in _ROOTS
