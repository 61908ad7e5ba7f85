"""Values of initializers in files beside the model: moved there, written again after training, moved on.

Only files that this process wrote itself are written again. Weights that a model of another program keeps in a file are
returned inside the model.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tremula.atomic_files import atomic_open_binary
from tremula.errors import Error
from tremula.frontends.onnx.external_data import is_trusted, trust

Arrays = Mapping[str, "np.ndarray[Any, Any]"]
_VALUES = ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data")
#: between the prefix of a tensor of the optimizer and the name of its weight
_OF = "___"


def move_to_file(message: Any, names: Sequence[str], path: str | os.PathLike[str]) -> None:
    """Put the values of initializers into a file, one after the other, and have the model say where they are."""
    from onnx import numpy_helper

    by_name = {each.name: each for each in message.graph.initializer}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise Error(f"{unknown[0]} is not an initializer of the model.")
    if not Path(path).absolute().parent.is_dir():
        raise Error(f"{os.fspath(path)} cannot be written: its parent directory does not exist.")
    parts: list[bytes] = []
    for name in names:
        tensor = by_name[name]
        if tensor.data_location == tensor.EXTERNAL:
            raise Error(f"the tensor {name} already has an external data_location: its values are in a file.")
        data = numpy_helper.to_array(tensor).tobytes()
        _point(tensor, os.fspath(path), sum(map(len, parts)), len(data))
        parts.append(data)
    _write(Path(path), b"".join(parts))


def check_reachable(message: Any) -> None:
    """Raise Error if values are in a file that is not there: its name is relative, and the working folder another."""
    for tensor in message.graph.initializer:
        location = _entry(tensor, "location")
        if location and not is_trusted(location):
            raise Error(
                f"Unrecognised file name '{location}': the initializer {tensor.name} is stored there, and the working "
                "directory has no such file. Save initializers under an absolute path, or return to the directory."
            )


def refill(message: Any, arrays: Arrays) -> set[str]:
    """Write the files of this process again, with the values in `arrays`, and return the names of what is in them.

    The state of an optimizer follows the weights in the file of its weight.
    """
    by_file: dict[str, list[Any]] = {}
    for tensor in message.graph.initializer:
        location = _entry(tensor, "location")
        if location and is_trusted(location):
            by_file.setdefault(location, []).append(tensor)
    return {
        name for location, tensors in by_file.items() for name in _refill(message, location, tensors, arrays)
    }


def _refill(message: Any, location: str, tensors: Sequence[Any], arrays: Arrays) -> list[str]:
    data = bytearray(_read(location))
    for tensor in tensors:
        if tensor.name in arrays:
            offset, new = int(_entry(tensor, "offset")), arrays[tensor.name].tobytes()
            data[offset : offset + len(new)] = new
    end = max(int(_entry(tensor, "offset")) + int(_entry(tensor, "length")) for tensor in tensors)
    # a file that was written before has the state of that time
    del data[end:]
    names = [tensor.name for tensor in tensors]
    added = [name for name in arrays if _OF in name and name not in names and name.split(_OF, 1)[1] in names]
    for name in sorted(added, key=lambda each: (each.split(_OF, 1)[0], names.index(each.split(_OF, 1)[1]))):
        from onnx import numpy_helper

        own = message.graph.initializer.add()
        own.CopyFrom(numpy_helper.from_array(arrays[name], name))
        new = arrays[name].tobytes()
        _point(own, location, len(data), len(new))
        data += new
    _write(Path(location), bytes(data))
    return [*names, *added]


def relocate(message: Any, old: str, new: str) -> None:
    """Copy a file of this process to another place, and have the model name that."""
    if not Path(old).is_file():
        raise Error(f"the values of initializers are to move to '{new}', but file '{old}' does not exist.")
    tensors = [each for each in message.graph.initializer if _entry(each, "location") == old]
    if not tensors or not is_trusted(old):
        raise Error(
            f"No ONNX model initializers have external location set to '{old}', or another program wrote that file."
        )
    _write(Path(new), _read(old))
    for tensor in tensors:
        _point(tensor, new, int(_entry(tensor, "offset")), int(_entry(tensor, "length")))


def _entry(tensor: Any, key: str) -> str:
    if tensor.data_location != tensor.EXTERNAL:
        return ""
    return next((str(each.value) for each in tensor.external_data if each.key == key), "")


def _point(tensor: Any, location: str, offset: int, length: int) -> None:
    """Have a tensor say that its values are in a file."""
    for field in _VALUES:
        tensor.ClearField(field)
    tensor.data_location = tensor.EXTERNAL
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))


def _read(location: str) -> bytes:
    try:
        return Path(location).read_bytes()
    except OSError as problem:
        raise Error(f"{location} cannot be read: {problem.strerror}.") from problem


def _write(path: Path, data: bytes) -> None:
    with atomic_open_binary(path) as file:
        file.write(data)
    trust(path)
