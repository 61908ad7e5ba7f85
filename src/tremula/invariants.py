"""What this code knows and the types do not show. Unlike an `assert`, these checks also run under `python -O`.

For defects of Tremula only: what a user can get wrong is checked where it comes in, with a message for the user.
"""

from __future__ import annotations

from typing import TypeVar

_Value = TypeVar("_Value")

_REPORT = "This is a defect of Tremula: please report it."


def present(value: _Value | None, what: str) -> _Value:
    """`value`, which is not None here; `what` names it in the error."""
    if value is None:
        raise AssertionError(f"{what} is missing. {_REPORT}")
    return value


def instance(value: object, kind: type[_Value]) -> _Value:
    """`value`, which is a `kind` here."""
    if not isinstance(value, kind):
        raise AssertionError(f"expected {kind.__name__}, got {type(value).__name__}. {_REPORT}")
    return value
