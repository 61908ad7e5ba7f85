"""Debug contexts: the user's modules as a tree, with the ops of a profile below them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tremula.module_paths import parts
from tremula.profile.model import Op


@dataclass
class Contexts:
    """Columns of the frame `contexts`, and where ops and modules went."""

    columns: dict[str, list[int] | list[str]]
    of_op: list[int] = field(default_factory=list)  #: row of each op


def contexts_of(ops: Sequence[Op], layer: str) -> Contexts:
    """The contexts of `ops`; `layer` is what the program was written with."""
    parents: list[int] = []
    names: list[str] = []
    numbers: list[int] = []
    lines: list[int] = []
    files: list[str] = []
    functions: list[str] = []
    modules: dict[tuple[str, ...], int] = {}

    def add(parent: int, name: str, op: int = -1, file: str = "", line: int = -1, function: str = "") -> int:
        parents.append(parent)
        names.append(name)
        numbers.append(op)
        files.append(file)
        lines.append(line)
        functions.append(function)
        return len(parents) - 1

    def module(path: tuple[str, ...]) -> int:
        if not path:
            return -1
        if path not in modules:
            modules[path] = add(module(path[:-1]), path[-1])
        return modules[path]

    of_op = []
    for op in ops:
        # trees have a limit of their depth, far beyond nested modules
        parent = module(tuple(parts(op.module))[:32]) if op.module else -1
        of_op.append(
            add(parent, op.name.rsplit("/", 1)[-1], op.id, op.source_file, op.source_line, op.source_function)
        )
    columns: dict[str, list[int] | list[str]] = {
        "parent": parents,
        "name": names,
        "layer": [layer] * len(names),
        "file": files,
        "line": lines,
        "function": functions,
        "op_id": numbers,
    }
    return Contexts(columns, of_op)
