"""Names in the style of Python beside those of C++: `add_variable` for `addVariable`."""

from __future__ import annotations

import re
from typing import TypeVar

AnyClass = TypeVar("AnyClass", bound=type)

_INNER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake_case(name: str) -> str:
    """A C++ name as Python programs would write it."""
    return _INNER.sub("_", name).lower()


def with_snake_case(made: AnyClass) -> AnyClass:
    """Give a class each of its public methods under its Python name too, unless it has that name already."""
    for name, value in list(vars(made).items()):
        alias = snake_case(name)
        if not name.startswith("_") and alias != name and callable(value) and not hasattr(made, alias):
            setattr(made, alias, value)
    return made
