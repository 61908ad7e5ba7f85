"""Executables that are saved and read back give the same results; damaged ones are refused."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.frontends.poplar.codelets.codelet import Direction, Field, Kind
from tremula.frontends.poplar.errors import GraphObjectLoadError, PoplarError
from tremula.frontends.poplar.execute.stored.files import Stored, read_executable, write_executable
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program import programs as p
from tremula.frontends.poplar.program.copies import make_copy
from tremula.frontends.poplar.program.endpoints import DataStream, HostFunction, RemoteBuffer
from tremula.frontends.poplar.types import FLOAT, INT

from ..conftest import SCALE, LoopCodelet, placed, started, value_of, vector
from .test_control import add, counts
from .test_random_programs import TYPES, Model
from .test_streams import as_bytes


def again(graph: Graph, *programs: p.Program) -> Stored:
    """The executable of programs, written and read."""
    file = io.BytesIO()
    write_executable(Stored(graph, programs), file)
    file.seek(0)
    return read_executable(file, graph.contents.codelets.values())


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(TYPES), st.booleans())
def test_saved_programs_give_the_same_results(data: st.DataObject, type: Any, accepts_strides: bool) -> None:
    model = Model(data, type, accepts_strides)
    steps = [
        (model.compute_set() if data.draw(st.booleans()) else model.copy())[0]
        for _ in range(data.draw(st.integers(1, 5)))
    ]
    body = p.Repeat(2, p.Sequence_(*steps))
    engine = started(model.graph, body)
    stored = again(model.graph, body)
    other = started(stored.graph, *stored.programs)
    with np.errstate(over="ignore"):
        engine.run()
        other.run()
    assert engine._loaded is not None
    assert other._loaded is not None
    size = model.graph.memory.size
    assert engine._loaded.arenas[0].bytes[:size].tobytes() == other._loaded.arenas[0].bytes[:size].tobytes()


def everything(graph: Graph) -> list[p.Program]:
    """Programs with one of each kind."""
    n, flag = placed(graph, INT, (2,), "n"), placed(graph, INT, (), "flag")
    x, y = placed(graph, FLOAT, (4,), "x"), placed(graph, FLOAT, (4,), "y", tile=3)
    graph.set_initial_value(x, [1, 2, 3, 4])
    made = graph.add_compute_set("scale")
    for half in (0, 2):
        vertex = graph.add_vertex(
            made, "Scale", {"x": x[half : half + 2], "y": y[half : half + 2], "factor": half + 1}
        )
        graph.set_vertex_tile(vertex, 3)
        vertex.batch.estimates[vertex.number] = (7.0, 2.0)
    to = graph.add_stream(DataStream("to", INT, 2, True))
    back = graph.add_stream(DataStream("back", FLOAT, 4, False, options={"depth": "3"}))
    buffer = graph.add_remote_buffer(RemoteBuffer("rows", FLOAT, 4, 3))
    function = graph.add_function(add(n, 1), "count")
    host = graph.contents.host_functions["host"] = HostFunction("host", ((INT, 2),), ((FLOAT, 4),))
    graph.create_host_read("y", y)
    graph.create_host_write("x", x.reverse(0))
    shared = p.Sequence_(p.Call(function), p.Block(p.Execute(made), "block"), name="shared")
    first = p.Sequence_(
        make_copy(to, n), shared, shared, p.Repeat(3, p.Call(function)), make_copy(y, back),
        make_copy(y, buffer, [flag]), p.If(flag, p.Abort("never")), p.WriteUndef(x), p.Sync(),
        p.Switch(flag, [(0, add(n, 10)), (1, p.Program())]), p.AbortOnCondition(flag, "no"),
        p.RepeatWhile(p.Program(), flag, p.Program(), True), p.AssumeEqualAcrossReplicas(n),
        p.CrossReplicaCopy(x, y, {0: 0}),
    )  # fmt: skip
    return [
        first,
        make_copy(buffer, y, [flag]),
        p.ErrorProgram("shown", n),
        p.CallHost(host, [n], [y]),
        p.PrintTensor("y", y, {"digits": 1}),
    ]


def test_every_kind_of_program_is_kept(graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    programs = everything(graph)
    stored = again(graph, *programs)
    results = []
    for engine in (started(graph, *programs), started(stored.graph, *stored.programs)):
        found = np.zeros(4, np.float32)
        engine.connect_ring("to", as_bytes(np.array([5, 6], np.int32)))
        engine.connect_ring("back", as_bytes(found))
        engine.connect_host_function("host", lambda inputs, outputs: np.copyto(outputs[0], inputs[0][0]))
        engine.write_tensor("x", np.arange(4, dtype=np.float32))
        engine.run()
        ran = counts(engine, p.RunLibrary)
        engine.run(1)
        with pytest.raises(PoplarError, match=r"shown: \[20 21\]"):
            engine.run(2)
        engine.run(3)
        engine.run(4)
        rest = np.zeros(4, np.float32)
        engine.read_tensor("y", rest)
        results.append((found.tolist(), ran, rest.tolist(), capsys.readouterr().err))
    assert results[0] == results[1]
    assert results[0][0] == [3.0, 2.0, 3.0, 0.0]
    assert results[0][3] == "y: [20.0 20.0 20.0 20.0]\n"
    batch = stored.graph.contents.compute_sets[0].batches["Scale"]
    assert batch.estimates == {0: (7.0, 2.0), 1: (7.0, 2.0)}
    assert batch.sources[0].startswith("test_stored.py:")


def test_state_lists_and_estimates_by_functions_are_kept(graph: Graph) -> None:
    from tremula.frontends.poplar.codelets.codelet import CycleEstimate, EstimateSource

    fields = [
        vector("y", Direction.OUTPUT),
        Field("parts", Kind.VECTOR_LIST, Direction.INPUT, FLOAT),
        Field("weights", Kind.STATE_VECTOR, Direction.NONE, FLOAT),
    ]
    graph.contents.codelets["Mix"] = LoopCodelet("Mix", fields, _mix)
    graph.contents.estimators["Mix"] = lambda shapes: CycleEstimate(
        np.arange(1.0, 1.0 + shapes.count), EstimateSource.USER
    )
    whole, out = placed(graph, FLOAT, (6,), "whole"), placed(graph, FLOAT, (2,), "out")
    graph.set_initial_value(whole, np.arange(6))
    made = graph.add_compute_set()
    for number, weights in enumerate(([2.0], [1.0, 10.0])):
        parts = [whole[:2], whole[2:3]][: number + 1]
        fields_of = {"y": out[number : number + 1], "parts": parts, "weights": weights}
        graph.set_vertex_tile(graph.add_vertex(made, "Mix", fields_of), number)
    stored = again(graph, p.Execute(made))
    engine = started(stored.graph, *stored.programs)
    engine.run()
    assert value_of(
        engine, stored.graph.view_class(stored.graph, FLOAT, (2,), out.offset, (4,))
    ).tolist() == [2, 21]
    batch = stored.graph.contents.compute_sets[0].batches["Mix"]
    assert {vertex: cycles for vertex, (cycles, _) in batch.estimates.items()} == {0: 1.0, 1: 2.0}


def _mix(y: np.ndarray, parts: list[np.ndarray], weights: np.ndarray) -> None:
    y[0] = sum(part.sum() * weight for part, weight in zip(parts, weights, strict=True))


def test_a_missing_or_changed_class_is_named(graph: Graph, tmp_path: Path) -> None:
    x = placed(graph, FLOAT, (2,))
    made = graph.add_compute_set()
    graph.contents.codelets["OnlyHere"] = LoopCodelet("OnlyHere", *SCALE)
    graph.set_vertex_tile(graph.add_vertex(made, "OnlyHere", {"x": x, "y": x}), 0)
    path = tmp_path / "executable"
    write_executable(Stored(graph, [p.Execute(made)]), path)
    with pytest.raises(
        GraphObjectLoadError, match="vertices of type OnlyHere, a Python class that this program does not"
    ):
        read_executable(path)
    fewer = LoopCodelet("OnlyHere", SCALE[0][:2], SCALE[1])
    with pytest.raises(GraphObjectLoadError, match="vertex type OnlyHere has other fields"):
        read_executable(path, [fewer])


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other"
    with pytest.raises(GraphObjectLoadError, match="does not exist"):
        read_executable(path)
    path.write_bytes(b"no archive")
    with pytest.raises(GraphObjectLoadError, match="is not an executable of a Poplar program"):
        read_executable(path)


def changed(data: bytes, rng: random.Random) -> bytes:
    """An archive with a number of a column changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice([name for name in sorted(contents) if name.endswith(".npy")])
    array = np.load(io.BytesIO(contents[name]))
    if array.size and array.dtype == np.int64:
        array[rng.randrange(array.size)] = rng.choice([-1, 3, 1 << 20, -(1 << 62), (1 << 62), 1 << 33])
    buffer = io.BytesIO()
    np.save(buffer, array)
    contents[name] = buffer.getvalue()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for each, content in contents.items():
            archive.writestr(each, content)
    return out.getvalue()


def test_numbers_out_of_range_are_refused_or_harmless(graph: Graph) -> None:
    file = io.BytesIO()
    write_executable(Stored(graph, everything(graph)), file)
    refused = 0
    for seed in range(150):
        data = changed(file.getvalue(), random.Random(seed))
        try:
            stored = read_executable(io.BytesIO(data), graph.contents.codelets.values())
            memory = stored.graph.memory.size
            if memory < 1 << 20:
                started(stored.graph, *stored.programs)
        except PoplarError:
            refused += 1
    assert refused > 50


def test_equal_programs_give_equal_files(graph: Graph) -> None:
    programs = everything(graph)
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        write_executable(Stored(graph, programs), file)
    assert files[0].getvalue() == files[1].getvalue()
    with zipfile.ZipFile(files[0]) as archive:
        assert json.loads(archive.read("executable.json"))["format"] == "tremula poplar executable"
