"""Graphs that leave the program that traced them.

In a traced program, the queues of feeds are iterators and queues with names. In an executable, all of them are plain
queues, which calls fill and empty; and nothing names a device or asks for XLA. A graph that comes from a file is looked
through before it is run: ops that reach outside of the computation are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v2 as tf
from google.protobuf.message import DecodeError
from tensorflow.core.framework import attr_value_pb2, graph_pb2
from tensorflow.python.framework import op_def_registry

from tremula.frontends.tensorflow.executables.container import Executable, ExecutableError
from tremula.frontends.tensorflow.replicas import analysis

_INFEED = "Infeed with id="
#: attributes that ask for compilation or for the order of a strategy; they mean nothing elsewhere
_DROPPED = ("_XlaMustCompile", "_XlaCompile", "_XlaScope", "_XlaSeparateCompiledGradients", "_class")
#: ops with state that only compute
_HARMLESS = frozenset(
    {
        "VarHandleOp", "ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp",
        "VarIsInitializedOp", "VariableShape", "DestroyResourceOp",
        "FIFOQueueV2", "QueueEnqueueV2", "QueueDequeueV2", "QueueSizeV2",
        "While", "If", "Case", "PartitionedCall", "StatefulPartitionedCall",
        "Assert", "Placeholder", "PlaceholderWithDefault",
        "Multinomial", "ParameterizedTruncatedNormal", "RngReadAndSkip", "RngSkip", "StatefulUniform",
        "StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniformInt", "StatefulUniformFullInt",
        "StackV2", "StackPushV2", "StackPopV2",
    }
)  # fmt: skip
_HARMLESS_PREFIXES = ("Resource", "Random", "Truncated", "TensorArray", "TensorList")
_REFUSED = frozenset(
    {"ReadFile", "WriteFile", "MatchingFiles", "ShardedFilename", "DecodeWav", "LoadAndRemapMatrix"}
)


@dataclass
class FeedShape:
    """One queue of a traced program.

    Attributes:
        name: of its resource.
        types: of the tensors of an element.
        shapes: of the same.
    """

    name: str
    types: list[Any]
    shapes: list[Any]


def feeds(graph: Any) -> tuple[list[FeedShape], list[FeedShape]]:
    """The infeeds and outfeeds of a traced program, in the order in which it uses them.

    Raises:
        ValueError: it takes elements from something else, or keeps only the last one.
    """
    known = analysis.Analysis()
    infeeds: dict[str, FeedShape] = {}
    outfeeds: dict[str, FeedShape] = {}
    for op in _operations(graph, known, set()):
        if op.type == "IteratorV2":
            name = analysis.attribute(op, "shared_name")
            if not name.startswith(_INFEED):
                raise ValueError(
                    f"An executable takes elements from an IPUInfeedQueue, not from the iterator {name!r}."
                )
            shapes = [tf.TensorShape(shape) for shape in op.get_attr("output_shapes")]
            infeeds.setdefault(name, FeedShape(name, list(op.get_attr("output_types")), shapes))
        elif analysis.is_outfeed(op):
            if op.type != "QueueEnqueueV2":
                raise ValueError(
                    "An executable gives every element of its outfeeds: make the IPUOutfeedQueue with "
                    "outfeed_mode=IPUOutfeedMode.ALL."
                )
            name = analysis.attribute(op.inputs[0].op, "shared_name")
            values = list(op.inputs)[1:]
            outfeeds.setdefault(name, FeedShape(name, [t.dtype for t in values], [t.shape for t in values]))
    return list(infeeds.values()), list(outfeeds.values())


def _operations(graph: Any, known: analysis.Analysis, seen: set[str]) -> Iterator[Any]:
    for op in graph.get_operations():
        yield op
        for name in analysis.function_names(op):
            if name not in seen:
                seen.add(name)
                yield from _operations(_function_graph(op, name, known), known, seen)


def _function_graph(op: Any, name: str, known: analysis.Analysis) -> Any:
    """The graph of a function as it was traced, which knows all shapes; else one that is made of its definition."""
    graph = op.graph
    while graph is not None:
        traced = getattr(graph._get_function(name), "graph", None)
        if traced is not None:
            return traced
        graph = getattr(graph, "outer_graph", None)
    return known.graph(op, name)


def portable(graph: Any) -> Any:
    """The definition of a traced graph as an executable holds it."""
    definition = graph.as_graph_def(add_shapes=False)
    for node in _nodes(definition):
        node.device = ""
        node.ClearField("experimental_type")
        for name in _DROPPED:
            node.attr.pop(name, None)
        if node.op == "IteratorV2":
            _as_queue(node)
        elif node.op == "IteratorGetNext":
            node.op = "QueueDequeueV2"
            types = node.attr.pop("output_types")
            node.attr.pop("output_shapes")
            node.attr["component_types"].CopyFrom(types)
            node.attr["timeout_ms"].i = -1
    for function in definition.library.function:
        for name in _DROPPED:
            function.attr.pop(name, None)
    return definition


def _as_queue(node: Any) -> None:
    node.op = "FIFOQueueV2"
    types, shapes = node.attr.pop("output_types"), node.attr.pop("output_shapes")
    node.attr["component_types"].CopyFrom(types)
    node.attr["shapes"].CopyFrom(shapes)
    node.attr["capacity"].CopyFrom(attr_value_pb2.AttrValue(i=-1))


def _nodes(definition: Any) -> Iterator[Any]:
    yield from definition.node
    for function in definition.library.function:
        yield from function.node_def


def checked(executable: Executable, path: Any) -> Any:
    """The graph of an executable that was read from a file.

    Raises:
        ExecutableError: it is none, lacks what the file declares, or has an op that does more than compute.
    """
    definition = graph_pb2.GraphDef()
    try:
        definition.ParseFromString(executable.graph)
    except DecodeError as problem:
        raise ExecutableError(
            f"{path} is damaged: its graph cannot be decoded. Compile the program again."
        ) from problem
    functions = {function.signature.name for function in definition.library.function}
    for node in _nodes(definition):
        if node.op not in functions and not _only_computes(node.op):
            raise ExecutableError(
                f"{path} is refused: its graph has an op of type {node.op[:80]!r}, which an executable does not need. "
                f"Only programs that compute are run from a file."
            )
    names = {node.name for node in definition.node}
    needed = [each.placeholder for each in executable.arguments]
    needed += [name.partition(":")[0] for name in executable.outputs] + executable.controls
    if not names.issuperset(needed):
        raise ExecutableError(
            f"{path} is damaged: its graph lacks ops that it declares. Compile the program again."
        )
    return definition


def _only_computes(kind: str) -> bool:
    definition = op_def_registry.get(kind)
    if definition is None or kind in _REFUSED or "Dataset" in kind or "PyFunc" in kind:
        return False
    if not definition.is_stateful:
        return True
    return kind in _HARMLESS or kind.startswith(_HARMLESS_PREFIXES)
