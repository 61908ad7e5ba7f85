"""What surrounds a padded tensor, and where constants around it lie."""

from __future__ import annotations

from enum import Enum


class Type(Enum):
    """The outermost elements again, or the elements mirrored at them."""

    EDGE = 0
    REFLECT = 1


class MappingMethod(Enum):
    """Constants lie on no tile, on tile 0, or on that of the element beside them."""

    NONE = 0
    ZERO = 1
    EDGE = 2


__all__ = ["MappingMethod", "Type"]
