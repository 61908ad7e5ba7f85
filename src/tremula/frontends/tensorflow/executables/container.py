"""The file of an executable (`.poplar_exec`): a zip archive without compression.

It holds `executable.json` (signature, roles of the arguments), `graph.pb` (a TensorFlow graph) and `values/N.bin` (the
values of constants and frozen variables, little-endian). Writing is atomic. Reading checks all that is declared before
anything is used: the members are exactly those, nothing is compressed (so that a small file cannot unpack to a large
one), checksums hold, and values have their declared sizes. The graph itself is checked by `graphs.py`.

What is trusted: a graph is a program. One that passes the checks computes, and touches no files and no network; it can
still compute for long or need much memory. Load executables from where you would take a SavedModel.
"""

from __future__ import annotations

import json
import math
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tremula.atomic_files import atomic_open_binary, cannot_write
from tremula.formatting import plain
from tremula.frontends.tensorflow.executables import signature as signatures
from tremula.frontends.tensorflow.executables.signature import BadSignature, Shape, Signature

FORMAT, VERSION = "tremula executable", 1
DESCRIPTION, GRAPH = "executable.json", "graph.pb"
_LARGEST_DESCRIPTION = 64 << 20
#: roles of the arguments of the graph
INPUT, VARIABLE, CONSTANT, FROZEN = "input", "variable", "constant", "frozen"
ROLES = (INPUT, VARIABLE, CONSTANT, FROZEN)


class ExecutableError(ValueError):
    """A file is not a whole executable, or cannot be read or written; the text names it."""

    def __init__(self, message: str) -> None:
        super().__init__(plain(message))


@dataclass
class Argument:
    """One argument of the graph.

    Attributes:
        placeholder: the op of the graph that it replaces.
        role: `INPUT` and `VARIABLE` are given when the executable starts, in the order of the signature; `CONSTANT` and
            `FROZEN` (a variable) have their values in the file.
        shape: type and size of the value.
    """

    placeholder: str
    role: str
    shape: Shape


@dataclass
class Feed:
    """One queue.

    Attributes:
        name: of its resource in the graph.
        elements: how many tensors an element has.
    """

    name: str
    elements: int


@dataclass
class Executable:
    """Everything in a file.

    Attributes:
        signature: tensors that go in and come out.
        arguments: of the graph.
        outputs: tensors of the graph, as `op:index`.
        controls: ops of the graph that have to run.
        infeeds: queues that calls fill.
        outfeeds: queues that calls empty.
        graph: a serialized GraphDef.
        values: of the arguments whose values are in the file, by their number among the arguments.
        ipus: how many IPUs the program was compiled for.
    """

    signature: Signature
    arguments: list[Argument]
    outputs: list[str]
    controls: list[str]
    infeeds: list[Feed]
    outfeeds: list[Feed]
    graph: bytes
    values: dict[int, Any] = field(default_factory=dict)
    ipus: int = 1


def write(path: Path, executable: Executable) -> None:
    """Write a file; an older one is replaced when the new one is whole.

    Raises:
        ExecutableError: it cannot be written.
    """
    description = {
        "format": FORMAT,
        "version": VERSION,
        "ipus": executable.ipus,
        "signature": signatures.to_json(executable.signature),
        "arguments": [
            {"placeholder": each.placeholder, "role": each.role, "shape": vars(each.shape)}
            for each in executable.arguments
        ],
        "outputs": executable.outputs,
        "controls": executable.controls,
        "infeeds": [vars(feed) for feed in executable.infeeds],
        "outfeeds": [vars(feed) for feed in executable.outfeeds],
    }
    try:
        with (
            atomic_open_binary(path, parents=False) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive,
        ):
            archive.writestr(DESCRIPTION, json.dumps(description))
            archive.writestr(GRAPH, executable.graph)
            for number, value in executable.values.items():
                dtype = _stored_type(executable.arguments[number].shape)
                with archive.open(_member(number), "w", force_zip64=True) as member:
                    member.write(np.asarray(value).astype(dtype, order="C", casting="equiv").data)
    except OSError as problem:
        raise ExecutableError(f"Failed to open file for writing: {cannot_write(path, problem)}") from problem


def read(path: Path) -> Executable:
    """Read a file and check it.

    Raises:
        ExecutableError: it cannot be read or is not a whole executable.
    """
    try:
        with open(path, "rb") as file:
            return _read(file)
    except OSError as problem:
        raise ExecutableError(f"{path} cannot be read: {problem.strerror or problem}.") from problem
    except _Refusal as problem:
        raise ExecutableError(
            f"{path} is not an executable of this version, or it is damaged: {problem}. Compile the program again."
        ) from problem


class _Refusal(Exception):
    """Why a file is none."""


