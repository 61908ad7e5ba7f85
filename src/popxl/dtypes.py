"""Element types of tensors."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import torch

import popart._internal.ir as _ir
from tremula.frontends.popxl.elements import FLOAT8_143_ARRAY, FLOAT8_152_ARRAY

np_dtype_float8_143 = FLOAT8_143_ARRAY
np_dtype_float8_152 = FLOAT8_152_ARRAY

_NP_TO_POPXL: dict[Any, dtype] = {}
_STR_TO_POPXL: dict[str, dtype] = {}
_PY_TO_POPXL: dict[Any, dtype] = {}
_PB_TO_POPXL: dict[Any, dtype] = {}
_PT_TO_POPXL: dict[Any, dtype] = {}


class dtype:
    """An element type. This module contains all of them."""

    _name: str
    _kind: str
    _np_type: np.dtype[Any]
    _pt_type: Any
    _pb_dtype: Any

    def __init__(self) -> None:
        raise TypeError(
            "popxl.dtype cannot be called: use popxl.float32 and the others, or dtype.as_dtype(...)."
        )

    @classmethod
    def _make(
        cls, name: str, kind: str, array: Any, tensor: Any = None, python: Any = None, pb: str = ""
    ) -> dtype:
        self = super().__new__(cls)
        self._name, self._kind = name, kind
        self._np_type = np.dtype(array)
        self._pt_type = tensor
        self._pb_dtype = getattr(_ir.DataType, pb)
        _STR_TO_POPXL[name] = _NP_TO_POPXL[self._np_type] = _PB_TO_POPXL[self._pb_dtype] = self
        if tensor is not None:
            _PT_TO_POPXL[tensor] = self
        if python is not None:
            _PY_TO_POPXL[python] = self
        return self

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def is_complex(self) -> builtins.bool:
        """Whether the type is complex."""
        return self._kind == "complex"

    @property
    def is_int(self) -> builtins.bool:
        """Whether it is an integer."""
        return self._kind in ("int", "uint")

    @property
    def is_floating_point(self) -> builtins.bool:
        """Whether it is a floating-point number."""
        return self._kind == "float"

    @property
    def is_signed(self) -> builtins.bool:
        """Whether it may be negative."""
        return self._kind in ("int", "float", "complex")

    @classmethod
    def from_name(cls, name: str) -> dtype:
        """The type of that name."""
        found = _STR_TO_POPXL.get(name) if isinstance(name, str) else None
        if found is None:
            raise ValueError(f"There is no popxl type {name!r}; the types are {', '.join(_STR_TO_POPXL)}.")
        return found

    @classmethod
    def as_dtype(cls, type_value: Any) -> dtype:
        """The type for a name, for a type of Python, NumPy or torch, or for an object with a dtype."""
        for candidate in (type_value, getattr(type_value, "dtype", None)):
            found = _lookup(candidate)
            if found is not None:
                return found
        raise ValueError(f"There is no popxl type for {type_value!r} ({type(type_value).__name__}).")

    def as_numpy(self) -> np.dtype:
        """The type in NumPy."""
        return self._np_type

    def as_torch(self) -> torch.dtype:
        """The type in torch."""
        if self._pt_type is None:
            raise TypeError(f"torch has no type for popxl.{self._name}.")
        return self._pt_type

    def __repr__(self) -> str:
        return f"{self.__module__}.{self._name}"


def _lookup(value: Any) -> dtype | None:
    if value is None:
        return None
    for table in (_STR_TO_POPXL, _PY_TO_POPXL, _PB_TO_POPXL, _NP_TO_POPXL, _PT_TO_POPXL):
        try:
            if value in table:
                return table[value]
        except TypeError:
            continue
    if isinstance(value, np.ndarray | np.generic | torch.Tensor):
        return None
    try:
        return _NP_TO_POPXL.get(np.dtype(value))
    except TypeError:
        return None


bool = dtype._make("bool", "bool", "bool_", torch.bool, builtins.bool, "BOOL")
int8 = dtype._make("int8", "int", "int8", torch.int8, pb="INT8")
int16 = dtype._make("int16", "int", "int16", torch.int16, pb="INT16")
int32 = dtype._make("int32", "int", "int32", torch.int32, pb="INT32")
int64 = dtype._make("int64", "int", "int64", torch.int64, pb="INT64")
uint8 = dtype._make("uint8", "uint", "uint8", torch.uint8, pb="UINT8")
uint16 = dtype._make("uint16", "uint", "uint16", pb="UINT16")
uint32 = dtype._make("uint32", "uint", "uint32", pb="UINT32")
uint64 = dtype._make("uint64", "uint", "uint64", pb="UINT64")
float8_143 = dtype._make("float8_143", "float", np_dtype_float8_143, pb="FLOAT8_143")
float8_152 = dtype._make("float8_152", "float", np_dtype_float8_152, pb="FLOAT8_152")
float16 = dtype._make("float16", "float", "float16", torch.float16, pb="FLOAT16")
float32 = dtype._make("float32", "float", "float32", torch.float32, builtins.float, "FLOAT")
float64 = dtype._make("float64", "float", "float64", torch.float64, pb="DOUBLE")
complex64 = dtype._make("complex64", "complex", "complex64", torch.complex64, pb="COMPLEX64")
complex128 = dtype._make("complex128", "complex", "complex128", torch.complex128, pb="COMPLEX128")
half = float16
float = float32
double = float64
