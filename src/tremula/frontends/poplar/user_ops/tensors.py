"""Arrays and their types as the C++ side takes them, through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.types import ALL_TYPES, type_of_array

#: dimensions that the shape of a result may have
MOST_DIMENSIONS = 32
_NUMBERS = {type_.name: number for number, type_ in enumerate(ALL_TYPES)}
#: what the device has no type for is narrowed, as the frameworks do on hardware
_NARROWED = {"int64": "int32", "uint64": "uint32", "float64": "float32"}


class TensorStruct(ctypes.Structure):
    """`TremulaTensor` of graph_runner.hpp."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("shape", ctypes.POINTER(ctypes.c_longlong)),
    )


@dataclass(frozen=True)
class TensorFacts:
    """Type and shape of a tensor."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, array: NDArray[Any]) -> TensorFacts:
        """Those of an array."""
        return cls(array.dtype, array.shape)

    @classmethod
    def of_number(cls, number: int, shape: Sequence[int]) -> TensorFacts:
        """With the number that the C++ side gives a type."""
        return cls(ALL_TYPES[number].host_dtype, tuple(shape))


def for_device(array: NDArray[Any]) -> NDArray[Any]:
    """An array with a type that the device has, in one piece."""
    narrowed = _NARROWED.get(array.dtype.name)
    return np.asarray(array, dtype=narrowed, order="C")


def structs(facts: Sequence[TensorFacts]) -> ctypes.Array[TensorStruct]:
    """Types and shapes as an array of structs.

    Raises:
        TypeError: the device has no such type.
    """
    made = (TensorStruct * max(1, len(facts)))()
    for struct, each in zip(made, facts, strict=False):
        type_ = type_of_array(each.dtype)
        if type_ is None:
            raise TypeError(f"the device has no type for elements of NumPy's type {each.dtype}")
        struct.type, struct.rank = _NUMBERS[type_.name], len(each.shape)
        struct.shape = (ctypes.c_longlong * max(1, len(each.shape)))(*each.shape)
    return made


def pointers(arrays: Sequence[NDArray[Any]]) -> ctypes.Array[ctypes.c_void_p]:
    """Where arrays lie in memory."""
    return (ctypes.c_void_p * max(1, len(arrays)))(*[array.ctypes.data for array in arrays])