def _read(file: BinaryIO) -> Executable:
    try:
        archive = zipfile.ZipFile(file)
    except (
        zipfile.BadZipFile,
        ValueError,
        NotImplementedError,
        OverflowError,
        UnicodeDecodeError,
    ) as problem:
        raise _Refusal(f"it is not an archive ({problem})") from problem
    with archive:
        members: dict[str, zipfile.ZipInfo] = {}
        for info in archive.infolist():
            if info.filename in members:
                raise _Refusal("a member appears twice")
            if (
                info.compress_type != zipfile.ZIP_STORED
                or info.file_size != info.compress_size
                or info.flag_bits & 1
            ):
                raise _Refusal("a member is compressed or encrypted")
            members[info.filename] = info
        description = _described(_bytes(archive, members, DESCRIPTION, _LARGEST_DESCRIPTION))
        arguments = [_argument(each, index) for index, each in enumerate(description["arguments"])]
        stored = [index for index, each in enumerate(arguments) if each.role in (CONSTANT, FROZEN)]
        expected = {DESCRIPTION, GRAPH, *map(_member, stored)}
        if set(members) != expected:
            raise _Refusal("its members are not those that it declares")
        try:
            signature = signatures.from_json(description["signature"])
        except BadSignature as problem:
            raise _Refusal(str(problem)) from problem
        found = Executable(
            signature,
            arguments,
            _names(description["outputs"], "outputs"),
            _names(description["controls"], "controls"),
            _feeds(description["infeeds"]),
            _feeds(description["outfeeds"]),
            _bytes(archive, members, GRAPH, (1 << 31) - 1),
            {index: _array(archive, members, index, arguments[index].shape) for index in stored},
            _count(description["ipus"]),
        )
    _check_counts(found)
    return found


def _described(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise _Refusal("its description is not JSON") from problem
    keys = {
        "format", "version", "ipus", "signature", "arguments", "outputs", "controls", "infeeds", "outfeeds",
    }  # fmt: skip
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _Refusal("it does not describe an executable")
    if found.get("version") != VERSION or set(found) != keys:
        raise _Refusal(f"its version is not {VERSION}")
    if not isinstance(found["arguments"], list) or len(found["arguments"]) > signatures.MOST_TENSORS:
        raise _Refusal("it has no arguments")
    return found


def _argument(found: Any, index: int) -> Argument:
    if (
        not isinstance(found, dict)
        or set(found) != {"placeholder", "role", "shape"}
        or found["role"] not in ROLES
    ):
        raise _Refusal(f"argument {index} is none")
    try:
        shape = signatures.shape_from_json(found["shape"], f"argument {index}")
    except BadSignature as problem:
        raise _Refusal(str(problem)) from problem
    return Argument(_name(found["placeholder"], "arguments"), found["role"], shape)


def _feeds(found: Any) -> list[Feed]:
    if not isinstance(found, list) or not all(
        isinstance(each, dict) and set(each) == {"name", "elements"} for each in found
    ):
        raise _Refusal("its queues are none")
    return [Feed(_name(each["name"], "queues"), _count(each["elements"])) for each in found]


def _names(found: Any, place: str) -> list[str]:
    if not isinstance(found, list) or len(found) > signatures.MOST_TENSORS:
        raise _Refusal(f"{place} is not a list")
    return [_name(each, place) for each in found]


def _name(found: Any, place: str) -> str:
    if not isinstance(found, str) or not found or len(found) > signatures.LONGEST_NAME:
        raise _Refusal(f"a name in {place} is none")
    return found


def _count(found: Any) -> int:
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= signatures.MOST_TENSORS:
        raise _Refusal("a number is out of range")
    return found


def _check_counts(found: Executable) -> None:
    given = [each for each in found.arguments if each.role in (INPUT, VARIABLE)]
    if [each.shape for each in given] != [each.shape for each in found.signature.inputs]:
        raise _Refusal("its inputs are not those of its graph")
    for feeds, entries in (
        (found.infeeds, found.signature.streamed_inputs),
        (found.outfeeds, found.signature.streamed_outputs),
    ):
        if sum(feed.elements for feed in feeds) != len(entries):
            raise _Refusal("its queues do not have the tensors of its signature")


def _member(number: int) -> str:
    return f"values/{number}.bin"


def _bytes(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], name: str, most: int) -> bytes:
    info = members.get(name)
    if info is None or info.file_size > most:
        raise _Refusal(f"it has no {name} of a possible size")
    try:
        data = archive.read(info)
    except (zipfile.BadZipFile, ValueError, EOFError, OSError, NotImplementedError) as problem:
        raise _Refusal(f"{name} is damaged") from problem
    if len(data) != info.file_size:
        raise _Refusal(f"{name} is not whole")
    return data


def _array(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], number: int, shape: Shape) -> Any:
    dtype = _stored_type(shape)
    size = math.prod(shape.dimensions) * dtype.itemsize
    data = _bytes(archive, members, _member(number), size)
    if len(data) != size:
        raise _Refusal(f"{_member(number)} does not have its declared size")
    return np.frombuffer(data, dtype).reshape(shape.dimensions).astype(dtype.newbyteorder("="), copy=False)


def _stored_type(shape: Shape) -> Any:
    return np.dtype(shape.dtype).newbyteorder("<")
