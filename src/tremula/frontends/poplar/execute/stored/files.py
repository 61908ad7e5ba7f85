"""The archive of an executable: the graph's variables and vertices as columns, the rest as one document."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from tremula.atomic_files import atomic_open_binary, cannot_write
from tremula.checked_archive import Arrays, Kind, write_archive
from tremula.checked_json import BadValue, decode
from tremula.errors import Error
from tremula.frontends.poplar.codelets.codelet import Codelet
from tremula.frontends.poplar.errors import GraphObjectLoadError, PoplarError
from tremula.frontends.poplar.execute.stored import codelets as codelet_part
from tremula.frontends.poplar.execute.stored import endpoints
from tremula.frontends.poplar.execute.stored.columns import (
    Reader,
    Writer,
    entries,
    record,
    text,
    texts,
    whole,
)
from tremula.frontends.poplar.execute.stored.programs import ProgramReader, ProgramWriter
from tremula.frontends.poplar.execute.stored.variables import read_variables, write_variables
from tremula.frontends.poplar.execute.stored.vertices import read_compute_sets, write_compute_sets
from tremula.frontends.poplar.execute.stored.views import ViewTable, checked_view, read_views
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program.programs import Program
from tremula.frontends.poplar.rules.placed import place_constants_beside_vertices
from tremula.frontends.poplar.target import TargetFacts, TargetKind

_KIND = Kind(
    "executable.json",
    "tremula poplar executable",
    1,
    "an executable of a Poplar program",
    1 << 36,
    "Make it again with compileGraph",
)
_PARTS = (
    "format", "version", "name", "target", "replicas", "variables", "codelets", "compute_sets", "endpoints",
    "functions", "nodes", "programs", "program_names", "options",
)  # fmt: skip
_MOST_TILES = 1 << 24

#: makes an empty graph for a target and a number of replicas
GraphMaker = Callable[[TargetFacts, int], Graph]
PathOrFile = BinaryIO | str | os.PathLike[str]


@dataclass(eq=False)
class Stored:
    """An executable: a graph with its programs, and the options that they were compiled with."""

    graph: Graph
    programs: Sequence[Program]
    options: Mapping[str, Any] = field(default_factory=dict)
    program_names: Sequence[str] = ()
    name: str = ""


def write_executable(stored: Stored, out: PathOrFile) -> None:
    """Write an executable to a file, or to a stream of bytes. An old file stays until the new one is complete."""
    document, arrays = _encoded(stored)
    if not isinstance(out, str | os.PathLike):
        write_archive(out, _KIND.name, document, arrays)
        return
    path = Path(out)
    try:
        with atomic_open_binary(path) as file:
            write_archive(file, _KIND.name, document, arrays)
    except OSError as problem:
        raise PoplarError(cannot_write(path, problem)) from None


def _encoded(stored: Stored) -> tuple[dict[str, Any], Arrays]:
    graph, contents = stored.graph, stored.graph.contents
    place_constants_beside_vertices(graph)
    writer, views = Writer(), ViewTable()
    programs = ProgramWriter(views)
    functions = [{"name": each.name, "program": programs.number(each.program)} for each in contents.functions]
    roots = [programs.number(each) for each in stored.programs]
    target = asdict(contents.target)
    target["kind"] = contents.target.kind.value
    document = {
        **_KIND.head(),
        "name": stored.name,
        "target": target,
        "replicas": contents.replicas,
        "variables": write_variables(graph, writer),
        "codelets": codelet_part.write_codelets(graph),
        "compute_sets": write_compute_sets(graph, writer, views),
        "endpoints": endpoints.encoded(contents, views),
        "functions": functions,
        "nodes": programs.nodes,
        "programs": roots,
        "program_names": list(stored.program_names),
        "options": {name: str(value) for name, value in stored.options.items()},
    }
    views.write(writer)
    return document, writer.arrays


def read_executable(
    source: PathOrFile, codelets: Collection[type | Codelet] = (), make_graph: GraphMaker = Graph
) -> Stored:
    """Read an executable back.

    Args:
        source: a file, or a stream of bytes.
        codelets: Python classes of its vertices, beside those that the program has defined.
        make_graph: makes the graph.

    Raises:
        GraphObjectLoadError: it is not an executable, of another version, or damaged; or the code of a vertex type is
            missing.
    """
    label = str(source) if isinstance(source, str | os.PathLike) else "the executable"
    given: Any = Path(source) if isinstance(source, str | os.PathLike) else source
    try:
        document, arrays = _KIND.read(given, label)
        try:
            return _decoded(document, Reader(arrays), codelets, make_graph)
        except PoplarError:
            raise
        except (Error, BadValue, KeyError, TypeError, ValueError, OverflowError, RecursionError) as problem:
            raise _KIND.damaged(label, problem) from None
    except PoplarError as problem:
        raise GraphObjectLoadError(
            problem.message if label in problem.message else f"{label}: {problem.message}"
        ) from None
    except Error as problem:
        raise GraphObjectLoadError(problem.message) from None


def _decoded(
    document: dict[str, Any], reader: Reader, classes: Collection[type | Codelet], make_graph: GraphMaker
) -> Stored:
    given = record(document, "the document", _PARTS)
    graph = make_graph(_target(given["target"]), whole(given["replicas"], "replicas", 1, 1 << 16))
    read_variables(
        graph, reader, record(given["variables"], "the variables", ("names", "sources", "initial"))
    )
    views = read_views(reader, graph)
    codelets = codelet_part.read_codelets(graph, given["codelets"], classes)
    graph.contents.codelets.update(codelets)
    read_compute_sets(graph, reader, given["compute_sets"], views, codelets)
    endpoints.decoded(graph, given["endpoints"], lambda number: checked_view(views, number))
    functions = [
        record(each, "a function", ("name", "program")) for each in entries(given["functions"], "functions")
    ]
    programs = ProgramReader(graph, views, len(functions))
    programs.read(given["nodes"])
    for made, each in zip(programs.functions, functions, strict=True):
        object.__setattr__(made, "program", programs.program(each["program"]))
        object.__setattr__(made, "name", text(each["name"], "a name"))
    graph.contents.functions.extend(programs.functions)
    options = given["options"]
    if type(options) is not dict:
        raise BadValue("the options are not an object")
    return Stored(
        graph,
        [programs.program(each) for each in entries(given["programs"], "programs")],
        {str(name): text(value, "an option") for name, value in options.items()},
        texts(given["program_names"], "names of programs"),
        text(given["name"], "a name"),
    )


def _target(value: Any) -> TargetFacts:
    facts = decode(TargetFacts, value)
    sizes = (facts.ipus, facts.tiles_per_ipu, facts.workers, facts.bytes_per_tile, facts.memory_element_bytes)
    rates = (
        facts.clock_hz,
        facts.exchange_bytes_per_cycle,
        facts.memcpy_bytes_per_cycle,
        facts.data_path_bytes,
    )
    if min(sizes) < 1 or min(rates) <= 0 or facts.tiles > _MOST_TILES or facts.workers > 1 << 10:
        raise BadValue("the target describes a chip that is not possible")
    return facts


__all__ = ["Stored", "TargetKind", "read_executable", "write_executable"]
