"""Reading a traced graph: the way from a function of TensorFlow to a captured program. Nothing runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tremula.frontends.tensorflow.capture import gradient_layers, gradients, loops, phases
from tremula.frontends.tensorflow.capture.captured import Captured
from tremula.frontends.tensorflow.capture.layers import LayerTree
from tremula.frontends.tensorflow.capture.live import live
from tremula.frontends.tensorflow.capture.nodes import Node, Value
from tremula.frontends.tensorflow.capture.reader import Reader, Surroundings
from tremula.frontends.tensorflow.capture.variables import Variables

#: the op that takes an element of a feed; all feeds become one of these
_INFEED = "IteratorGetNext"


def capture(graph: Any, *, model: Any = None, known: Mapping[int, Any] | None = None) -> Captured:
    """Read a traced program; nothing runs.

    Args:
        graph: the graph of the traced function, as one replica runs it.
        model: the Keras model that it runs, if it is one's.
        known: values of arguments by their position, such as a number of steps.
    """
    with _no_collection():
        return _captured(graph, LayerTree(model), known or {})


def _captured(graph: Any, layers: LayerTree, known: Mapping[int, Any]) -> Captured:
    variables = Variables()
    variables.of_graph(graph)
    reader = Reader(layers, variables)
    captures = {inner.ref(): outer for outer, inner in graph.captures}
    inputs = [
        _input(reader, variables, tensor, captures.get(tensor.ref()), known.get(place))
        for place, tensor in enumerate(graph.inputs)
    ]
    results = reader.read(graph, inputs, Surroundings())
    nodes = live(reader.nodes, results)
    phases.assign(nodes, reader.marked)
    counts = loops.find(nodes, variables.trainable)
    phases.settle(nodes, counts)
    trained = gradients.find(nodes, variables.trainable)
    nodes = reader.composites.merge(nodes, [*results, *(each.gradient for each in trained)])
    gradient_layers.assign(nodes)
    # a feed gives what it gives: how the host makes it is not the device's
    nodes = _behind_feeds(nodes, results)
    fed = [value for node in nodes if _is_feed(node) for value in node.outputs]
    arguments = [value for value in inputs if value.variable is None and value.users and not fed]
    given = [value for node in nodes if node.facts.get("feed") == "outfeed" for value in _sent(node)]
    used = set(nodes)
    unknown = [node for node in reader.unknown_sizes if node in used and not _is_feed(node)]
    return Captured(
        nodes,
        [each for each in variables.all if any(user in used for user in each.value.users)],
        fed or arguments,
        [value for value in given if value.variable is None] or results,
        trained,
        counts,
        unknown,
        reader.options,
    )


@contextmanager
def _no_collection() -> Iterator[None]:
    """While a program is read: what is made stays, and the collector would look at all of it again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _input(reader: Reader, variables: Variables, tensor: Any, captured: Any, known: Any) -> Value:
    if captured is not None and tensor.dtype.name == "resource":
        found = variables.capture(captured)
        if found is not None:
            return found
    value = reader.value(tensor.op.name, tensor)
    if known is not None:
        value.constant = np.asarray(known)
    return value


def _sent(node: Node) -> list[Value]:
    """What an op of an outfeed gives to the host: all but the handle of the queue."""
    return node.inputs[1:] if node.type.startswith("QueueEnqueue") else node.inputs


def _is_feed(node: Node) -> bool:
    return node.type == _INFEED or node.facts.get("feed") == "infeed"


def _behind_feeds(nodes: Sequence[Node], results: Sequence[Value]) -> list[Node]:
    """The nodes without those that only make the elements of feeds on the host."""
    for node in nodes:
        if _is_feed(node):
            for value in node.inputs:
                value.users = [user for user in value.users if user is not node]
            node.inputs, node.type = [], _INFEED
    return live(nodes, results)
