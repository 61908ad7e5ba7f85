"""Sums of many tensors as additions of two."""

from __future__ import annotations

from tremula.frontends.popxl.model import Graph, Op


def decompose_sums(graph: Graph) -> None:
    """Replace the sums of `graph` by a zero, to which each part is added in place."""
    for op in list(graph.ops):
        if op.kind == "Sum":
            _decompose(graph, op)


def _decompose(graph: Graph, op: Op) -> None:
    result = op.outputs[0]
    parts = op.input_list
    consumers = [
        (each, index) for each in result.consumers for index, t in each.inputs.items() if t is result
    ]
    attributes = {"shape": result.type.shape, "dtype": result.type.dtype}
    place = graph.ops.index(op)
    total = graph.add_op("Init", {}, {0: f"{result.name}_init"}, attributes, op.settings).outputs[0]
    for part in parts:
        added = graph.add_op("AddLhsInplace", {0: total, 1: part}, {0: f"{result.name}_sum"}, {}, op.settings)
        total = added.outputs[0]
    made = graph.ops[-len(parts) - 1 :]
    del graph.ops[-len(parts) - 1 :]
    graph.ops[place:place] = made
    for consumer, index in consumers:
        consumer.connect(index, total)
    graph.outputs[:] = [total if each is result else each for each in graph.outputs]
    graph.erase(op)
    graph.tensors.pop(result.identifier, None)
