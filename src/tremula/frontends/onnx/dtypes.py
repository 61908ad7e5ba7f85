"""Element types of ONNX: their numbers, names and sizes, and what holds them in torch."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from tremula.errors import Error


@dataclass(frozen=True)
class ElementType:
    """One element type: its number in files, its name, its torch dtype, and bits of one element in raw data."""

    number: int
    name: str
    torch: torch.dtype
    bits: int


_ROWS = (
    (1, "FLOAT", torch.float32, 32),
    (2, "UINT8", torch.uint8, 8),
    (3, "INT8", torch.int8, 8),
    (4, "UINT16", torch.uint16, 16),
    (5, "INT16", torch.int16, 16),
    (6, "INT32", torch.int32, 32),
    (7, "INT64", torch.int64, 64),
    (9, "BOOL", torch.bool, 8),
    (10, "FLOAT16", torch.float16, 16),
    (11, "DOUBLE", torch.float64, 64),
    (12, "UINT32", torch.uint32, 32),
    (13, "UINT64", torch.uint64, 64),
    (14, "COMPLEX64", torch.complex64, 64),
    (15, "COMPLEX128", torch.complex128, 128),
    (16, "BFLOAT16", torch.bfloat16, 16),
    (17, "FLOAT8E4M3FN", torch.float8_e4m3fn, 8),
    (18, "FLOAT8E4M3FNUZ", torch.float8_e4m3fnuz, 8),
    (19, "FLOAT8E5M2", torch.float8_e5m2, 8),
    (20, "FLOAT8E5M2FNUZ", torch.float8_e5m2fnuz, 8),
)
_BY_NUMBER = {row[0]: ElementType(*row) for row in _ROWS}
_BY_NAME = {each.name: each for each in _BY_NUMBER.values()}
_BY_TORCH = {each.torch: each for each in _BY_NUMBER.values()}
#: types that the format has and this front end has not
_OTHERS = {
    0: "UNDEFINED",
    8: "STRING",
    21: "UINT4",
    22: "INT4",
    23: "FLOAT4E2M1",
    24: "FLOAT8E8M0",
    25: "UINT2",
    26: "INT2",
}


def element_type(number: int) -> ElementType:
    """The type with this number in files.

    Raises:
        Error: there is none, or it cannot be held here.
    """
    found = _BY_NUMBER.get(number)
    if found is None:
        name = _OTHERS.get(number)
        known = f"elements of type {name} are not supported" if name else f"{number} is not an element type"
        raise Error(f"{known}; supported are {', '.join(_BY_NAME)}.")
    return found


def named_type(name: str) -> ElementType:
    """The type of this name, whatever its case.

    Raises:
        Error: there is none.
    """
    found = _BY_NAME.get(name.upper())
    if found is None:
        raise Error(f"'{name}' is not an element type; they are {', '.join(_BY_NAME)}.")
    return found


def type_of(dtype: torch.dtype) -> ElementType:
    """The ONNX type of a torch dtype.

    Raises:
        Error: ONNX has none.
    """
    found = _BY_TORCH.get(dtype)
    if found is None:
        raise Error(f"ONNX has no element type for {dtype}.")
    return found
