"""What programs do with reports, in our own words, on the profile of a pipeline on two IPUs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pva

Type = pva.Program.Type


@pytest.fixture(scope="module")
def report(profile_file: Path) -> Iterator[Any]:
    with pva.openReport(profile_file, profile_file.with_name("debug.cbor")) as found:
        yield found


def test_memory_of_layers(report: Any) -> None:
    """Programs grouped by the layer in the name of their op, the memory of each added up over tiles."""
    tiles = report.compilation.target.tilesPerReplica
    layers: dict[str, set[Any]] = defaultdict(set)
    for operation in pva.OperationAnalysis(report).operations:
        found = re.search(r"layer(\d+)", operation.name)
        layers[found[1] if found else ""].update(operation.programs())
    assert {"0", "1", "2", "3", "4", "5"} <= set(layers)
    exchange, control = np.zeros(tiles, np.uint64), np.zeros(tiles, np.uint64)
    counts: dict[str, Any] = defaultdict(lambda: np.zeros(tiles, np.uint64))
    for programs in layers.values():
        for program in programs:
            if len(program.children):
                continue
            control += np.array(program.controlCodeByTile, dtype=np.uint64)[:tiles]
            if program.type == Type.DoExchange:
                exchange += np.array(program.codeBytesByTile, dtype=np.uint64)[:tiles]
            elif program.type == Type.OnTileExecute:
                for vertex in program.computeset.vertices:
                    counts[vertex.type.name] += np.array(vertex.countByTile, dtype=np.uint64)[:tiles]
    on_tiles = [tile.memory.category for tile in report.compilation.tiles[:tiles]]
    assert int(exchange.sum()) == pytest.approx(sum(c.internalExchangeCode.total for c in on_tiles), rel=1e-3)
    assert int(control.sum()) == pytest.approx(sum(c.controlCode.total for c in on_tiles), rel=1e-3)
    assert (
        sum(int(each.sum()) for each in counts.values()) > report.compilation.graph.numVertices
    )  # some run again


def test_largest_live_memory_of_each_tile(report: Any) -> None:
    """Intervals of equivalence classes give what steps say."""
    steps = report.compilation.livenessProgramSteps
    tile = 3
    alive = np.zeros(len(steps), dtype=np.int64)
    for part in report.compilation.loweredVariables.forTile(tile):
        if not part.unloweredVar.alwaysLive:
            for interval in part.equivalenceClass.steps:
                alive[interval.start : interval.end] += part.bytes
    assert alive.tolist() == [step.notAlwaysLiveMemoryForTile(tile).bytes for step in steps]


def test_peak_of_the_program(report: Any) -> None:
    lasting = sum(variable.size for variable in report.compilation.alwaysLiveVariables)
    peak = max(report.compilation.livenessProgramSteps, key=lambda step: step.notAlwaysLiveMemory.bytes)
    total = lasting + peak.notAlwaysLiveMemory.bytes
    target = report.compilation.target
    on_tiles = sum(
        tile.memory.total.excludingGaps for tile in report.compilation.tiles[: target.tilesPerReplica]
    )
    assert total <= on_tiles  # each IPU has a fullest moment of its own
    assert peak.program.name


def test_cycles_of_a_layer_before_and_in_a_run(report: Any) -> None:
    """Estimated from the steps of the program; in a run, micro-batches times as many."""

    def estimated(program: Any) -> float:
        if program.type == Type.DoExchange:
            return float(max(program.estimatedCyclesByTile))
        return (
            float(max(program.computeset.estimatedCyclesByTile))
            if program.type == Type.OnTileExecute
            else 0.0
        )

    def of_layer(program: Any) -> bool:
        return "layer4/mm4" in program.name and program.type in (Type.DoExchange, Type.OnTileExecute)

    once = sum(
        estimated(step.program) for step in report.compilation.livenessProgramSteps if of_layer(step.program)
    )
    ran = sum(step.ipus[1].cycles for step in report.execution.runs[0].steps if of_layer(step.program))
    assert ran == pytest.approx(8 * once, rel=0.01)


def test_turns_of_a_pipeline(report: Any) -> None:
    """Turns lie between the exchanges between IPUs; in each, both IPUs take the same time."""
    ipus = range(2)
    steps = report.execution.runs[0].steps
    exchanges = [
        step
        for step in steps
        if step.program.type == Type.GlobalExchange
        and sum(i.dataIn + i.dataOut for i in step.ipus[:2]) > 1024
    ]
    assert len(exchanges) > 4
    ends = [[step.ipus[ipu].activeCycles.cyclesTo.max for ipu in ipus] for step in exchanges]
    assert all(one[0] == one[1] for one in ends)
    assert all(np.all(np.diff(ends, axis=0) > 0) for _ in ipus)


def test_bytes_to_the_host(report: Any) -> None:
    sent = sum(
        ipu.dataOut
        for step in report.execution.runs[0].steps
        if step.program.type == Type.StreamCopyMid
        for ipu in step.ipus
    )
    copies = {step.program.name for step in report.execution.steps if step.program.type == Type.StreamCopyMid}
    assert any(name.endswith("copyToHost") for name in copies) is (sent > 0)
    assert any(name.endswith("copyFromHost") for name in copies)
