"""From a file to the message in it; nothing of the message is believed yet."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from tremula.errors import Error

#: what protobuf can hold at most
_MOST_BYTES = 2**31 - 1
#: protobuf's numbers for kinds of fields
_TEXT, _MESSAGE = 9, 11


def contents(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        Error: it cannot be read, or is larger than a model can be.
    """
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Error("this is not a regular file.")
            if status.st_size > _MOST_BYTES:
                raise Error(
                    "an ONNX file is smaller than 2 GiB; larger models have their weights in files beside it."
                )
            return file.read(_MOST_BYTES + 1)
    except OSError as problem:
        raise Error(f"it cannot be read: {problem.strerror}.") from problem


def parse(data: bytes) -> Any:
    """The `ModelProto` in bytes.

    Raises:
        Error: there is none, or a text in it is none.
    """
    if not data:
        raise Error("this is not an ONNX model: there is nothing in it.")
    try:
        import onnx
    except ImportError as problem:
        raise Error("reading ONNX models needs the package onnx: pip install 'tremula[onnx]'.") from problem
    message = onnx.ModelProto()
    try:
        message.ParseFromString(data)
    except Exception as problem:  # protobuf has several, by implementation
        raise Error("this is not an ONNX model, or it is damaged: it cannot be parsed.") from problem
    if not message.HasField("graph"):
        raise Error("this is not an ONNX model, or it is damaged: it has no graph.")
    _check_texts(message)
    return message


def _check_texts(message: Any) -> None:
    """What is not UTF-8 comes out of a text field as bytes: such a message is damaged."""
    for field, value in message.ListFields():
        if field.type == _TEXT:
            if not all(
                isinstance(each, str) for each in ((value,) if isinstance(value, str | bytes) else value)
            ):
                raise Error("this is not an ONNX model, or it is damaged: a name in it is not text.")
        elif field.type == _MESSAGE:
            for each in (value,) if hasattr(value, "ListFields") else value:
                _check_texts(each)
