"""`TensorInfo`: type and shape of a tensor."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._enums import DataType
from ._exceptions import popart_exception

#: name -> NumPy's name, bytes of one element
_TYPES: dict[str, tuple[str, int]] = {
    "UINT8": ("uint8", 1),
    "INT8": ("int8", 1),
    "UINT16": ("uint16", 2),
    "INT16": ("int16", 2),
    "INT32": ("int32", 4),
    "INT64": ("int64", 8),
    "UINT32": ("uint32", 4),
    "UINT64": ("uint64", 8),
    "BOOL": ("bool", 1),
    "FLOAT": ("float32", 4),
    "FLOAT16": ("float16", 2),
    "BFLOAT16": ("bfloat16", 2),
    "DOUBLE": ("float64", 8),
    "COMPLEX64": ("complex64", 8),
    "COMPLEX128": ("complex128", 16),
    "STRING": ("string", 0),
    "UNDEFINED": ("undefined", 0),
    "FLOAT8_143": ("float8_143", 1),
    "FLOAT8_152": ("float8_152", 1),
}
_BY_NUMPY = {names[0]: name for name, names in _TYPES.items()}


class TensorInfo:
    """Type and shape: of an array, or said one by one (the type by PopART's name or NumPy's)."""

    def __init__(self, *args: Any) -> None:
        self.set(*args)

    def set(self, *args: Any) -> None:
        """Be this type and shape from now on."""
        if len(args) == 1 and isinstance(args[0], np.ndarray):
            dtype, shape = args[0].dtype, args[0].shape
        elif len(args) == 2:
            dtype, shape = args
        else:
            raise TypeError(
                f"Can not create TensorInfo with args {args}: give an array, or a type and a shape."
            )
        self._name = _type_name(dtype)
        self._shape = [operator.index(extent) for extent in shape]

    def data_type(self) -> str:
        """The type's name."""
        return self._name

    def data_type_lcase(self) -> str:
        """The type's name in NumPy."""
        return _TYPES[self._name][0]

    def dataType(self) -> DataType:
        """The type."""
        return DataType[self._name]

    def shape(self) -> list[int]:
        """The shape."""
        return list(self._shape)

    def metaShape(self) -> list[int]:
        """The shape before it was cut over replicas: none is."""
        return []

    def rank(self) -> int:
        """The number of dimensions."""
        return len(self._shape)

    def nelms(self) -> int:
        """The number of elements."""
        return math.prod(self._shape)

    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.nelms() * _TYPES[self._name][1]

    def dim(self, i: int) -> int:
        """The extent of one dimension."""
        if not 0 <= i < len(self._shape):
            raise popart_exception(f"there is no dimension {i} in the shape {self._shape}.")
        return self._shape[i]

    def strides(self) -> list[int]:
        """Bytes from one element to the next, by dimension."""
        size = _TYPES[self._name][1]
        counts = itertools.accumulate(reversed(self._shape[1:]), operator.mul, initial=1)
        return [count * size for count in counts][::-1] if self._shape else []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorInfo) and self._name == other._name and self._shape == other._shape

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self._name} [{' '.join(map(str, self._shape))}]"


_TensorInfoCore = TensorInfo


def _type_name(dtype: Any) -> str:
    if isinstance(dtype, str) and dtype in _TYPES:
        return dtype
    if isinstance(dtype, DataType):
        return dtype.name
    if isinstance(dtype, np.dtype | type):
        found = _BY_NUMPY.get(np.dtype(dtype).name)
        if found is not None:
            return found
        raise KeyError(dtype)
    raise popart_exception(f"{dtype!r} is not a tensor type; the types are {', '.join(_TYPES)}.")


def info_of(name: str, shape: Sequence[int]) -> TensorInfo:
    """The info of a type by NumPy's name."""
    return TensorInfo(_BY_NUMPY[name], shape)


def getTensorInfo(array: np.ndarray[Any, Any]) -> TensorInfo:
    """Type and shape of an array."""
    return TensorInfo(np.asarray(array))


__all__ = ["TensorInfo", "_TensorInfoCore", "getTensorInfo"]
