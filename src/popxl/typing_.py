"""Annotations that mean something to `Ir.create_graph`."""

from __future__ import annotations

from typing import Any


def NewAliasAnnotation(name: str, tp: Any) -> Any:
    """An annotation that says more than its type `tp`."""

    def alias() -> None:
        raise NotImplementedError(f"{name} is an annotation of arguments and cannot be called.")

    alias.__name__ = name
    return alias
