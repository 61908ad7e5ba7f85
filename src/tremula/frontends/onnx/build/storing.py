"""Models that are being made, from files and to files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tremula.atomic_files import atomic_open_binary
from tremula.errors import Error, about_file
from tremula.frontends.onnx.external_data import is_trusted
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
    """The model without what ONNX does not know: the device's own attributes, and values in files elsewhere."""
    found = type(message)()
    found.CopyFrom(message)
    for tensor in found.graph.initializer:
        if any(entry.key == "location" and is_trusted(entry.value) for entry in tensor.external_data):
            tensor.ClearField("data_location")
            del tensor.external_data[:]
            tensor.dims[:] = [0]
    for node in found.graph.node:
        kept = [each for each in node.attribute if not each.name.startswith("__")]
        if len(kept) != len(node.attribute):
            del node.attribute[:]
            node.attribute.extend(kept)
    return found


def _write_bytes(path: Path, data: bytes) -> None:
    with atomic_open_binary(path) as file:
        file.write(data)
