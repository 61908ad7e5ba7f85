"""Adds codelets to a graph: Python classes, files or text in C++, files made by popc."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tremula.frontends.poplar.codelets.codelet import Codelet
from tremula.frontends.poplar.codelets.cpp import archive, sources
from tremula.frontends.poplar.codelets.cpp.sources import Sources
from tremula.frontends.poplar.codelets.python_classes import PythonVertex
from tremula.frontends.poplar.codelets.python_codelet import PythonCodelet
from tremula.frontends.poplar.errors import GraphObjectLoadError
from tremula.frontends.poplar.lines import user_line

if TYPE_CHECKING:
    from tremula.frontends.poplar.graph.graph import Graph

#: the types of files that nothing here can run
_REFUSED = {
    "PreprocessedAsmSource": "assembly", "AsmSource": "assembly", "IrSource": "an intermediate form of the compiler",
}  # fmt: skip


def add_codelets(
    graph: Graph, source: Any, type_name: str = "Auto", flags: str = "", target_name: str = ""
) -> None:
    """Add codelets to a graph.

    Args:
        graph: they are added to it and to all graphs that share its contents.
        source: a vertex class, a module or several of them; a path; a text in C++, or a stream that holds one.
        type_name: name of the `CodeletFileType`; Auto decides by the ending of the file.
        flags: of the compiler.
        target_name: recorded only: there is one target.

    Raises:
        GraphObjectLoadError: there is no such file, or it is of a type that cannot run here.
        GraphProgramCompilationError: it does not compile, or there is no compiler.
    """
    if type_name in _REFUSED:
        raise GraphObjectLoadError(
            f"codelets of type {type_name} are {_REFUSED[type_name]} for the chip, which nothing here can run "
            f"({user_line()}): give C++, or Python classes"
        )
    for name, codelet in _codelets(graph, source, flags).items():
        graph.contents.codelets[name] = codelet


def _codelets(graph: Graph, source: Any, flags: str) -> dict[str, Codelet]:
    if isinstance(source, type) and issubclass(source, PythonVertex):
        codelet = PythonCodelet(source)
        return {codelet.name: codelet}
    if isinstance(source, ModuleType):
        return _codelets(graph, _classes_of(source), flags)
    if isinstance(source, str | os.PathLike):
        return _compiled(graph, _sources(source, flags))
    if isinstance(source, io.StringIO):
        return _compiled(graph, sources.of_text(source.getvalue(), flags, _text_name()))
    if isinstance(source, Iterable):
        found: dict[str, Codelet] = {}
        for each in source:
            found |= _codelets(graph, each, flags)
        return found
    raise GraphObjectLoadError(
        f"codelets are a class derived from poplar.Vertex, a module, a path or a text in C++, "
        f"not {source!r:.80} ({user_line()})"
    )


def _classes_of(module: ModuleType) -> list[type[PythonVertex]]:
    """The vertex classes that a module defines."""
    found = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, PythonVertex) and each.__module__ == module.__name__
    ]
    if not found:
        raise GraphObjectLoadError(f"module {module.__name__} defines no class derived from poplar.Vertex")
    return found


def _sources(source: str | os.PathLike[str], flags: str) -> Sources:
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return sources.of_text(source, flags, _text_name())
    path = Path(source)
    if path.is_file() and archive.is_archive(path):
        return archive.read(path).with_flags(flags)
    return sources.of_files([path], flags)


def _text_name() -> str:
    return f"text given at {user_line() or 'an unknown line'}"


def _compiled(graph: Graph, given: Sources) -> dict[str, Codelet]:
    from tremula.frontends.poplar.codelets.cpp import codelet, library  # they need no compiler until here

    target = graph.contents.target
    return codelet.load(library.prepare(given, graph.memory.accurate_half, target.workers))
