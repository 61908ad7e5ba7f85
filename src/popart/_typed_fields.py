"""Objects with the fields of a table: unknown names and wrong types are refused, as by a compiled module."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from tremula.settings.session_options import SessionOption

from . import _enums


def _bool(value: Any) -> bool:
    # NumPy's truth values are taken too
    if not isinstance(value, bool) and getattr(getattr(value, "dtype", None), "kind", "") != "b":
        raise TypeError
    return bool(value)


def _int(value: Any) -> int:
    if isinstance(value, float | str):
        raise TypeError
    return operator.index(value)


def _float(value: Any) -> float:
    if isinstance(value, str):
        raise TypeError
    return float(value)


def _str(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _list_of(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        if isinstance(value, str | bytes | Mapping):
            raise TypeError
        items = [check(item) for item in value]
        return set(items) if isinstance(value, set | frozenset) else items

    return checked


def _dict(value: Any) -> dict[Any, Any]:
    if not isinstance(value, Mapping):
        raise TypeError
    return dict(value)


def _instrumentations(value: Any) -> set[_enums.Instrumentation]:
    found = set(value)
    if not all(isinstance(item, _enums.Instrumentation) for item in found):
        raise TypeError
    return found


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "bool": _bool,
    "int": _int,
    "float": _float,
    "str": _str,
    "strs": _list_of(_str),
    "strs?": lambda value: None if value is None else _list_of(_str)(value),
    "ints": _list_of(_int),
    "floats": _list_of(_float),
    "dict": _dict,
    "instrumentations": _instrumentations,
}


class TypedFields:
    """Has the fields of `_rows` and no others."""

    _rows: ClassVar[tuple[SessionOption, ...]] = ()
    #: classes of fields that are settings themselves
    _classes: ClassVar[dict[str, type]] = {}

    def __init__(self, *values: Any, **named: Any) -> None:
        if len(values) > len(self._rows):
            raise TypeError(f"__init__(): incompatible constructor arguments: {len(values)} values.")
        for row in self._rows:
            object.__setattr__(self, row.name, self._default(row))
        for row, value in zip(self._rows, values, strict=False):
            setattr(self, row.name, value)
        for name, value in named.items():
            setattr(self, name, value)

    def _default(self, row: SessionOption) -> Any:
        if row.kind in self._classes:
            return self._classes[row.kind]()
        if row.kind == "instrumentations":
            return {_enums.Instrumentation[name] for name in row.default}
        if row.kind == "dict":
            return {}
        if row.kind in _CHECKS:
            return list(row.default) if isinstance(row.default, tuple) else row.default
        return getattr(_enums, row.kind)[row.default]

    def __setattr__(self, name: str, value: Any) -> None:
        for row in self._rows:
            if row.name == name:
                object.__setattr__(self, name, self._checked(row, value))
                return
        # properties of subclasses
        if hasattr(type(self), name):
            object.__setattr__(self, name, value)
            return
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def _checked(self, row: SessionOption, value: Any) -> Any:
        check = _CHECKS.get(row.kind)
        try:
            if check is not None:
                return check(value)
            if isinstance(value, self._classes.get(row.kind) or getattr(_enums, row.kind)):
                return value
        except (TypeError, ValueError):
            pass
        raise TypeError(
            f"(): incompatible function arguments: {type(self).__name__}.{row.name} takes {row.kind}, "
            f"not {type(value).__name__}."
        )

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{row.name}={getattr(self, row.name)!r}" for row in self._rows)
        return f"{type(self).__name__}({fields})"
