"""Executables of Poplar programs: read, loaded, and run where a mutation made no endless loop of them."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.mutations import change_json, change_zip, flip_bytes
from fuzz.target import Target
from tremula.frontends.poplar.codelets.codelet import (
    Base,
    Batch,
    Codelet,
    CycleEstimate,
    Direction,
    EstimateSource,
    Field,
    Kind,
    Run,
    Shapes,
)
from tremula.frontends.poplar.devices import model_device
from tremula.frontends.poplar.errors import GraphObjectLoadError, PoplarError
from tremula.frontends.poplar.execute.engine import ProgramEngine
from tremula.frontends.poplar.execute.stored.files import Stored, read_executable, write_executable
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program import programs as p
from tremula.frontends.poplar.program.copies import make_copy
from tremula.frontends.poplar.program.endpoints import DataStream, RemoteBuffer
from tremula.frontends.poplar.program.library import LibraryCall, kernel
from tremula.frontends.poplar.program.numbering import nodes
from tremula.frontends.poplar.target import TargetFacts, TargetKind
from tremula.frontends.poplar.types import FLOAT, INT

#: bytes of a memory that is worth running a program in
_LARGEST = 1 << 22
_MOST_TURNS = 100


class Halve(Codelet):
    """y = x / k, with whatever edges it is given."""

    name = "Halve"
    base = Base.VERTEX
    fields = {  # noqa: RUF012
        "x": Field("x", Kind.VECTOR, Direction.INPUT, FLOAT),
        "y": Field("y", Kind.VECTOR, Direction.OUTPUT, FLOAT),
        "k": Field("k", Kind.STATE, Direction.NONE, FLOAT),
    }

    def bind(self, batch: Batch) -> Run:
        """One slice for each edge."""
        floats = batch.buffer.view(np.float32)
        ends = {
            name: [
                floats[offset // 4 : offset // 4 + count]
                for offset, count in zip(each.offsets.tolist(), each.counts.tolist(), strict=True)
            ]
            for name, each in batch.edges.items()
        }
        k: Any = batch.state["k"]

        def run() -> None:
            with np.errstate(all="ignore"):
                for vertex, (x, y) in enumerate(zip(ends["x"], ends["y"], strict=True)):
                    n = min(len(x), len(y))
                    y[:n] = x[:n] / k[vertex]

        return run

    def estimate(self, shapes: Shapes) -> CycleEstimate:
        """Ten cycles each."""
        return CycleEstimate(np.full(shapes.count, 10.0), EstimateSource.CODELET)


@kernel("fuzz::count")
def _count(attributes: Any) -> Any:
    step = attributes.get("step", 1)
    step = step if isinstance(step, int) and abs(step) < 1 << 30 else 1

    def run(inputs: Any, outputs: Any) -> None:
        for each in outputs:
            each += np.array(step).astype(each.dtype)

    return run


def make(folder: Path) -> list[Path]:
    """One with vertices, copies, streams, a loop, a branch and a function."""
    graph = Graph(TargetFacts(TargetKind.IPU_MODEL, tiles_per_ipu=4))
    graph.contents.codelets["Halve"] = Halve()
    x, y = graph.add_variable(FLOAT, (3, 4), "x"), graph.add_variable(FLOAT, (12,), "y")
    n = graph.add_variable(INT, (2,), "n")
    for tile, view in enumerate((x, y, n)):
        graph.set_tile_mapping(view, tile)
    graph.set_initial_value(x, np.arange(12))
    made = graph.add_compute_set("halve")
    for row in range(3):
        fields = {"x": x.transpose()[:, row], "y": y[4 * row : 4 * row + 4], "k": 2.0}
        fields["x"] = x[row] if row else x.reverse(1)[0]
        graph.set_vertex_tile(graph.add_vertex(made, "Halve", fields), row)
    to, back = DataStream("to", FLOAT, 12, True), DataStream("back", FLOAT, 12, False)
    graph.add_stream(to)
    graph.add_stream(back)
    buffer = graph.add_remote_buffer(RemoteBuffer("rows", FLOAT, 12, 3))
    count = p.RunLibrary(LibraryCall("fuzz::count", (n,), (n,), {"step": 2}))
    function = graph.add_function(count)
    graph.create_host_read("y", y)
    body = p.Sequence_(p.Execute(made), make_copy(y, x.flatten()), p.Call(function))
    main = p.Sequence_(
        make_copy(to, y), make_copy(y, x.transpose().flatten()), p.Repeat(3, body), make_copy(y, buffer, [n[0]]),
        p.If(n[1], p.Block(count, "block")), p.Switch(n[0], [(6, p.WriteUndef(x))]), make_copy(y, back),
    )  # fmt: skip
    path = folder / "executable"
    write_executable(Stored(graph, [main, p.PrintTensor("n", n)]), path)
    return [path]


def mutate(data: bytes, rng: random.Random) -> bytes:
    """The document changed as data, columns number by number or as bytes."""
    return change_zip(data, rng, {".json": change_json, ".npy": _change_column})


def _change_column(data: bytes, rng: random.Random) -> bytes:
    array = np.load(io.BytesIO(data))
    if not array.size or rng.random() < 0.1:
        return flip_bytes(data, rng)
    for _ in range(rng.choice((1, 1, 1, 3))):
        place = rng.randrange(array.size)
        if array.dtype.kind == "f":
            array[place] = rng.choice((0.0, -1.0, 1e30, np.inf, np.nan))
        else:
            old = int(array[place])
            new = rng.choice(
                (old + 1, old - 1, old + 4, old - 4, 0, -1, old * 2, 1 << 20, 1 << 40, -(1 << 62), 1 << 62)
            )
            array[place] = max(-(1 << 62), min(new, 1 << 62))
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def read(path: Path) -> None:
    """Read it; then, as far as it makes sense, load and run. What goes wrong there is an error of the program."""
    stored = read_executable(path, [Halve()])
    if stored.graph.memory.size > _LARGEST or stored.graph.contents.replicas > 4:
        return
    try:
        engine = ProgramEngine(stored.graph, stored.programs, stored.options)
        turns = 1
        for node in nodes(engine.numbering):
            if isinstance(node.program, p.RepeatWhile):
                return
            if isinstance(node.program, p.Repeat):
                turns *= max(node.program.count, 1)
        if turns > _MOST_TURNS:
            return
        engine.load(model_device(stored.graph.contents.target))
        engine.set_print_stream(lambda text: None)
        numbers = np.zeros(1 << 16, np.uint8)
        for handle in stored.graph.contents.streams:
            engine.connect_ring(handle, memoryview(numbers))
        for number in range(len(stored.programs)):
            engine.run(number)
    except PoplarError:
        return


def refusals() -> tuple[type[BaseException], ...]:
    """Errors that name the file."""
    return (GraphObjectLoadError,)


POPLAR = Target("poplar", make, mutate, read, refusals)
