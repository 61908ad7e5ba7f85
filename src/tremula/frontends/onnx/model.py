"""An ONNX model as it is read from a file or from bytes: checked, bounded, nothing executed.

`onnx` parses the bytes; everything else is ours, so that a wrong file gives an `Error` that says what is wrong. Values
of weights stay where they are until somebody asks for them (stored_tensors.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tremula.errors import Error, about_file
from tremula.frontends.onnx.dtypes import ElementType, element_type
from tremula.frontends.onnx.origins import scope_of, source_of
from tremula.frontends.onnx.parsing import contents, parse
from tremula.frontends.onnx.stored_tensors import StoredTensor, stored
from tremula.program.op import SourceLine

#: the domain of ONNX's own operators, which files write as nothing
STANDARD = "ai.onnx"
_MOST_NODES = 1_000_000
_DEEPEST = 32
_LONGEST_NAME = 4096

_FLOAT, _INT, _STRING, _TENSOR, _GRAPH = 1, 2, 3, 4, 5
_FLOATS, _INTS, _STRINGS, _TENSORS, _GRAPHS = 6, 7, 8, 9, 10


@dataclass(frozen=True)
class AttributeReference:
    """In the body of a function: the attribute of that name of the node that calls it."""

    name: str


Attribute: TypeAlias = "float | int | str | StoredTensor | Graph | AttributeReference | tuple[Any, ...]"


@dataclass(frozen=True)
class Value:
    """An input or output of a graph. A dimension is a number, a name, or None where the file does not say."""

    name: str
    type: ElementType | None
    shape: tuple[int | str | None, ...] | None


@dataclass(frozen=True, eq=False)
class Node:
    """One operation. An input that is left out is an empty name."""

    domain: str
    type: str
    #: of the domain's operators, as the model says
    version: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    name: str = ""
    #: the user's line that made it, where that is known
    source: SourceLine | None = None
    #: names of the modules around it, outermost first
    scope: tuple[str, ...] = ()

    def __str__(self) -> str:
        named = f" '{self.name}'" if self.name else ""
        made = ", ".join(name for name in self.outputs if name)
        return f"{self.type}{named} (-> {made})" if made and made != self.name else f"{self.type}{named}"

    @property
    def graphs(self) -> Iterator[Graph]:
        """The graphs among its attributes."""
        for value in self.attributes.values():
            for each in value if isinstance(value, tuple) else (value,):
                if isinstance(each, Graph):
                    yield each


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in the order in which they run, with what goes in and comes out."""

    name: str
    nodes: tuple[Node, ...]
    initializers: Mapping[str, StoredTensor]
    #: without those that are initializers
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]

    def all_nodes(self) -> Iterator[Node]:
        """Its nodes and those of the graphs inside of them."""
        for node in self.nodes:
            yield node
            for graph in node.graphs:
                yield from graph.all_nodes()


