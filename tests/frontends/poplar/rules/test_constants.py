"""Constants that vertices are connected to are known to estimates of their cycles."""

from __future__ import annotations

import numpy as np

import poplar
from tremula.frontends.poplar.graph.edges import edges_of
from tremula.frontends.poplar.rules import constants


class Loop(poplar.Vertex):
    turns: poplar.Input[poplar.UNSIGNED_INT]
    scale: poplar.Input[poplar.FLOAT]
    x: poplar.InOut[poplar.Vector[poplar.FLOAT]]

    def compute(self):
        for _ in range(self.turns):
            self.x[0] += self.scale


def test_constants_and_variables():
    graph = poplar.Graph(poplar.IPUModel().createDevice())
    graph.addCodelets(Loop)
    x = graph.addVariable(poplar.FLOAT, [3])
    turns = graph.addConstant(poplar.UNSIGNED_INT, [2], [7, 9])
    work = graph.addComputeSet()
    for number, which in enumerate((turns[1], turns[0], graph.addConstant(poplar.UNSIGNED_INT, [], 4))):
        graph.addVertex(work, "Loop", {"turns": which, "scale": x[0], "x": x[number : number + 1]})
    (batch,) = work.batches.values()
    edges = {name: edges_of(batch, field) for name, field in batch.codelet.fields.items()}
    found = constants.scalars(graph.memory, batch, edges)
    assert set(found) == {"turns"}
    np.testing.assert_array_equal(found["turns"], [9, 7, 4])
