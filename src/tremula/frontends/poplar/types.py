"""Element types of Poplar, with the NumPy types that hold them on the host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Type:
    """An element type: its name, its size on the device, and how the host holds it."""

    name: str
    size: int
    numpy_name: str
    c_name: str
    label: str

    def __str__(self) -> str:
        return self.label

    def __repr__(self) -> str:
        return self.name

    def toString(self) -> str:  # noqa: N802  the public name
        """Return the name that the C++ library prints, such as `float`."""
        return self.label

    def storage(self, accurate_half: bool) -> np.dtype[np.generic]:
        """Return the host's type. Half is computed in single precision unless rounding is asked for."""
        if self.name == "HALF" and not accurate_half:
            return np.dtype(np.float32)
        return np.dtype(self.numpy_name)

    @property
    def host_dtype(self) -> np.dtype[np.generic]:
        """The type of an array on the host that is written to or read from a tensor."""
        return np.dtype(self.numpy_name)

    @property
    def is_integral(self) -> bool:
        return np.dtype(self.numpy_name).kind in "iu"

    @property
    def is_floating(self) -> bool:
        return np.dtype(self.numpy_name).kind == "f"


BOOL = Type("BOOL", 1, "bool", "bool", "bool")
CHAR = Type("CHAR", 1, "int8", "char", "char")
SIGNED_CHAR = Type("SIGNED_CHAR", 1, "int8", "signed char", "signed char")
UNSIGNED_CHAR = Type("UNSIGNED_CHAR", 1, "uint8", "unsigned char", "unsigned char")
SHORT = Type("SHORT", 2, "int16", "short", "short")
UNSIGNED_SHORT = Type("UNSIGNED_SHORT", 2, "uint16", "unsigned short", "unsigned short")
INT = Type("INT", 4, "int32", "int", "int")
UNSIGNED_INT = Type("UNSIGNED_INT", 4, "uint32", "unsigned int", "unsigned int")
LONG = Type("LONG", 4, "int32", "long", "long")
UNSIGNED_LONG = Type("UNSIGNED_LONG", 4, "uint32", "unsigned long", "unsigned long")
LONGLONG = Type("LONGLONG", 8, "int64", "long long", "long long")
UNSIGNED_LONGLONG = Type("UNSIGNED_LONGLONG", 8, "uint64", "unsigned long long", "unsigned long long")
HALF = Type("HALF", 2, "float16", "half", "half")
FLOAT = Type("FLOAT", 4, "float32", "float", "float")

ALL_TYPES = (
    BOOL,
    CHAR,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    SHORT,
    UNSIGNED_SHORT,
    INT,
    UNSIGNED_INT,
    LONG,
    UNSIGNED_LONG,
    LONGLONG,
    UNSIGNED_LONGLONG,
    HALF,
    FLOAT,
)
BY_NAME = {type_.name: type_ for type_ in ALL_TYPES}
BY_LABEL = {type_.label: type_ for type_ in ALL_TYPES}
_OF_ARRAYS = {
    np.dtype(type_.numpy_name): type_
    for type_ in (
        BOOL,
        SIGNED_CHAR,
        UNSIGNED_CHAR,
        SHORT,
        UNSIGNED_SHORT,
        INT,
        UNSIGNED_INT,
        LONGLONG,
        UNSIGNED_LONGLONG,
        HALF,
        FLOAT,
    )
}


def type_of_array(dtype: np.dtype[np.generic]) -> Type | None:
    """Return the type whose elements a NumPy type holds, or None where the device has no such type."""
    return _OF_ARRAYS.get(np.dtype(dtype))
