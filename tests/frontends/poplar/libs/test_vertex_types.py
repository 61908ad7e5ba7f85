"""Vertex types of library functions follow from their names, so that saved executables have them."""

from __future__ import annotations

import io

import numpy as np
import pytest

import poplar
import popops
import poputil
from poplar.program import Execute, Sequence
from tremula.frontends.poplar.libs.popops import vertex_types
from tremula.frontends.poplar.libs.popops.reduce_vertices import ReduceCodelet
from tremula.frontends.poplar.types import BOOL, FLOAT, HALF, INT, UNSIGNED_INT


@pytest.mark.parametrize(
    "made",
    [
        vertex_types.fill(FLOAT, -1.5e-9),
        vertex_types.fill(INT, -7),
        vertex_types.fill(BOOL, True),
        vertex_types.cast(UNSIGNED_INT, HALF),
        vertex_types.transpose(HALF),
        ReduceCodelet("SQUARE_ADD", HALF, FLOAT, True, FLOAT),
        ReduceCodelet("LOGICAL_AND", BOOL, BOOL, False, None),
    ],
    ids=lambda made: made.name,
)
def test_a_name_gives_its_type(made) -> None:
    again = vertex_types.of_name(made.name)
    assert type(again) is type(made)
    assert again.name == made.name
    assert again.fields == made.fields


@pytest.mark.parametrize("name", ["Adder", "popops::Fill<float>", "popops::Reduce<popops::ReduceFun,float,float,true>",
                                  "popops::Fill<int>(x)", "popops::Cast1D<float>"])  # fmt: skip
def test_other_names_give_none(name: str) -> None:
    assert vertex_types.of_name(name) is None


def test_a_saved_executable_reduces() -> None:
    device = poplar.IPUModel().createDevice()
    graph = poplar.Graph(device.getTarget())
    x, out = graph.addVariable(poplar.FLOAT, [600, 4], "x"), graph.addVariable(poplar.FLOAT, [4], "out")
    for each in (x, out):
        poputil.mapTensorLinearly(graph, each)
    sets: list = []
    popops.reduceWithOutput(graph, x, out, [0], popops.ReduceParams(popops.Operation.ADD), sets)
    last = graph.addComputeSet("fill")
    popops.fill(graph, x[:1], 3, last, 2.5)
    graph.createHostWrite("x", x)
    graph.createHostRead("out", out)
    graph.createHostRead("x", x)
    program = Sequence([Execute(each) for each in (*sets, last)])
    saved = io.BytesIO()
    poplar.compileGraph(graph, [program]).serialize(saved)
    saved.seek(0)
    engine = poplar.Engine(poplar.Executable.deserialize(saved))
    engine.load(device)
    values = np.random.default_rng(0).random((600, 4), dtype=np.float32)
    engine.writeTensor("x", values)
    engine.run(0)
    found, rows = np.zeros(4, np.float32), np.zeros((600, 4), np.float32)
    engine.readTensor("out", found)
    engine.readTensor("x", rows)
    np.testing.assert_allclose(found, values.sum(0), rtol=1e-5)
    assert (rows[0] == 2.5).all()
