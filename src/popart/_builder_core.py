"""Conversions between what a program gives a builder and what the engine takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tremula.frontends.onnx.build.arguments import WrongArguments


class DebugContext:
    """The name and the origin of something that is added to a graph."""

    def __init__(self, *args: Any, name: str = "", debugInfo: Any = None) -> None:
        given = list(args)
        if given and not isinstance(given[0], str):
            debugInfo = given.pop(0)
        if given:
            name = given.pop(0)
        if given or not isinstance(name, str):
            raise TypeError("__init__(): incompatible constructor arguments of DebugContext.")
        prefix = getattr(debugInfo, "name", "") if debugInfo is not None else ""
        self.name = "/".join(part for part in (prefix, name) if part)

    def getPathName(self) -> str:
        """The whole name."""
        return self.name


class DebugInfo:
    """The origin of something that is added to a graph."""

    def __init__(self, debugContext: DebugContext | str = "", layer: str = "") -> None:
        self.layer = layer
        self.name = name_of("DebugInfo", debugContext)
        self._values: dict[str, Any] = {}

    def setValue(self, name: str, value: Any) -> bool:
        """Note a value."""
        self._values[name] = value
        return True


def name_of(method: str, context: Any) -> str:
    """The name in a debug context."""
    if isinstance(context, str):
        return context
    if isinstance(context, DebugContext | DebugInfo):
        return context.name
    raise WrongArguments(
        method, f"debugContext must be a text or a DebugContext, not {type(context).__name__}."
    )


def outputs_of(method: str, names: Any) -> list[str]:
    """Names of outputs that were given as one, a list or a set."""
    if isinstance(names, str):
        return [names]
    if isinstance(names, Iterable):
        found = list(names)
        if all(isinstance(each, str) for each in found):
            return found
    raise WrongArguments(method, "the outputs of a node must be a str, or a list or set of str.")


__all__ = ["DebugContext", "DebugInfo"]
