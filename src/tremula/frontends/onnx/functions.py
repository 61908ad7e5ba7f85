"""Functions that a model defines itself: their bodies, with the attributes of the node that calls them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tremula.frontends.onnx.model import Attribute, AttributeReference, Function, Graph, Node


def bound(function: Function, node: Node) -> Graph:
    """The body of `function` as `node` calls it."""
    return _bound(function.graph, {**function.defaults, **node.attributes}, node)


def _bound(graph: Graph, given: Mapping[str, Attribute], caller: Node) -> Graph:
    nodes = []
    for node in graph.nodes:
        attributes: dict[str, Attribute] = {}
        for name, value in node.attributes.items():
            if isinstance(value, AttributeReference):
                if value.name in given:
                    attributes[name] = given[value.name]
            elif isinstance(value, Graph):
                attributes[name] = _bound(value, given, caller)
            else:
                attributes[name] = value
        nodes.append(
            replace(
                node,
                attributes=attributes,
                source=node.source or caller.source,
                scope=node.scope or caller.scope,
            )
        )
    return replace(graph, nodes=tuple(nodes))
