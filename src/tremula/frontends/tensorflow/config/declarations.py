"""Options that a class declares by plain assignments in its `__init__`, read from its source.

class Category(ConfigNode):
    def __init__(self):
        '''What it is for.'''
        self.option: int = 1
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
import types
import typing
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tremula.frontends.tensorflow.config.metadata import AttributeMetadata

_DEPRECATED: dict[type, dict[str, str]] = {}


def deprecate(cls: type, messages: dict[str, str]) -> None:
    """Note that these names of a class go."""
    _DEPRECATED.setdefault(cls, {}).update(messages)


@dataclass(frozen=True)
class Declaration:
    """One assignment: the text before it and its annotation as written; empty where there is none."""

    doc: str
    annotation: str


@functools.cache
def _declarations(cls: type) -> dict[str, Declaration]:
    initializer = cls.__dict__.get("__init__")
    if not isinstance(initializer, types.FunctionType):
        return {}
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(initializer)))
    except OSError:  # there is no source
        return {}
    found, doc = {}, ""
    for statement in tree.body[0].body:  # type: ignore[attr-defined]
        target: Any = None
        annotation = ""
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
        elif isinstance(statement, ast.AnnAssign):
            target, annotation = statement.target, ast.unparse(statement.annotation)
        if isinstance(target, ast.Attribute):
            found[target.attr] = Declaration(doc, annotation)
        text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        doc = str(statement.value.value) if text else ""
    return found


def _hint(cls: type, annotation: str) -> Any:
    scope = getattr(cls.__init__, "__globals__", {})  # type: ignore[misc]
    holder = types.SimpleNamespace(__annotations__={"value": annotation})
    hint = typing.get_type_hints(holder, globalns=scope)["value"]
    kinds = typing.get_args(hint)
    if (
        typing.get_origin(hint) is typing.Union
        and int in kinds
        and any(isinstance(kind, type) and issubclass(kind, Enum) for kind in kinds)
    ):
        raise ValueError(
            f"{annotation}: cannot have a Union of int and Enum, since both are numbers once they are written to a file"
        )
    return hint


def declared(cls: type, name: str, value: Any, category: bool) -> AttributeMetadata | None:
    """What the `__init__` of `cls` says of `name`, whose default is `value`; None if it does not assign it."""
    declaration = _declarations(cls).get(name)
    if declaration is None:
        return None
    deprecated = _DEPRECATED.get(cls, {}).get(name)
    if category:
        return AttributeMetadata(name, declaration.doc, deprecated_msg=deprecated)
    hint = _hint(cls, declaration.annotation) if declaration.annotation else type(value)
    return AttributeMetadata(
        name,
        declaration.doc,
        default=value,
        deprecated_msg=deprecated,
        hint=hint,
        shown_type=declaration.annotation or None,
    )
