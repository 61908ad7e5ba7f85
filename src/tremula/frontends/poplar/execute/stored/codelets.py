"""Codelets of an executable: the fields of each vertex type, and where its code comes from.

Python classes are not saved: they are those of the program that loads the executable. Vertex types of library functions
follow from their names. C++ is saved as source code, and compiled when an engine binds a vertex type; reading the file
compiles nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tremula.checked_json import BadValue
from tremula.frontends.poplar.codelets.codelet import (
    Base,
    Batch,
    Codelet,
    CycleEstimate,
    Direction,
    Field,
    Kind,
    Run,
    Shapes,
)
from tremula.frontends.poplar.errors import GraphObjectLoadError, PoplarError
from tremula.frontends.poplar.execute.stored.columns import entries, flag, item, record, text, texts, whole
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.libs.popops import vertex_types
from tremula.frontends.poplar.types import ALL_TYPES

_FIELD = ("name", "kind", "direction", "type", "min_align", "has_size")


class CompiledWhenUsed(Codelet):
    """A vertex type in C++ from a file: it is compiled when it is bound or its cycles are asked for."""

    def __init__(self, name: str, description: Codelet, graph: Graph, source: SourceCode) -> None:
        self.name = name
        self.base, self.fields = description.base, description.fields
        self.accepts_strides = description.accepts_strides
        self._graph, self.source = graph, source

    def _compiled(self) -> Codelet:
        found = self.source.compiled(self._graph).get(self.name)
        if found is None or _description(found) != _description(self):
            raise GraphObjectLoadError(
                f"the source code in the executable has no vertex type {self.name} with the fields that the executable "
                "says: make it again with compileGraph"
            )
        return found

    def bind(self, batch: Batch) -> Run:
        return self._compiled().bind(batch)

    def estimate(self, shapes: Shapes) -> CycleEstimate:
        return self._compiled().estimate(shapes)


class SourceCode:
    """C++ that was preprocessed when the executable was made, with the flags of the compiler."""

    def __init__(self, code: str, flags: tuple[str, ...], title: str) -> None:
        self.code, self.flags, self.title = code, flags, title
        self._made: Mapping[str, Codelet] | None = None

    def compiled(self, graph: Graph) -> Mapping[str, Codelet]:
        """The vertex types in it. This compiles and loads their author's code."""
        if self._made is None:
            from tremula.frontends.poplar.codelets.cpp import codelet, compiler, library

            found = compiler.require(self.title)
            self._made = codelet.load(library.Prepared(found, self.code, self.flags, self.title))
        return self._made


class _Described(Codelet):
    """The fields of a vertex type without its code."""

    def __init__(self, name: str, base: Base, fields: Mapping[str, Field]) -> None:
        self.name, self.base, self.fields = name, base, fields

    def bind(self, batch: Batch) -> Run:
        raise GraphObjectLoadError(f"vertex type {self.name} has no code")

    def estimate(self, shapes: Shapes) -> CycleEstimate:
        raise GraphObjectLoadError(f"vertex type {self.name} has no code")


def write_codelets(graph: Graph) -> dict[str, Any]:
    """The codelets whose vertices a graph has, as plain data."""
    used = {
        name: batch.codelet for made in graph.contents.compute_sets for name, batch in made.batches.items()
    }
    sources: list[dict[str, Any]] = []
    places: dict[int, int] = {}
    types = []
    for name, codelet in sorted(used.items()):
        source = _source_of(codelet)
        place = None
        if source is not None:
            place = places.setdefault(id(source), len(sources))
            if place == len(sources):
                sources.append({"code": source.code, "flags": list(source.flags), "title": source.title})
        types.append({"name": name, "source": place, **_description(codelet)})
    return {"types": types, "sources": sources}


def _source_of(codelet: Codelet) -> Any:
    if isinstance(codelet, CompiledWhenUsed):
        return codelet.source
    return getattr(codelet, "prepared", None)


