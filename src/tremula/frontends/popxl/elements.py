"""Element types of PopXL tensors, and the torch types that carry them on the host.

Torch computes on few unsigned types, so a wider signed one carries them. Float8 types are Graphcore's, which have no
infinities, no negative zero, and one NaN; torch calls them `fnuz`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tremula.errors import Error


@dataclass(frozen=True)
class Element:
    """One element type: its name in PopXL, its size in bytes on the device, and what stands for it on the host."""

    name: str
    size: int
    carrier: torch.dtype
    array: np.dtype[Any]


FLOAT8_143_ARRAY = np.dtype([("float8_143", "u1")])
FLOAT8_152_ARRAY = np.dtype([("float8_152", "u1")])

_ALL = (
    ("bool", 1, torch.bool, np.dtype("bool")),
    ("int8", 1, torch.int8, np.dtype("int8")),
    ("int16", 2, torch.int16, np.dtype("int16")),
    ("int32", 4, torch.int32, np.dtype("int32")),
    ("int64", 8, torch.int64, np.dtype("int64")),
    ("uint8", 1, torch.uint8, np.dtype("uint8")),
    ("uint16", 2, torch.int32, np.dtype("uint16")),
    ("uint32", 4, torch.int64, np.dtype("uint32")),
    ("uint64", 8, torch.int64, np.dtype("uint64")),
    ("float8_143", 1, torch.float8_e4m3fnuz, FLOAT8_143_ARRAY),
    ("float8_152", 1, torch.float8_e5m2fnuz, FLOAT8_152_ARRAY),
    ("float16", 2, torch.float16, np.dtype("float16")),
    ("float32", 4, torch.float32, np.dtype("float32")),
    ("float64", 8, torch.float64, np.dtype("float64")),
    ("complex64", 8, torch.complex64, np.dtype("complex64")),
    ("complex128", 16, torch.complex128, np.dtype("complex128")),
)
ELEMENTS = {name: Element(name, size, carrier, array) for name, size, carrier, array in _ALL}
#: the element type that a torch type stands for where no input says otherwise
_BY_CARRIER = {
    element.carrier: element
    for element in ELEMENTS.values()
    if element.name not in ("uint16", "uint32", "uint64")
}
_WRAPS = {"uint16": 1 << 16, "uint32": 1 << 32}


def element_of(dtype: torch.dtype) -> Element:
    """The element type that a result of torch's has."""
    return _BY_CARRIER[dtype]


def is_float(name: str) -> bool:
    """Whether gradients of tensors of this type exist."""
    return name in ("float16", "float32", "float64")


def to_carrier(array: np.ndarray[Any, Any], name: str) -> torch.Tensor:
    """A copy of the host's array as the tensor that is computed with."""
    element = ELEMENTS[name]
    if element.array.names is not None:
        flat = np.ascontiguousarray(array).view(np.uint8).reshape(array.shape)
        return torch.from_numpy(flat.copy()).view(element.carrier)
    if array.dtype.names is not None:
        raise Error(f"an array of {array.dtype} cannot become a tensor of type {name}.")
    wanted = torch.empty((), dtype=element.carrier).numpy().dtype
    return torch.from_numpy(np.array(array, dtype=wanted, order="C", copy=True))


def to_array(tensor: torch.Tensor, name: str) -> np.ndarray[Any, Any]:
    """The host's array for what was computed; it may share the tensor's memory."""
    element = ELEMENTS[name]
    if element.array.names is not None:
        return tensor.contiguous().view(torch.uint8).numpy().view(element.array).reshape(tuple(tensor.shape))
    array = tensor.detach().numpy()
    return array if array.dtype == element.array else array.astype(element.array)


def wrapped(tensor: torch.Tensor, name: str) -> torch.Tensor:
    """`tensor` reduced to the range of an unsigned type that a wider type carries."""
    modulus = _WRAPS.get(name)
    return tensor if modulus is None else torch.remainder(tensor, modulus)
