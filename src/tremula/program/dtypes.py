"""The number types of the device: one table for capture, work, memory and files.

The device has no 64-bit numbers and no bfloat16: int64 becomes int32, float64 and bfloat16 become fp32. Source:
the public documentation of the stack's supported types. Frameworks name their types as numpy does (`float16`); plans,
hardware files and profiles use the short names (`fp16`).
"""

from __future__ import annotations

#: bytes of one element, by the device's name of the type
ITEM_BYTES = {
    "fp8": 1, "fp16": 2, "fp32": 4,
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4,
    "int64": 8,  # Poplar can cast to it; no framework's program has it on the device
}  # fmt: skip

FLOATS = frozenset({"fp32", "fp16", "fp8"})

#: the host's name of a type -> the type that the device holds it in
ON_DEVICE = {
    "float64": "fp32", "float32": "fp32", "bfloat16": "fp32", "float16": "fp16",
    "float8_e4m3fn": "fp8", "float8_e5m2": "fp8", "float8_e4m3fnuz": "fp8", "float8_e5m2fnuz": "fp8",
    # never on a device; counted by their parts where a program makes them on the way
    "complex128": "fp32", "complex64": "fp32", "complex32": "fp16",
    "bool": "bool", "int8": "int8", "uint8": "uint8", "int16": "int16", "uint16": "uint16",
    "int32": "int32", "uint32": "uint32", "int64": "int32", "uint64": "uint32",
}  # fmt: skip

#: the device's name of a type -> the host's; fp8 has several forms, which stay as they are
ON_HOST = {
    "fp32": "float32", "fp16": "float16", "bool": "bool", "int8": "int8", "uint8": "uint8", "int16": "int16",
    "uint16": "uint16", "int32": "int32", "uint32": "uint32",
}  # fmt: skip


def item_bytes(dtype: str) -> int:
    """Bytes of one element of `dtype`."""
    return ITEM_BYTES[dtype]
