"""Parts of the Graph of the Python interface that no engine is needed for."""

from __future__ import annotations

import io

import numpy as np
import pytest

import poplar
from poplar.program import Call, Copy, Execute, Repeat, Sequence


class Join(poplar.Vertex):
    """Adds to the elements of a vector."""

    x: poplar.Input[poplar.Vector[poplar.FLOAT]]
    y: poplar.InOut[poplar.Vector[poplar.FLOAT]]

    def compute(self):
        for i in range(len(self.y)):
            self.y[i] = self.y[i] + self.x[i]


@pytest.fixture
def graph() -> poplar.Graph:
    made = poplar.Graph(poplar.IPUModel().createDevice())
    made.addCodelets(Join)
    return made


def test_half_comes_as_numbers_or_as_bits(graph: poplar.Graph) -> None:
    bits = np.array([1.5, -2], np.float16).view(np.uint16)
    constant = graph.addConstantHalf(poplar.HALF, [2], bits)
    assert [constant[place].getConstantValue() for place in range(2)] == [1.5, -2]
    wide = poplar.copyDeviceHalfToFloat(graph.getTarget(), bits)
    assert wide.dtype == np.float32
    back = np.zeros(2, np.uint16)
    assert poplar.copyFloatToDeviceHalf(graph.getTarget(), wide, back).tolist() == bits.tolist()


def test_graphs_are_drawn(graph: poplar.Graph) -> None:
    x, y = graph.addVariable(poplar.FLOAT, [2], 'x "1"'), graph.addVariable(poplar.FLOAT, [2], "y")
    made = graph.addComputeSet("join")
    graph.addVertex(made, "Join", {"x": x, "y": y})
    program = Sequence(Copy(x, y), Repeat(2, Call(graph.addFunction(Execute(made)))), Execute(made))
    vertices, steps = io.StringIO(), io.StringIO()
    graph.outputVertexGraph(vertices, program)
    assert 'var0 [shape=box, label="x \\"1\\" float[2]"];' in vertices.getvalue()
    assert "v0_0_0 -> var1" in vertices.getvalue()
    assert "v0_0_0 -> var0" not in vertices.getvalue()
    graph.outputComputeGraph(steps, [program])
    assert steps.getvalue().count("Execute join") == 2
    assert "[style=dashed]" in steps.getvalue()


def test_what_a_graph_lacks_is_said(graph: poplar.Graph) -> None:
    with pytest.raises(AttributeError, match="has no 'addFunctionBuffer'"):
        graph.addFunctionBuffer()


def test_a_constant_is_found_behind_a_variable(graph: poplar.Graph) -> None:
    x = graph.addVariable(poplar.FLOAT, [4], "x")
    constant = graph.addConstant(poplar.FLOAT, [1], 2.0, "two")
    both = poplar.concat([x, constant])
    assert both.containsConstant()
    assert both.getDebugStr() == "x, two"
    assert not both.slice(0, 4).containsConstant()
