"""The values around a padded tensor, and the tiles of constants around it."""

from __future__ import annotations

from enum import Enum


class Type(Enum):
    """Whether the outermost elements are repeated, or the elements are mirrored at them."""

    EDGE = 0
    REFLECT = 1


class MappingMethod(Enum):
    """Constants are mapped to no tile, to tile 0, or to the tile of the element next to them."""

    NONE = 0
    ZERO = 1
    EDGE = 2


__all__ = ["MappingMethod", "Type"]
