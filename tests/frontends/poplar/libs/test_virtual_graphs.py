"""On a virtual graph, functions use its tiles alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplar
import popops
import poprand
import poputil
from poplar.program import Execute, Sequence
from poputil import poplibs_error


def tiles(graph: poplar.Graph, tensor: Any) -> set[int]:
    """The tiles of the whole graph that a tensor lies on."""
    return {tile for tile, intervals in enumerate(graph.getTileMapping(tensor)) if intervals}


def test_results_and_vertices_stay_on_the_virtual_tiles() -> None:
    device = poplar.IPUModel(tilesPerIPU=16).createDevice()
    whole = poplar.Graph(device.getTarget())
    part = whole.createVirtualGraph([9, 4, 5, 12])
    x = part.addVariable(poplar.FLOAT, [40, 8], "x")
    poputil.mapTensorLinearly(part, x)
    program = Sequence()
    seed = part.addConstant(poplar.UNSIGNED_INT, [2], [1, 2])
    part.setTileMapping(seed, 0)
    sets: list[Any] = []
    made = [
        popops.add(part, x, 1.0, program),
        popops.reduce(part, x, [1], popops.Operation.ADD, program),
        popops.reduce(part, x, [0], popops.Operation.ADD, sets),
        popops.hasNaN(part, x, program),
        popops.sort(part, x, 0, program),
        poprand.normal(part, seed, 0, x, poplar.FLOAT, 0.0, 1.0, program),
        poputil.createBroadcastOperand(part, x, poplar.FLOAT, 0, True),
    ]
    for each in sets:
        program.add(Execute(each))
    for each in made:
        assert tiles(whole, each) <= {4, 5, 9, 12}
    assert tiles(whole, made[3]) == {9}
    on_tiles = {tile for each in sets for batch in each.batches.values() for tile in batch.tiles}
    assert on_tiles <= {4, 5, 9, 12}
    whole.createHostWrite("x", x)
    whole.createHostRead("sum", made[2])
    engine = poplar.Engine(whole, program)
    engine.load(device)
    values, found = np.random.default_rng(0).random((40, 8), dtype=np.float32), np.zeros(8, np.float32)
    engine.writeTensor("x", values)
    engine.run()
    engine.readTensor("sum", found)
    np.testing.assert_allclose(found, values.sum(0), rtol=1e-5)


def test_constants_are_not_written() -> None:
    graph = poplar.Graph(poplar.IPUModel(tilesPerIPU=16).createDevice().getTarget())
    constant = graph.addConstant(poplar.FLOAT, [4], 1.0)
    graph.setTileMapping(constant, 0)
    for wrong in (popops.negInPlace, popops.zero):
        with pytest.raises(poplibs_error, match="of a constant"):
            wrong(graph, constant, Sequence())
