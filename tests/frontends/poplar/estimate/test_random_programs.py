"""Random programs on two IPUs: every reader shows them, and all figures add up."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.poplar_graphs import Shape, model_target
from hypothesis import given, settings
from hypothesis import strategies as st

import pva
from tremula.frontends.poplar.codelets.codelet import Base, Direction, Kind
from tremula.frontends.poplar.estimate.model import ChipModel
from tremula.frontends.poplar.execute.runs import ProgramRun
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.program import programs as p
from tremula.frontends.poplar.program.endpoints import DataStream, RemoteBuffer
from tremula.frontends.poplar.program.library import LibraryCall
from tremula.frontends.poplar.program.numbering import number
from tremula.frontends.poplar.types import FLOAT, HALF, INT, UNSIGNED_CHAR
from tremula.profile import Profile
from tremula.program.work import Copy
from tremula.view.page_data import page_data
from tremula.view.summary import summary

TILES = 4


class Maker:
    """Draws a graph with programs."""

    def __init__(self, data: st.DataObject, replicas: int) -> None:
        self.data = data
        self.type = data.draw(st.sampled_from([FLOAT, HALF, UNSIGNED_CHAR]))
        self.graph = Graph(model_target("ipu2", tiles=TILES, ipus=2 * replicas), replicas)
        kinds = {"x": (Kind.VECTOR, Direction.INPUT), "y": (Kind.VECTOR, Direction.INOUT)}
        for base in Base:
            codelet = Shape(base.value, base, **kinds)
            codelet.fields = {each.name: type(each)(each.name, each.kind, each.direction, self.type)
                              for each in codelet.fields.values()}  # fmt: skip
            self.graph.contents.codelets[base.value] = codelet
        self.variables = [self._variable(number) for number in range(data.draw(st.integers(1, 3)))]
        self.flag = self.graph.add_variable(INT, (), "flag")
        self.graph.set_tile_mapping(self.flag, 0)

    def _variable(self, number: int) -> View:
        rows, columns = self.data.draw(st.integers(1, 5)), self.data.draw(st.integers(0, 6))
        made = self.graph.add_variable(self.type, (rows, columns), f"v{number}")
        for row in range(rows):
            self.graph.set_tile_mapping(made.at(row), self.data.draw(st.integers(0, 2 * TILES - 1)))
        if self.data.draw(st.booleans()):
            self.graph.create_host_read(f"v{number}", made)
        return made

    def view(self) -> View:
        """A flat view."""
        found = self.data.draw(st.sampled_from(self.variables))
        if self.data.draw(st.booleans()):
            found = found.dim_shuffle((1, 0))
        found = found.flatten()
        if found.elements > 1 and self.data.draw(st.booleans()):
            found = found.sub_sample(2, 0)
        return found.reverse(0) if self.data.draw(st.booleans()) else found

    def pair(self) -> tuple[View, View]:
        """Two views of as many elements."""
        one, other = self.view(), self.view()
        count = min(one.elements, other.elements)
        return one.slice_dimension(0, count), other.slice_dimension(0, count)

    def program(self, depth: int = 0) -> p.Program:
        """A random program."""
        leaves = ["copy", "copies", "execute", "read", "write", "remote", "library", "sync", "undef", "print"]
        inner = ["sequence", "block", "repeat", "while", "if", "call"] if depth < 3 else []
        kind = self.data.draw(st.sampled_from([*leaves, *inner]))
        made: Any = getattr(self, f"_{kind}")(depth)
        return made  # type: ignore[no-any-return]

    def _copy(self, _: int) -> p.Program:
        return p.TensorCopy(*self.pair(), name="move")

    def _copies(self, _: int) -> p.Program:
        return p.Sequence_(*(self._copy(0) for _ in range(self.data.draw(st.integers(1, 4)))))

    def _execute(self, _: int) -> p.Program:
        made = self.graph.add_compute_set("work")
        for _number in range(self.data.draw(st.integers(0, 4))):
            one, other = self.pair()
            vertex = self.graph.add_vertex(
                made, self.data.draw(st.sampled_from([each.value for each in Base])), {"x": one, "y": other}
            )
            self.graph.set_vertex_tile(vertex, self.data.draw(st.integers(0, 2 * TILES - 1)))
        return p.Execute(made)

    def _stream(self, to_device: bool, size: int) -> DataStream:
        return DataStream(f"s{len(self.graph.contents.streams)}", self.type, size, to_device)

    def _read(self, _: int) -> p.Program:
        view = self.view()
        return p.StreamRead(self.graph.add_stream(self._stream(True, view.elements)), view)

    def _write(self, _: int) -> p.Program:
        view = self.view()
        return p.StreamWrite(view, self.graph.add_stream(self._stream(False, view.elements)))

    def _remote(self, _: int) -> p.Program:
        view = self.view()
        return p.RemoteRead(RemoteBuffer("r", self.type, view.elements, 1), view)

    def _library(self, _: int) -> p.Program:
        one, other = self.pair()
        works = (Copy(one.elements * 4),) if one.elements else ()
        return p.RunLibrary(LibraryCall("popops::copy", (one,), (other,), works=works))

    def _sync(self, _: int) -> p.Program:
        return p.Sync(self.data.draw(st.sampled_from(["INTERNAL", "EXTERNAL"])))

    def _undef(self, _: int) -> p.Program:
        return p.WriteUndef(self.view())

    def _print(self, _: int) -> p.Program:
        return p.PrintTensor("shown", self.view())

    def _sequence(self, depth: int) -> p.Program:
        return p.Sequence_(*(self.program(depth + 1) for _ in range(self.data.draw(st.integers(0, 3)))))

    def _block(self, depth: int) -> p.Program:
        return p.Block(self.program(depth + 1), "part")

    def _repeat(self, depth: int) -> p.Program:
        return p.Repeat(self.data.draw(st.integers(0, 3)), self.program(depth + 1))

    def _while(self, depth: int) -> p.Program:
        return p.RepeatWhile(self.program(depth + 1), self.flag, self.program(depth + 1), True)

    def _if(self, depth: int) -> p.Program:
        return p.If(self.flag, self.program(depth + 1), self.program(depth + 1))

    def _call(self, depth: int) -> p.Program:
        return p.Call(self.graph.add_function(self.program(depth + 1)))


@settings(max_examples=60)
@given(st.data(), st.sampled_from([1, 2]))
def test_figures_of_random_programs_add_up(data: st.DataObject, replicas: int) -> None:
    maker = Maker(data, replicas)
    program = maker.program()
    options = {
        "profiler.blocks.filter": ".*",
        "profiler.programs.filter": "work",
        "debug.instrumentExternalExchange": "true",
    }
    model = ChipModel(maker.graph, number([program]), options=options)
    estimate = model.estimate
    counts = estimate.executions(0)
    totals = estimate.totals(counts)
    cycles = model.leaf_cycles()
    assert sum(times * cycles.get(node, 0.0) for node, times in counts.items()) == pytest.approx(totals.total)
    parts = totals.compute + totals.exchange + totals.between_ipus + totals.host + totals.sync
    assert parts == pytest.approx(totals.total)
    assert totals.busy <= totals.compute + 1e-6
    memory = estimate.memory
    assert (memory.most >= memory.total).all()
    assert all((each >= 0).all() for each in memory.tiles.values())
    runs = [ProgramRun(0, "", counts)]
    text = model.summary(runs, {"showExecutionSteps": "true", "showVarStorage": "true"})
    assert "Memory Usage:" in text
    with tempfile.TemporaryDirectory() as folder:
        _check_profile(model.write_profile(Path(folder), runs, execution=True), model, totals.total)


def _check_profile(path: Path, model: ChipModel, total: float) -> None:
    memory = model.estimate.memory
    with Profile(path) as profile:
        assert page_data([profile])["answers"]
        assert str(summary(profile, full=True))
        per_ipu = profile.target.tiles_per_ipu
        for ipu in range(2):
            used = sum(profile.tile_bytes(ipu).values())
            assert np.array_equal(used, memory.total[ipu * per_ipu : (ipu + 1) * per_ipu])
            for tile in range(per_ipu):
                assert int(profile.variables_on_tile(ipu, tile)[1].sum()) == int(used[tile])
    report = pva.openReport(path)
    for run in report.execution.runs:
        for ipu in range(2):
            cycles = sum(step.ipus[ipu].cycles for step in run.steps)
            assert cycles == round(total) or not run.steps
    for tile in range(2 * TILES):
        for block in report.execution.blocks(tile):
            assert 0 <= block.cyclesFrom <= block.cyclesTo <= round(total) + 1
    assert all(step.notAlwaysLiveMemory.bytes >= 0 for step in report.compilation.livenessProgramSteps)
    assert sum(each.size for each in report.compilation.alwaysLiveVariables) > 0
    for each in report.compilation.computeSets:
        assert max(each.estimatedCyclesByTile) == pytest.approx(each.estimatedCycles)
    report.close()
