"""Programs in files: a zip archive of one JSON document and one array per column, and nothing else.

A file holds what the chip model reads: ops with their work, tensors, loops, the control tree, tile mappings and
vertices, plus what the caller adds. It holds no framework's graph and no weights, so it can be read without the
framework that made it. Nothing in it is executed; sizes, names, types and references are checked before a program
is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tremula.atomic_files import atomic_path, cannot_write
from tremula.checked_archive import Kind, write_archive
from tremula.checked_json import BadValue, decode
from tremula.errors import Error
from tremula.program import control as tree
from tremula.program.columns import decode_columns, encode
from tremula.program.control import Control
from tremula.program.loops import Loops
from tremula.program.program import Program
from tremula.program.tiles import TileInterval, Vertex
from tremula.program.verify import DEEPEST, InvalidProgram, verify

FORMAT = "tremula program"
FORMAT_VERSION = 1
DOCUMENT = "program.json"
#: unpacked bytes of a file: a program of a million ops has about 300 MB
LARGEST_BYTES = 2**30
_KIND = Kind(DOCUMENT, FORMAT, FORMAT_VERSION, "a saved program", LARGEST_BYTES, "Save the program again")

_NODES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        tree.Execute,
        tree.CopyTensor,
        tree.Call,
        tree.Sequence,
        tree.Repeat,
        tree.While,
        tree.Branch,
    )
}


@dataclass(frozen=True)
class _Head:
    """What a program is besides its ops and tensors."""

    training: bool
    loops: Loops
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    trained: tuple[int, ...]
    gradients: tuple[int, ...]
    carried: tuple[int, ...]
    samples: int
    mappings: Mapping[int, tuple[TileInterval, ...]]
    vertices: tuple[Vertex, ...]


def save_program(program: Program, path: str | Path, about: Mapping[str, Any] | None = None) -> None:
    """Write `program`; an old file stays until the new one is complete.

    Args:
        program: its payload is left out.
        path: the file.
        about: more to keep with it, as plain data for JSON.

    Raises:
        Error: the file cannot be written.
    """
    tables, arrays = encode(program.ops, program.tensors)
    head = {name: getattr(program, name) for name in _Head.__dataclass_fields__}
    document = {
        **_KIND.head(),
        "program": asdict(_Head(**head)),
        "control": None if program.control is None else _encode_tree(program.control),
        "functions": {name: _encode_tree(body) for name, body in program.functions.items()},
        "tables": tables,
        "about": dict(about or {}),
    }
    try:
        with atomic_path(Path(path)) as draft:
            write_archive(draft, DOCUMENT, document, arrays)
    except OSError as problem:
        raise Error(cannot_write(path, problem)) from None


def is_program_file(path: str | Path) -> bool:
    """Whether `path` looks like a saved program."""
    return _KIND.is_one(path)


def load_program(path: str | Path) -> tuple[Program, dict[str, Any]]:
    """The program in a file, and what was kept with it, which is the caller's to check.

    Raises:
        Error: there is none, it is of another version, or it is damaged.
    """
    document, arrays = _KIND.read(path, str(path))
    try:
        return _decode(document, arrays), document["about"]
    except (BadValue, InvalidProgram, KeyError, TypeError, ValueError, RecursionError) as problem:
        raise _KIND.damaged(str(path), problem) from None


def _decode(document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Program:
    ops, tensors = decode_columns(document["tables"], arrays)
    head = decode(_Head, document["program"])
    functions = document["functions"]
    if not isinstance(functions, dict) or not isinstance(document["about"], dict):
        raise BadValue("functions and about must be objects")
    program = Program(
        ops,
        tensors,
        control=None if document["control"] is None else _decode_tree(document["control"]),
        functions={str(name): _decode_tree(body) for name, body in functions.items()},
        **vars(head),
    )
    verify(program)
    return program


def _encode_tree(node: Control) -> list[Any]:
    """A node as its class name and its fields in order."""
    fields = (getattr(node, name) for name in type(node).__dataclass_fields__)
    return [type(node).__name__, *(_encode_field(value) for value in fields)]


def _encode_field(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_encode_tree(each) for each in value]
    return value if value is None or isinstance(value, int | str) else _encode_tree(value)


def _decode_tree(data: Any, depth: int = 0) -> Control:
    if depth > DEEPEST:
        raise BadValue("the control tree is nested too deeply")
    if type(data) is not list or not data or data[0] not in _NODES:
        raise BadValue(f"{str(data)[:40]!r} is not a node of a control tree")
    kind, given = _NODES[data[0]], data[1:]
    names = list(kind.__dataclass_fields__)
    if len(given) != len(names):
        raise BadValue(f"{data[0]} has {len(given)} fields, not {len(names)}")
    return kind(  # type: ignore[no-any-return]
        **{name: _decode_field(name, value, depth) for name, value in zip(names, given, strict=True)}
    )


def _decode_field(name: str, value: Any, depth: int) -> Any:
    if name in ("steps", "cases"):
        if type(value) is not list:
            raise BadValue(f"{name} is not a list")
        return tuple(_decode_tree(each, depth + 1) for each in value)
    if name in ("body", "condition"):
        return _decode_tree(value, depth + 1)
    wanted = (str,) if name == "function" else (int, type(None)) if name == "expected" else (int,)
    if type(value) not in wanted:
        raise BadValue(f"{name} is {str(value)[:40]!r}")
    return value