@dataclass(frozen=True, eq=False)
class Function:
    """An operator that the model defines itself."""

    domain: str
    type: str
    graph: Graph
    #: attributes that a caller may leave out
    defaults: Mapping[str, Attribute]


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A model: its main graph, the operator sets that it is written in, and its own functions."""

    graph: Graph
    opsets: Mapping[str, int]
    functions: Mapping[tuple[str, str], Function] = field(default_factory=dict)
    producer: str = ""
    #: what the file says besides, by name
    properties: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def load(
        model: str | os.PathLike[str] | bytes, sources: Mapping[str, SourceLine] | None = None
    ) -> OnnxModel:
        """The model in a file, or in bytes. `sources` has the user's lines by the first output of a node.

        Raises:
            Error: it is not an ONNX model, or says something that makes no sense.
        """
        if isinstance(model, bytes):
            return _Reader(None, sources or {}).model(parse(model))
        path = Path(model)
        try:
            return _Reader(path.parent, sources or {}).model(parse(contents(path)))
        except Error as problem:
            raise about_file(problem, str(path)) from None


#: the names of a graph and of those around it, outermost first
_Scopes: TypeAlias = tuple[set[str], ...]


class _Reader:
    """Turns messages into a model and checks them on the way."""

    def __init__(self, folder: Path | None, sources: Mapping[str, SourceLine]) -> None:
        self._folder = folder
        self._sources = sources
        self._nodes = 0
        self._opsets: dict[str, int] = {}

    def model(self, message: Any) -> OnnxModel:
        opsets = self._opsets = _opsets(message.opset_import)
        if STANDARD not in opsets and any(_domain(n.domain) == STANDARD for n in message.graph.node):
            # before operator sets had versions there was one
            opsets[STANDARD] = 1
        functions = {}
        for each in message.functions:
            key = (_domain(each.domain), _name(each.name, "a function"))
            functions[key] = self._function(each)
        self._opsets = opsets
        graph = self.graph(message.graph, (), 0)
        properties = {each.key: each.value for each in message.metadata_props}
        return OnnxModel(graph, opsets, functions, message.producer_name, properties)

    def _function(self, message: Any) -> Function:
        self._opsets = {**self._opsets, **_opsets(message.opset_import)}
        known = set(message.input)
        nodes = []
        for each in message.node:
            nodes.append(self._node(each, (known,), 1))
            known.update(each.output)
        missing = [name for name in message.output if name not in known]
        if missing:
            raise Error(f"the function {message.name} has an output that nothing makes: {missing[0]}.")
        graph = Graph(
            message.name,
            tuple(nodes),
            {},
            tuple(Value(name, None, None) for name in message.input),
            tuple(Value(name, None, None) for name in message.output),
        )
        defaults = {each.name: self._attribute(each, (known,), 1) for each in message.attribute_proto}
        return Function(_domain(message.domain), message.name, graph, defaults)

    def node(self, message: Any, opsets: Mapping[str, int]) -> Node:
        """One node of a graph that is being made, whose names are checked already."""
        self._opsets = dict(opsets)
        return self._node(message, (_Everything(),), 0)

    def graph(self, message: Any, outer: _Scopes, depth: int) -> Graph:
        if depth > _DEEPEST:
            raise Error(f"graphs are nested more than {_DEEPEST} deep.")
        if message.sparse_initializer:
            raise Error("sparse initializers are not supported.")
        initializers: dict[str, StoredTensor] = {}
        for each in message.initializer:
            name = _name(each.name, "an initializer")
            if name in initializers:
                raise Error(f"there are two initializers called {name}.")
            initializers[name] = stored(each, self._folder, f"the initializer {name}")
        inputs = tuple(_value(each, "an input") for each in message.input)
        _refuse_repeats([each.name for each in inputs], "inputs")
        known = {*initializers, *(each.name for each in inputs)}
        scopes = (*outer, known)
        nodes = []
        made: set[str] = set()
        for each in message.node:
            nodes.append(self._node(each, scopes, depth))
            again = made.intersection(name for name in each.output if name)
            if again:
                raise Error(f"the tensor {min(again)} is made by two nodes.")
            made.update(name for name in each.output if name)
            known.update(each.output)
        outputs = tuple(_value(each, "an output") for each in message.output)
        missing = [each.name for each in outputs if not _is_known(each.name, scopes)]
        if missing:
            raise Error(f"the graph has an output that nothing makes: {missing[0]}.")
        own = tuple(each for each in inputs if each.name not in initializers)
        return Graph(message.name, tuple(nodes), initializers, own, outputs)

    def _node(self, message: Any, known: _Scopes, depth: int) -> Node:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise Error(f"the model has more than {_MOST_NODES:,} nodes.")
        domain = _domain(message.domain)
        kind = _name(message.op_type, "the type of a node")
        what = f"the node '{message.name}' of type {kind}" if message.name else f"a node of type {kind}"
        missing = [name for name in message.input if name and not _is_known(name, known)]
        if missing:
            raise Error(
                f"{what} reads {missing[0]}, which is neither an input, an initializer nor an output of an "
                "earlier node."
            )
        _refuse_repeats([name for name in message.output if name], f"outputs of {what}")
        attributes: dict[str, Attribute] = {}
        for each in message.attribute:
            if each.name in attributes:
                raise Error(f"{what} has two attributes called {each.name}.")
            try:
                attributes[each.name] = self._attribute(each, known, depth)
            except Error as problem:
                raise Error(f"{what}, attribute {each.name}: {problem.message}") from problem
        first = next((name for name in message.output if name), "")
        properties = {each.key: each.value for each in message.metadata_props}
        return Node(
            domain,
            kind,
            self._opsets.get(domain, 1),
            tuple(message.input),
            tuple(message.output),
            attributes,
            message.name,
            self._sources.get(first) or source_of(properties),
            scope_of(message.name, properties),
        )

    def _attribute(self, message: Any, known: _Scopes, depth: int) -> Attribute:
        if message.ref_attr_name:
            return AttributeReference(message.ref_attr_name)
        kind = message.type
        if kind == _FLOAT:
            return float(message.f)
        if kind == _INT:
            return int(message.i)
        if kind == _STRING:
            return _text(message.s)
        if kind == _TENSOR:
            return stored(message.t, self._folder, "its tensor")
        if kind == _GRAPH:
            return self.graph(message.g, known, depth + 1)
        if kind == _FLOATS:
            return tuple(float(value) for value in message.floats)
        if kind == _INTS:
            return tuple(int(value) for value in message.ints)
        if kind == _STRINGS:
            return tuple(_text(value) for value in message.strings)
        if kind == _TENSORS:
            return tuple(stored(value, self._folder, "one of its tensors") for value in message.tensors)
        if kind == _GRAPHS:
            return tuple(self.graph(value, known, depth + 1) for value in message.graphs)
        raise Error("attributes of this type (sparse tensors, types, or none at all) are not supported.")


class _Everything(set[str]):
    """All names."""

    def __contains__(self, name: object) -> bool:
        return True


def node_of(message: Any, opsets: Mapping[str, int]) -> Node:
    """The node in a message, of a graph that is being made.

    Raises:
        Error: its attributes make no sense.
    """
    return _Reader(None, {}).node(message, opsets)


def _is_known(name: str, scopes: _Scopes) -> bool:
    return any(name in scope for scope in scopes)


def _opsets(messages: Sequence[Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in messages:
        if not 1 <= each.version <= 10_000:
            raise Error(f"version {each.version} of the operator set '{each.domain}' makes no sense.")
        found[_domain(each.domain)] = int(each.version)
    return found


def _domain(text: str) -> str:
    return _name(text, "a domain") if text else STANDARD


def _name(text: str, what: str) -> str:
    if not text:
        raise Error(f"{what} is empty where there must be a name.")
    if len(text) > _LONGEST_NAME:
        raise Error(f"{what} has a name of {len(text):,} characters.")
    return text


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise Error("it is not text.") from problem


def _value(message: Any, what: str) -> Value:
    name = _name(message.name, what)
    if not message.type.HasField("tensor_type"):
        if message.type.WhichOneof("value") is None:
            return Value(name, None, None)
        raise Error(
            f"{what}, {name}, is not a tensor; sequences, maps and optional values are not supported."
        )
    kind = message.type.tensor_type
    number = int(kind.elem_type)
    found = element_type(number) if number else None
    if not kind.HasField("shape"):
        return Value(name, found, None)
    shape: list[int | str | None] = []
    for each in kind.shape.dim:
        if each.HasField("dim_value"):
            if each.dim_value < 0:
                raise Error(f"{what}, {name}, has a dimension of {each.dim_value}.")
            shape.append(int(each.dim_value))
        else:
            shape.append(each.dim_param or None)
    return Value(name, found, tuple(shape))


def _refuse_repeats(names: Sequence[str], what: str) -> None:
    if len(set(names)) != len(names):
        again = next(name for place, name in enumerate(names) if name in names[:place])
        raise Error(f"two {what} are called {again}.")
