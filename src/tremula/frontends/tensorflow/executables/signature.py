"""What goes into an executable and comes out of it, and how that is written down. No TensorFlow here."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

#: type -> its number among XLA's primitive types, as programs compare it
ELEMENT_TYPES = {
    "bool": 1,
    "int8": 2,
    "int16": 3,
    "int32": 4,
    "int64": 5,
    "uint8": 6,
    "uint16": 7,
    "uint32": 8,
    "float16": 10,
    "float32": 11,
}
#: most tensors, dimensions and characters of a name that a file may declare
MOST_TENSORS, MOST_DIMENSIONS, LONGEST_NAME = 100_000, 64, 4096


class BadSignature(ValueError):
    """It is not one; the text says where."""


@dataclass
class Shape:
    """Type and size of a tensor.

    Attributes:
        dtype: a key of `ELEMENT_TYPES`.
        dimensions: sizes.
    """

    dtype: str
    dimensions: list[int]

    @property
    def element_type(self) -> int:
        """The number of the type."""
        return ELEMENT_TYPES[self.dtype]


@dataclass
class Entry:
    """One tensor.

    Attributes:
        name: by which a program finds it.
        shape: type and size.
        argument: its place among the arguments of the program.
    """

    name: str
    shape: Shape
    argument: int = 0


@dataclass
class Signature:
    """All tensors of an executable.

    Attributes:
        inputs: given once, when it starts: arguments and variables that are not frozen.
        outputs: results of the program, then variables that it changes.
        streamed_inputs: given with each call: the elements of the infeeds.
        streamed_outputs: what each call gives: the elements of the outfeeds.
    """

    inputs: list[Entry] = field(default_factory=list)
    outputs: list[Entry] = field(default_factory=list)
    streamed_inputs: list[Entry] = field(default_factory=list)
    streamed_outputs: list[Entry] = field(default_factory=list)


GROUPS = ("inputs", "outputs", "streamed_inputs", "streamed_outputs")


def to_json(signature: Signature) -> dict[str, Any]:
    """As plain values."""
    return asdict(signature)


def from_json(found: Any) -> Signature:
    """The signature of plain values.

    Raises:
        BadSignature: they are none.
    """
    if not isinstance(found, dict) or set(found) != set(GROUPS):
        raise BadSignature(f"the signature has to have {', '.join(GROUPS)}")
    return Signature(**{group: _entries(found[group], group) for group in GROUPS})


def _entries(found: Any, group: str) -> list[Entry]:
    if not isinstance(found, list) or len(found) > MOST_TENSORS:
        raise BadSignature(f"{group} is not a list of tensors")
    entries = [_entry(each, f"{group}[{index}]") for index, each in enumerate(found)]
    if group == "inputs" and sorted(entry.argument for entry in entries) != list(range(len(entries))):
        raise BadSignature("the inputs are not numbered from 0 up")
    return entries


def _entry(found: Any, place: str) -> Entry:
    if not isinstance(found, dict) or set(found) != {"name", "shape", "argument"}:
        raise BadSignature(f"{place} is not a tensor")
    name, shape, argument = found["name"], found["shape"], found["argument"]
    if not isinstance(name, str) or len(name) > LONGEST_NAME:
        raise BadSignature(f"{place} has no name")
    if not _is_number(argument):
        raise BadSignature(f"{place} has no place")
    return Entry(name, shape_from_json(shape, place), argument)


def shape_from_json(found: Any, place: str) -> Shape:
    """Type and size from plain values.

    Raises:
        BadSignature: they are none.
    """
    if not isinstance(found, dict) or set(found) != {"dtype", "dimensions"}:
        raise BadSignature(f"{place} has no shape")
    dtype, dimensions = found["dtype"], found["dimensions"]
    if not isinstance(dtype, str) or dtype not in ELEMENT_TYPES:
        raise BadSignature(f"{place} has an unknown type")
    if (
        not isinstance(dimensions, list)
        or len(dimensions) > MOST_DIMENSIONS
        or not all(map(_is_number, dimensions))
    ):
        raise BadSignature(f"{place} has dimensions that are none")
    return Shape(dtype, dimensions)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 48


class PoplarExecutableProto:
    """The description of an executable under the names that programs know: `embedded_runtime_config.signature`.

    It is not a protocol buffer: the bytes are JSON.
    """

    def __init__(self) -> None:
        self.replication_factor = 1
        self.embedded_runtime_config = EmbeddedRuntimeConfig()

    def ParseFromString(self, data: bytes) -> int:  # noqa: N802
        """Take the description that `embedded_runtime._find_opaque_blob` gives.

        Raises:
            BadSignature: it is none.
        """
        try:
            found = json.loads(data)
        except (ValueError, RecursionError) as problem:
            raise BadSignature("the description is not JSON") from problem
        self.embedded_runtime_config.signature = from_json(found)
        return len(data)

    def SerializeToString(self) -> bytes:  # noqa: N802
        """The inverse."""
        return json.dumps(to_json(self.embedded_runtime_config.signature)).encode()


@dataclass
class EmbeddedRuntimeConfig:
    """What the runtime has to know.

    Attributes:
        signature: the tensors.
    """

    signature: Signature = field(default_factory=Signature)
