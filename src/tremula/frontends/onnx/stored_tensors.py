"""Tensors as a model file stores them: checked when the model is read, made when they are asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tremula.errors import Error
from tremula.frontends.onnx.dtypes import ElementType, element_type
from tremula.frontends.onnx.external_data import Place, find

#: no dimension and no number of elements is larger
_MOST_ELEMENTS = 2**48
_MOST_DIMENSIONS = 64
_EXTERNAL = 1
#: fields of the format that hold values of a type, when they are not raw bytes, with the type that they are stored in
_FIELDS: dict[str, tuple[str, type[Any]]] = {
    **dict.fromkeys(("FLOAT", "COMPLEX64"), ("float_data", np.float32)),
    **dict.fromkeys(("DOUBLE", "COMPLEX128"), ("double_data", np.float64)),
    **dict.fromkeys(("UINT32", "UINT64"), ("uint64_data", np.uint64)),
    "INT64": ("int64_data", np.int64),
}


@dataclass(frozen=True, eq=False)
class StoredTensor:
    """A tensor of a file: its type and shape are known, its values are read by `tensor`."""

    name: str
    type: ElementType
    shape: tuple[int, ...]
    #: the message that holds the values, or where they are, or the values themselves
    source: Any

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes of its data in the file."""
        return _bytes(self.type, self.elements)

    @property
    def external(self) -> bool:
        """Whether its data is in another file."""
        return isinstance(self.source, Place)

    def tensor(self) -> torch.Tensor:
        """Its values, in memory of their own.

        Raises:
            Error: the file that has them is not what it was.
        """
        if isinstance(self.source, torch.Tensor):
            return self.source.clone()
        if isinstance(self.source, Place):
            data = self.source.read()
        elif self.source.raw_data:
            data = bytearray(self.source.raw_data)
        else:
            data = _typed_bytes(self.source, self.type)
        if not self.elements:
            return torch.empty(self.shape, dtype=self.type.torch)
        if self.type.torch is torch.bool:  # a byte of a file may be anything
            return (torch.frombuffer(data, dtype=torch.uint8) != 0).reshape(self.shape)
        return torch.frombuffer(data, dtype=self.type.torch).reshape(self.shape)


def given(name: str, tensor: torch.Tensor) -> StoredTensor:
    """A tensor that is at hand already."""
    from tremula.frontends.onnx.dtypes import type_of

    return StoredTensor(name, type_of(tensor.dtype), tuple(tensor.shape), tensor)


def stored(message: Any, folder: Path | None, what: str) -> StoredTensor:
    """The tensor in a `TensorProto`; `what` names it in errors.

    Raises:
        Error: it does not hold what it says.
    """
    try:
        shape = tuple(int(extent) for extent in message.dims)
        if len(shape) > _MOST_DIMENSIONS or any(extent < 0 for extent in shape):
            raise Error(f"its shape {list(shape[:8])} makes no sense.")
        if math.prod(shape) > _MOST_ELEMENTS:
            raise Error(f"its shape {list(shape)} has more than {_MOST_ELEMENTS:,} elements.")
        if message.HasField("segment"):
            raise Error("it is stored in segments, which are not supported.")
        kind = element_type(message.data_type)
        if message.data_location == _EXTERNAL:
            return StoredTensor(message.name, kind, shape, _external(message, kind, shape, folder))
        _check_inline(message, kind, math.prod(shape))
    except Error as problem:
        raise Error(f"{what}: {problem.message}") from problem
    return StoredTensor(message.name, kind, shape, message)


def _bytes(kind: ElementType, elements: int) -> int:
    return elements * kind.bits // 8


def _external(message: Any, kind: ElementType, shape: tuple[int, ...], folder: Path | None) -> Place:
    entries = {entry.key: entry.value for entry in message.external_data}
    location = entries.get("location", "")
    numbers: dict[str, int | None] = {"offset": 0, "length": None}
    for key in numbers:
        text = entries.get(key)
        if text is None:
            continue
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            raise Error(
                f"the {key} of its data in '{location}' is '{text[:40]}', which is not a number of bytes."
            )
        numbers[key] = int(text)
    size = _bytes(kind, math.prod(shape))
    return find(folder, location, numbers["offset"] or 0, numbers["length"], size)


def _check_inline(message: Any, kind: ElementType, elements: int) -> None:
    if message.raw_data:
        if len(message.raw_data) != _bytes(kind, elements):
            raise Error(
                f"it has {len(message.raw_data):,} bytes of data; its type and shape need {_bytes(kind, elements):,}."
            )
        return
    field, _ = _FIELDS.get(kind.name, ("int32_data", np.int32))
    wanted = elements * 2 if kind.torch.is_complex else elements
    if len(getattr(message, field)) != wanted:
        raise Error(f"it has {len(getattr(message, field)):,} values, but its shape needs {wanted:,}.")


def _typed_bytes(message: Any, kind: ElementType) -> bytearray:
    """The values of a message that are not raw bytes, as bytes."""
    field, held = _FIELDS.get(kind.name, ("int32_data", np.int32))
    values = np.array(getattr(message, field), dtype=held)
    if field == "int32_data":
        # half and eight-bit floats are stored as the integers of their bits
        values = values.astype({8: np.uint8, 16: np.uint16}.get(kind.bits, np.int32))
    elif kind.name == "UINT32":
        values = values.astype(np.uint32)
    return bytearray(values.tobytes())
