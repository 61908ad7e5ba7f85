"""Lists of types for tests."""

from __future__ import annotations

from .. import dtypes

_ALL = tuple(dict.fromkeys(each for each in vars(dtypes).values() if isinstance(each, dtypes.dtype)))


def get_all_dtypes() -> list[dtypes.dtype]:
    """All types but booleans."""
    return [each for each in _ALL if each is not dtypes.bool]


def get_all_int_dtypes(include_signed: bool = True, include_unsigned: bool = True) -> list[dtypes.dtype]:
    """The types of integers."""
    return [each for each in _ALL if each.is_int and (include_signed if each.is_signed else include_unsigned)]
