"""Attributes of nodes, found by the outputs of their nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tremula.errors import Error
from tremula.frontends.onnx.build.graph import GraphMaker, set_attribute

#: kind by the words of its error -> type of the attribute's message, its field
_KINDS = {
    "integer": ("INT", "i"),
    "integer vector": ("INTS", "ints"),
    "float": ("FLOAT", "f"),
    "float vector": ("FLOATS", "floats"),
    "string": ("STRING", "s"),
    "string vector": ("STRINGS", "strings"),
}


def put(maker: GraphMaker, name: str, value: Any, outputs: Iterable[str]) -> None:
    """Give a node an attribute that it does not have."""
    set_attribute(maker.node_of(outputs), name, value)


def has(maker: GraphMaker, name: str, outputs: Iterable[str]) -> bool:
    return any(each.name == name for each in maker.node_of(outputs).attribute)


def names(maker: GraphMaker, outputs: Iterable[str]) -> list[str]:
    return [each.name for each in maker.node_of(outputs).attribute]


def remove(maker: GraphMaker, name: str, outputs: Iterable[str]) -> None:
    node = maker.node_of(outputs)
    for place, each in enumerate(node.attribute):
        if each.name == name:
            del node.attribute[place]
            return
    raise Error(f"Cannot remove attribute {name} as it does not exist.")


def read(maker: GraphMaker, kind: str, name: str, outputs: Iterable[str]) -> Any:
    """The value of an attribute, which must be of that kind."""
    for each in maker.node_of(outputs).attribute:
        if each.name == name:
            wanted, field = _KINDS[kind]
            if each.type != getattr(each, wanted):
                article = "an" if kind.startswith("integer") else "a"
                raise Error(f"Attribute {name} is not {article} {kind}.")
            value = getattr(each, field)
            if kind == "string":
                return value.decode()
            return [item.decode() for item in value] if kind == "string vector" else value
    raise Error(f"Node does not have an attribute {name}.")
