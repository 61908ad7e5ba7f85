"""The nodes of a program as the graph compiler lists them, after the rewrites that take ops away or rename them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from tremula.frontends.onnx.model import Node
from tremula.frontends.onnx.run.program import GraphProgram

Enabled = Callable[[str], bool]

#: known before the graph runs
_COMPUTED = ("Constant", "Shape", "Size")
#: ops that draw numbers in the shape of a tensor -> the op that draws them in a shape, and the rewrite
_LIKE = {
    "RandomNormalLike": ("RandomNormal", "RandomNormalLikeOpPattern"),
    "RandomUniformLike": ("RandomUniform", "RandomUniformLikeOpPattern"),
}


def listed_nodes(program: GraphProgram, enabled: Enabled) -> dict[Node, Node]:
    """The nodes that the compiler keeps, each with that of the graph; `enabled` tells which rewrites are on."""
    nodes = _without_constants(program)
    listed = {_drawn(node) if _is_like(node, enabled) else node: node for node in nodes}
    return _without_scalar_losses(listed, program) if enabled("OpToIdentity") else listed


def _is_like(node: Node, enabled: Enabled) -> bool:
    return node.type in _LIKE and enabled(_LIKE[node.type][1])


def _drawn(node: Node) -> Node:
    return replace(node, type=_LIKE[node.type][0], inputs=())


def _without_constants(program: GraphProgram) -> list[Node]:
    """Nodes that work on constants alone are computed before, unless somebody asks for their results."""
    anchored = set(program.wanted)
    constants: set[str] = set()
    found = []
    for node in program.interpreter.needed(program.wanted):
        inputs = [name for name in node.inputs if name]
        folds = bool(inputs) and constants.issuperset(inputs) and not anchored.intersection(node.outputs)
        if node.type in _COMPUTED or (folds and not any(node.graphs)):
            constants.update(node.outputs)
        else:
            found.append(node)
    return found


def _without_scalar_losses(nodes: Mapping[Node, Node], program: GraphProgram) -> dict[Node, Node]:
    """The loss of a single number is that number: what made it makes the loss."""
    makers = {name for node in nodes for name in node.outputs}
    losses = {
        node: (node.inputs[0], node.outputs[0])
        for node in nodes
        if node.type == "IdentityLoss"
        and node.inputs[0] in makers
        and node.inputs[0] not in program.wanted
        and math.prod(program.types[node.inputs[0]].shape) == 1
    }
    names = dict(losses.values())
    return {_renamed(node, names): of for node, of in nodes.items() if node not in losses}


def _renamed(node: Node, names: Mapping[str, str]) -> Node:
    if not names.keys() & {*node.inputs, *node.outputs}:
        return node
    inputs, outputs = (tuple(names.get(name, name) for name in each) for each in (node.inputs, node.outputs))
    return replace(node, inputs=inputs, outputs=outputs)