def _description(codelet: Codelet) -> dict[str, Any]:
    return {
        "base": codelet.base.value,
        "fields": [
            {
                "name": each.name,
                "kind": each.kind.value,
                "direction": each.direction.value,
                "type": None if each.type is None else each.type.name,
                "min_align": each.min_align,
                "has_size": each.has_size,
            }
            for each in codelet.fields.values()
        ],
    }


def read_codelets(graph: Graph, document: Any, classes: Collection[type | Codelet]) -> dict[str, Codelet]:
    """The codelets that vertices need, by the name of their type."""
    given = record(document, "the codelets", ("types", "sources"))
    sources = []
    for each in entries(given["sources"], "source code"):
        source = record(each, "source code", ("code", "flags", "title"))
        if type(source["code"]) is not str:
            raise BadValue("source code is not text")
        sources.append(
            SourceCode(
                source["code"], tuple(texts(source["flags"], "flags")), text(source["title"], "a title")
            )
        )
    own = {each.name: each for each in classes if isinstance(each, Codelet)}
    asked = False
    found: dict[str, Codelet] = {}
    for each in entries(given["types"], "vertex types"):
        kind = record(each, "a vertex type", ("name", "source", "base", "fields"))
        name = text(kind["name"], "a vertex type")
        described = _Described(name, Base(text(kind["base"], "a base")), _read_fields(kind["fields"]))
        if kind["source"] is not None:
            source_code = item(sources, kind["source"], "source code")
            found[name] = CompiledWhenUsed(name, described, graph, source_code)
            continue
        of_library = vertex_types.of_name(name)
        if of_library is not None:
            found[name] = _matching(described, {name: of_library})
            continue
        if name not in own and not asked:
            own, asked = {**_python_codelets(graph, classes), **own}, True
        found[name] = _matching(described, own)
    return found


def _read_fields(value: Any) -> dict[str, Field]:
    types = {each.name: each for each in ALL_TYPES}
    found = {}
    for given in entries(value, "fields"):
        each = record(given, "a field", _FIELD)
        name = text(each["name"], "a field")
        if each["type"] is not None and each["type"] not in types:
            raise BadValue("a field has an unknown type")
        found[name] = Field(
            name,
            Kind(text(each["kind"], "a kind")),
            Direction(text(each["direction"], "a direction")),
            None if each["type"] is None else types[each["type"]],
            whole(each["min_align"], "an alignment", 1, 1 << 20),
            flag(each["has_size"], "a truth value"),
        )
    return found


def _python_codelets(graph: Graph, classes: Iterable[type | Codelet]) -> dict[str, Codelet]:
    """The vertex classes that this process has: those that were given, and those that its own program defined."""
    from tremula.frontends.poplar.codelets.loading import add_codelets
    from tremula.frontends.poplar.codelets.python_classes import PythonVertex

    scratch = Graph(graph.contents.target, graph.contents.replicas)
    for given in classes:
        if isinstance(given, type):
            add_codelets(scratch, given)
    for each in _subclasses(PythonVertex):
        if getattr(each, "compute", None) is not None:
            with contextlib.suppress(PoplarError):  # one that nobody asked for may be unfinished
                add_codelets(scratch, each)
    return scratch.contents.codelets


def _subclasses(base: type) -> Sequence[type]:
    found: list[type] = []
    waiting = [base]
    while waiting:
        below: list[type] = waiting.pop().__subclasses__()
        found.extend(below)
        waiting.extend(below)
    return found


def _matching(described: Codelet, own: Mapping[str, Codelet]) -> Codelet:
    codelet = own.get(described.name)
    if codelet is None:
        known = ", ".join(sorted(own)) or "none"
        raise GraphObjectLoadError(
            f"the executable has vertices of type {described.name}, a Python class that this program does not define: "
            f"define it before the executable is loaded, or pass it as a codelet; classes so far: {known}"
        )
    if _description(codelet) != _description(described):
        raise GraphObjectLoadError(
            f"the Python class of vertex type {described.name} has other fields than the one that the executable was "
            "made with: make it again with compileGraph"
        )
    return codelet
