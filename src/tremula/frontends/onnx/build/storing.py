"""Models that are being made, from files and to files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tremula.atomic_files import atomic_open_binary
from tremula.errors import Error, about_file
from tremula.frontends.onnx.external_data import trust
from tremula.frontends.onnx.parsing import contents, parse


def read(model: bytes | str | os.PathLike[str]) -> Any:
    """The message of a model, in bytes or in a file."""
    if isinstance(model, bytes):
        return parse(model)
    path = Path(model)
    try:
        return parse(contents(path))
    except Error as problem:
        raise about_file(problem, str(path)) from None


def write(message: Any, path: str | os.PathLike[str]) -> None:
    """Write a model; it is checked first, and there as a whole or not at all."""
    import onnx

    try:
        onnx.checker.check_model(_plain(message))
    except onnx.checker.ValidationError as problem:
        raise Error(f"the model cannot be saved, as it is not valid: {problem}") from problem
    _write_bytes(Path(path), message.SerializeToString())


def _plain(message: Any) -> Any:
    """The model without what ONNX does not know: the device's own attributes."""
    found = type(message)()
    found.CopyFrom(message)
    for node in found.graph.node:
        kept = [each for each in node.attribute if not each.name.startswith("__")]
        if len(kept) != len(node.attribute):
            del node.attribute[:]
            node.attribute.extend(kept)
    return found


def move_to_file(message: Any, names: Sequence[str], path: str | os.PathLike[str]) -> None:
    """Put the values of initializers into a file, one after the other, and have the model say where they are."""
    from onnx import numpy_helper

    by_name = {each.name: each for each in message.graph.initializer}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise Error(f"{unknown[0]} is not an initializer of the model.")
    parts: list[bytes] = []
    offset = 0
    for name in names:
        tensor = by_name[name]
        if tensor.data_location == tensor.EXTERNAL:
            raise Error(f"the tensor {name} already has an external data_location: its values are in a file.")
        data = numpy_helper.to_array(tensor).tobytes()
        for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
            tensor.ClearField(field)
        tensor.data_location = tensor.EXTERNAL
        del tensor.external_data[:]
        for key, value in (("location", os.fspath(path)), ("offset", offset), ("length", len(data))):
            tensor.external_data.add(key=key, value=str(value))
        parts.append(data)
        offset += len(data)
    _write_bytes(Path(path), b"".join(parts))
    trust(Path(path))


def _write_bytes(path: Path, data: bytes) -> None:
    with atomic_open_binary(path) as file:
        file.write(data)
