"""Captured programs built by hand: no TensorFlow is needed."""

from __future__ import annotations

import numpy as np
import pytest

from tremula.frontends.tensorflow.capture.nodes import Block, Node, Value, Variable
from tremula.frontends.tensorflow.rules.lower import lower
from tremula.program.lowered import LoweringSettings
from tremula.program.op import Phase


class Graph:
    """A list of nodes under construction."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.phase = Phase.FORWARD
        self.block: Block | None = None

    def input(self, *shape: int, dtype: str = "fp32") -> Value:
        """A tensor that the host sends."""
        return self("IteratorGetNext", shape=shape, dtype=dtype)

    def variable(self, *shape: int, dtype: str = "fp32") -> Value:
        """The handle of a variable."""
        return Variable(f"variable{len(self.nodes)}{shape}", shape, dtype).value

    def read(self, variable: Value) -> Value:
        """The content of a variable."""
        return self("ReadVariableOp", variable, shape=variable.shape, dtype=variable.dtype)

    def const(self, content, dtype: str | None = None) -> Value:
        """A number or a list of the program's text."""
        array = np.asarray(content)
        kind = dtype or ("fp32" if array.dtype.kind == "f" else "int32")
        made = self("Const", shape=array.shape, dtype=kind)
        made.constant = array
        return made

    def __call__(self, kind, /, *inputs, shape=None, dtype=None, shapes=None, facts=None, **attributes):
        """A node; the value that it makes, several of them, or the node itself if it makes none."""
        node = Node(
            name=f"{kind}_{len(self.nodes)}",
            type=kind,
            inputs=list(inputs),
            outputs=[],
            attributes=attributes,
            facts=facts or {},
            phase=self.phase,
            block=self.block,
        )
        made = shapes if shapes is not None else [] if shape is None else [shape]
        for number, extents in enumerate(made):
            kept = dtype or (inputs[0].dtype if inputs else "fp32")
            node.outputs.append(Value(f"{node.name}:{number}", tuple(extents), kept, node=node))
        for value in dict.fromkeys(inputs):
            value.users.append(node)
        self.nodes.append(node)
        if not made:
            return node
        return node.outputs[0] if shapes is None else node.outputs

    def lower(self, results=None, **settings):
        """All nodes lowered, by node."""
        return lower(self.nodes, LoweringSettings(**settings), results)

    def of(self, value: Value, results=None, **settings):
        """What becomes of the node that makes `value`."""
        return self.lower(results, **settings)[value.node]


@pytest.fixture
def graph() -> Graph:
    """An empty program."""
    return Graph()


@pytest.fixture(scope="session")
def new_graph() -> type[Graph]:
    """`new_graph()`: an empty program, for tests that try many."""
    return Graph
