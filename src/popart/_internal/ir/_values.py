"""Plain values that the bindings pass around."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from popart import DataType
from tremula.frontends.popxl.info import TensorInfo as CoreInfo

from ._enums import ExpectedConnectionType

_NAMES = {
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "BOOL": "bool",
    "FLOAT16": "float16",
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "FLOAT8_143": "float8_143",
    "FLOAT8_152": "float8_152",
    "COMPLEX64": "complex64",
    "COMPLEX128": "complex128",
}
_TYPES = {name: getattr(DataType, key) for key, name in _NAMES.items()}


def element_name(data_type: DataType) -> str:
    """The name of an element type in PopXL."""
    return _NAMES[data_type.name]


def data_type(name: str) -> DataType:
    """The member of `DataType` for an element type of PopXL."""
    return _TYPES[name]


class TensorInfo:
    """Element type, shape, and the shape of the whole where it is a shard."""

    def __init__(self, dtype: DataType | str, shape: Sequence[int], meta_shape: Sequence[int] = ()) -> None:
        self._type = getattr(DataType, dtype) if isinstance(dtype, str) else dtype
        self._shape, self._meta_shape = tuple(shape), tuple(meta_shape)

    def shape(self) -> list[int]:
        """The shape."""
        return list(self._shape)

    def metaShape(self) -> list[int]:
        """The shape of the whole tensor."""
        return list(self._meta_shape)

    def rank(self) -> int:
        """Number of dimensions."""
        return len(self._shape)

    def nelms(self) -> int:
        """Number of elements."""
        return math.prod(self._shape)

    def dataType(self) -> DataType:
        """The element type."""
        return self._type

    def data_type(self) -> str:
        """Its name."""
        return self._type.name

    def data_type_lcase(self) -> str:
        """Its name in NumPy."""
        return element_name(self._type)

    def core(self) -> CoreInfo:
        """As the engine has it."""
        return CoreInfo(element_name(self._type), self._shape, self._meta_shape)

    @classmethod
    def of(cls, info: CoreInfo) -> TensorInfo:
        """From what the engine has."""
        return cls(data_type(info.dtype), info.shape, info.meta_shape)

    def strides(self, shape: Sequence[int] | None = None) -> list[int]:
        """Bytes between neighbours along each dimension."""
        size = np.dtype(element_name(self._type)).itemsize if "float8" not in element_name(self._type) else 1
        steps, total = [], size
        for extent in reversed(self._shape if shape is None else tuple(shape)):
            steps.append(total)
            total *= extent
        return steps[::-1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorInfo) and self.core() == other.core()

    def __hash__(self) -> int:
        return hash(self.core())


@dataclass(frozen=True)
class ExpectedConnection:
    """What one input or output of a backward graph is, by the identifier of a forward tensor."""

    fwdId: str
    type: ExpectedConnectionType


@dataclass
class BwdGraphInfo:
    """A backward graph, with what its inputs and outputs are."""

    bwdGraphId: Any
    expectedInputs: list[ExpectedConnection]
    expectedOutputs: list[ExpectedConnection]


@dataclass(frozen=True)
class ReplicaGrouping:
    """Groups of replicas with a constant stride."""

    numReplicas: int
    stride: int = 1
    groupSize: int = 1
    assignment: tuple[int, ...] = ()


class _Optional:
    """A value or nothing."""

    def __init__(self, value: Any = None) -> None:
        self._value = value

    def value(self) -> Any:
        """The value, or None."""
        return self._value


class OptionalFloat(_Optional):
    """A number or nothing."""


class OptionalInt(_Optional):
    """An integer or nothing."""


class OptionalDataType(_Optional):
    """An element type or nothing."""


class OptionalInt64Vector(_Optional):
    """Integers or nothing."""


class OptionalVGraphId(_Optional):
    """An IPU or nothing."""


class OptionalTensors(_Optional):
    """Identifiers of tensors or nothing."""


@dataclass(frozen=True)
class NumInputs:
    """How many inputs an op may have."""

    min: int = 0
    max: int = -1


@dataclass(frozen=True)
class OperatorIdentifier:
    """Domain, type and version of an operator."""

    domain: str
    type: str
    version: int
    numInputs: Any = field(default_factory=NumInputs)
    numOutputs: int = 0


@dataclass(frozen=True)
class PrintTensorFmt:
    """How a tensor is printed."""

    summariseThreshold: int = 1000
    edgeItems: int = 3
    maxLineWidth: int = 75
    digits: int = 8
    floatFormat: Any = None
    separator: str = " "
    openBracket: str = "["
    closeBracket: str = "]"
