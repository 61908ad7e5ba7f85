"""Programs as a list of nodes, each after those below it. A program that stands in several places is one node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from tremula.checked_json import BadValue, decode
from tremula.frontends.poplar.execute.printing import PrintFormat, format_of
from tremula.frontends.poplar.execute.stored.columns import entries, flag, item, record, text, whole
from tremula.frontends.poplar.execute.stored.views import ViewTable, checked_view
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.program import programs as p
from tremula.frontends.poplar.program.endpoints import Function
from tremula.frontends.poplar.program.library import LibraryCall
from tremula.program import work as works
from tremula.program.check_work import check_work

#: fields of each kind of program, with what they hold
_FIELDS: dict[type[p.Program], dict[str, str]] = {
    p.Sequence_: {"programs": "programs"},
    p.Block: {"program": "program"},
    p.Execute: {"compute_set": "set", "exit_value": "view?"},
    p.TensorCopy: {"source_view": "view", "target_view": "view", "dont_outline": "flag"},
    p.StreamRead: {"stream": "stream", "view": "view", "optimise_memory": "flag"},
    p.StreamWrite: {"stream": "stream", "view": "view", "optimise_memory": "flag"},
    p.RemoteRead: {"buffer": "buffer", "view": "view", "offset": "view?"},
    p.RemoteWrite: {"buffer": "buffer", "view": "view", "offset": "view?"},
    p.CrossReplicaCopy: {"source_view": "view", "target_view": "view", "replica_map": "map"},
    p.WriteUndef: {"view": "view"},
    p.Repeat: {"count": "number", "body": "program"},
    p.RepeatWhile: {"condition": "program", "predicate": "view", "body": "program", "expected": "flag"},
    p.If: {"predicate": "view", "true_body": "program", "false_body": "program"},
    p.Switch: {"control": "view", "cases": "cases", "default": "program", "unreachable": "text?"},
    p.Call: {"function": "function"},
    p.PrintTensor: {"title": "text", "view": "view", "format": "format"},
    p.Sync: {"kind": "text"},
    p.AssumeEqualAcrossReplicas: {"view": "view"},
    p.Abort: {"message": "text"},
    p.AbortOnCondition: {"predicate": "view", "message": "text"},
    p.ErrorProgram: {"message": "text", "view": "view"},
    p.CallHost: {"function": "host", "inputs": "views", "outputs": "views"},
    p.CountCycles: {"body": "program?", "counter": "view", "tile": "number", "sync": "text"},
    p.RunLibrary: {"call": "call"},
    p.Program: {},
}
_KINDS = {kind.__name__: kind for kind in _FIELDS}
_WORKS: dict[str, Any] = {kind.__name__: kind for kind in works.Work.__args__}
_DEEPEST = 20


class ProgramWriter:
    """Numbers programs and writes them as plain data."""

    def __init__(self, views: ViewTable) -> None:
        self._views = views
        self._numbers: dict[int, int] = {}
        self.nodes: list[dict[str, Any]] = []

    def number(self, root: p.Program) -> int:
        """The number of a program; it and all below it are written if they are not yet."""
        waiting = [(root, False)]
        while waiting:
            program, entered = waiting.pop()
            if id(program) in self._numbers:
                continue
            if not entered:
                waiting.append((program, True))
                waiting.extend((child, False) for child in reversed(program.children()))
                continue
            self._numbers[id(program)] = len(self.nodes)
            self.nodes.append(self._node(program))
        return self._numbers[id(root)]

    def _node(self, program: p.Program) -> dict[str, Any]:
        kind = next(each for each in type(program).__mro__ if each in _FIELDS)
        fields = {name: self._value(what, getattr(program, name)) for name, what in _FIELDS[kind].items()}
        return {"kind": kind.__name__, "name": program.name, "source": program.source, "fields": fields}

    def _value(self, what: str, value: Any) -> Any:
        if what.endswith("?"):
            return None if value is None else self._value(what[:-1], value)
        match what:
            case "view":
                return self._views.number(value)
            case "views":
                return [self._views.number(each) for each in value]
            case "program":
                return self._numbers[id(value)]
            case "programs":
                return [self._numbers[id(each)] for each in value]
            case "cases":
                return [[number, self._numbers[id(body)]] for number, body in value]
            case "set" | "function":
                return value.number
            case "stream" | "buffer":
                return value.handle
            case "host":
                return value.handle
            case "map":
                return sorted(value.items())
            case "format":
                return None if value is None else asdict(format_of(value))
            case "call":
                return self._call(value)
        return value

    def _call(self, call: LibraryCall) -> dict[str, Any]:
        return {
            "function": call.function,
            "inputs": [self._views.number(view) for view in call.inputs],
            "outputs": [self._views.number(view) for view in call.outputs],
            "attributes": call.attributes,
            "works": [[type(work).__name__, asdict(work)] for work in call.works],
            "bytes_per_tile": call.bytes_per_tile,
        }


class ProgramReader:
    """Makes programs again. Each names only those before it, so there are no circles."""

    def __init__(self, graph: Graph, views: Sequence[View], functions: int) -> None:
        self._graph = graph
        self._views = views
        #: functions get their programs when all nodes are there
        self.functions = [Function(number, p.Program()) for number in range(functions)]
        self.programs: list[p.Program] = []

    def read(self, document: Any) -> None:
        """Make all nodes."""
        for given in entries(document, "the programs"):
            node = record(given, "a program", ("kind", "name", "source", "fields"))
            kind = _KINDS.get(text(node["kind"], "the kind of a program"))
            if kind is None:
                raise BadValue(f"there is no program of kind {node['kind'][:80]}")
            wanted = _FIELDS[kind]
            fields = record(node["fields"], f"the fields of a {node['kind']}", tuple(wanted))
            made = object.__new__(kind)
            for name, what in wanted.items():
                setattr(made, name, self._value(what, fields[name]))
            made.name, made.source = text(node["name"], "a name"), text(node["source"], "a line")
            self._check(made)
            self.programs.append(made)

    def program(self, number: Any) -> p.Program:
        """A program by its number."""
        found: p.Program = item(self.programs, number, "the number of a program")
        return found

    def _value(self, what: str, value: Any) -> Any:
        if what.endswith("?"):
            return None if value is None else self._value(what[:-1], value)
        contents = self._graph.contents
        readers: dict[str, Callable[[Any], Any]] = {
            "view": lambda given: checked_view(self._views, given),
            "views": lambda given: tuple(checked_view(self._views, each) for each in entries(given, "views")),
            "program": self.program,
            "programs": lambda given: [self.program(each) for each in entries(given, "programs")],
            "cases": self._cases,
            "set": lambda given: item(contents.compute_sets, given, "a compute set"),
            "function": lambda given: item(self.functions, given, "a function"),
            "stream": lambda given: _named(contents.streams, given, "stream"),
            "buffer": lambda given: _named(contents.remote_buffers, given, "remote buffer"),
            "host": lambda given: _named(contents.host_functions, given, "host function"),
            "map": self._map,
            "format": lambda given: None if given is None else decode(PrintFormat, given),
            "call": self._call,
            "flag": lambda given: flag(given, "a truth value"),
            "number": lambda given: whole(given, "a number"),
            "text": lambda given: text(given, "a text"),
        }
        return readers[what](value)

    def _cases(self, value: Any) -> list[tuple[int, p.Program]]:
        cases = []
        for each in entries(value, "cases"):
            if type(each) is not list or len(each) != 2:
                raise BadValue("a case is not a pair")
            cases.append((whole(each[0], "a case", -(1 << 62)), self.program(each[1])))
        return cases

    def _map(self, value: Any) -> dict[int, int]:
        replicas = self._graph.contents.replicas
        pairs = [entries(each, "a pair of replicas") for each in entries(value, "a map of replicas")]
        if any(len(pair) != 2 for pair in pairs):
            raise BadValue("a pair of replicas is invalid")
        return {whole(a, "a replica", 0, replicas): whole(b, "a replica", 0, replicas) for a, b in pairs}

    def _call(self, value: Any) -> LibraryCall:
        keys = ("function", "inputs", "outputs", "attributes", "works", "bytes_per_tile")
        given = record(value, "a library call", keys)
        attributes = given["attributes"]
        if type(attributes) is not dict:
            raise BadValue("the attributes of a library call are not an object")
        _plain(attributes, 0)
        return LibraryCall(
            text(given["function"], "a library function"),
            self._value("views", given["inputs"]),
            self._value("views", given["outputs"]),
            attributes,
            tuple(_work(each) for each in entries(given["works"], "works")),
            whole(given["bytes_per_tile"], "bytes"),
        )

    def _check(self, program: p.Program) -> None:
        """What constructors and `make_copy` would have refused."""
        match program:
            case p.TensorCopy() | p.CrossReplicaCopy():
                one, other = program.source_view, program.target_view
                fits = one.type is other.type and one.elements == other.elements
            case p.StreamRead() | p.StreamWrite():
                stream, view = program.stream, program.view
                fits = stream.type is view.type and stream.elements == view.elements
                fits &= stream.to_device is isinstance(program, p.StreamRead)
            case p.RemoteRead() | p.RemoteWrite():
                rows = 1 if program.offset is None else program.offset.elements
                fits = program.buffer.type is program.view.type
                fits &= program.buffer.elements * rows == program.view.elements
            case p.Switch():
                fits = len({number for number, _ in program.cases}) == len(program.cases)
            case _:
                fits = True
        if not fits:
            raise BadValue(f"the parts of a {type(program).__name__} do not fit together")


def _named(known: dict[str, Any], handle: Any, what: str) -> Any:
    if type(handle) is not str or handle not in known:
        raise BadValue(f"there is no {what} {str(handle)[:80]!r}")
    return known[handle]


def _work(value: Any) -> Any:
    if type(value) is not list or len(value) != 2 or value[0] not in _WORKS:
        raise BadValue("the work of an op has an unknown kind")
    made = decode(_WORKS[value[0]], value[1])
    check_work(made)
    return made


def _plain(value: Any, depth: int) -> None:
    """Raise unless a value is made of numbers, texts, lists and objects, and is not nested too deeply."""
    if depth > _DEEPEST:
        raise BadValue("attributes are nested too deeply")
    if isinstance(value, dict):
        for each in value.values():
            _plain(each, depth + 1)
    elif isinstance(value, list):
        for each in value:
            _plain(each, depth + 1)
