"""What an engine asks of the chip model: cycles of leaves, memory, summaries, profiles."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.poplar_graphs import Shape, model_target, tutorial_6

import pva
from tremula.frontends.poplar.codelets.codelet import Base, Direction, Kind
from tremula.frontends.poplar.estimate.hardware import chip, hardware
from tremula.frontends.poplar.estimate.model import ChipModel
from tremula.frontends.poplar.execute.runs import ProgramRun
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program import programs as p
from tremula.frontends.poplar.program.numbering import number
from tremula.frontends.poplar.types import FLOAT, HALF


@pytest.fixture(scope="module")
def model() -> ChipModel:
    """Tutorial 6 on 16 tiles, with a matrix of 60 x 40."""
    graph, programs = tutorial_6(model_target("ipu2", tiles=16), 60, 40, 2)
    return ChipModel(graph, number(programs), name="tut6", program_names=("multiply",))


def runs(model: ChipModel, count: int = 1) -> list[ProgramRun]:
    """Runs of the first program."""
    return [ProgramRun(0, "", model.estimate.executions(0))] * count


def test_leaf_cycles_add_up_to_the_total(model: ChipModel) -> None:
    cycles = model.leaf_cycles()
    counts = model.estimate.executions(0)
    total = sum(times * cycles.get(node, 0.0) for node, times in counts.items())
    assert total == pytest.approx(model.estimate.totals(counts).total)
    assert total > 0


def test_the_summary_has_the_known_parts(model: ChipModel) -> None:
    text = model.summary(runs(model), {"showExecutionSteps": "true"})
    for line in (
        "Target:", "Graph:", "Memory Usage:", "  Total:", "By Data Type:", "By Tile (Excluding Gaps):", "Execution:",
        "  Programs executed:", "  Cycles by vertex type:",
    ):  # fmt: skip
        assert line in text, line
    assert re.search(r"Number of vertices: +180\n", text)
    assert re.search(r"Total cycles: +[\d,]+ \(approx [\d,.]+ microseconds\)", text)
    assert re.search(r"including idle threads\): [\d,.]+ \(\d+\.\d% of total\)", text)
    assert re.search(r"DotProductVertex +\(120 instances\): +1,800  \[given by the program\]", text)
    assert "OnTileExecute: mulCS:" in text
    assert "modelled" in text


def test_options_of_the_summary(model: ChipModel) -> None:
    bare = model.summary(runs(model))
    assert "OnTileExecute" not in bare
    assert "Variable Storage:" not in bare
    assert "  IPU 0:" not in bare
    full = model.summary(
        runs(model),
        {
            "showVarStorage": "true",
            "showPerIpuMemoryUsage": "true",
            "showOptimizations": "true",
            "colours": "true",
        },
    )
    for part in ("Variable Storage:", "  IPU 0:", "Optimizations:", "\x1b[1mTarget:\x1b[0m"):
        assert part in full
    assert re.search(r"partials +480 B on +16 tiles, steps 2 to 3", full)


def test_the_categories_of_the_summary_sum_to_the_total(model: ChipModel) -> None:
    text = model.summary([])
    assert "Nothing has run yet" in text
    part = text[text.index("By Data Type:") : text.index("Vertex Data")]
    listed = [int(found.replace(",", "")) for found in re.findall(r": +([\d,]+) B", part)]
    total = re.search(r"Total: +([\d,]+) B", text)
    assert total is not None
    assert sum(listed) == int(total[1].replace(",", ""))


def test_several_runs_are_added(model: ChipModel) -> None:
    def total(count: int) -> int:
        found = re.search(r"Total cycles: +([\d,]+)", model.summary(runs(model, count)))
        assert found is not None
        return int(found[1].replace(",", ""))

    assert total(3) == pytest.approx(3 * total(1), abs=2)


def test_the_profile_is_read_by_pva(model: ChipModel, tmp_path: Path) -> None:
    path = model.write_profile(tmp_path / "report", runs(model), execution=True)
    assert path == tmp_path / "report" / "profile.pop"
    report = pva.openReport(path)
    assert report.compilation.graph.numComputeSets == 2
    assert report.compilation.target.numTiles == 16
    assert [run.name for run in report.execution.runs] == ["multiply 1"]
    names = {step.program.name for step in report.execution.steps if step.type.name == "OnTileExecute"}
    assert names == {"mulCS", "reduceCS"}
    graph_only = pva.openReport(model.write_profile(tmp_path / "graph", runs(model), execution=False))
    assert len(graph_only.execution.runs) == 0
    assert graph_only.compilation.tiles[0].memory.total.includingGaps > 0


def overfull(elements: int) -> ChipModel:
    """A variable of floats on tile 3."""
    graph = Graph(model_target("ipu2", tiles=8))
    large = graph.add_variable(FLOAT, (elements,), "large")
    graph.set_tile_mapping(large, 3)
    graph.create_host_read("large", large)
    return ChipModel(graph, number([p.Sequence_()]))


def test_what_does_not_fit_is_named() -> None:
    assert overfull(1_000).memory_problem() is None
    problem = overfull(200_000).memory_problem()
    assert problem is not None
    assert problem.startswith("Out of memory on tile 3: 80")
    assert "tiles only have 638976 bytes" in problem
    assert "large (800,000 bytes)" in problem


def test_fields_of_an_ipu_model_are_honoured() -> None:
    plain = model_target("ipu2")
    changed = replace(
        plain, tiles_per_ipu=100, workers=3, bytes_per_tile=1_000_000, clock_hz=2e9, exchange_bytes_per_cycle=8.0,
        memcpy_bytes_per_cycle=16, min_ipu_sync_delay=7, relative_sync_delay="NO_DELAY", global_sync_cycles=99,
        instruction_bytes=8, compile_code=False,
    )  # fmt: skip
    found, made = hardware(changed), chip(changed)
    assert (made.tiles, made.worker_contexts, made.tile_memory_bytes, made.clock_hz) == (
        100,
        3,
        1_000_000,
        2e9,
    )
    assert (made.memcpy_bytes_per_cycle, made.instruction_bytes) == (16, 8)
    assert (found.exchange_bytes_per_cycle, found.sync_cycles, found.global_sync_cycles) == (8.0, 7.0, 99.0)
    assert not found.sized_code
    assert hardware(plain).sync_cycles == plain.chip.sync_cycles


def times(target_version: str = "ipu2", **figures: object) -> float:
    """Compute of one vertex of 100 cycles on each of eight tiles."""
    graph = Graph(model_target(target_version, tiles=8, **figures))
    kind = Shape("V", out=(Kind.SCALAR, Direction.OUTPUT))
    graph.contents.codelets["V"] = kind
    values = graph.add_variable(HALF, (8,))
    made = graph.add_compute_set("cs")
    for tile in range(8):
        graph.set_tile_mapping(values.at(tile), tile)
        kind.fields["out"] = replace(kind.fields["out"], type=HALF)
        vertex = graph.add_vertex(made, "V", {"out": values.at(tile)})
        graph.set_vertex_tile(vertex, tile)
        vertex.batch.estimates[vertex.number] = (100, 0)
    estimate = ChipModel(graph, number([p.Execute(made)])).estimate
    return estimate.totals(estimate.executions(0)).compute


def test_hypothetical_chips_have_other_times() -> None:
    assert times() == 600.0
    assert times(workers=4) == 400.0


def test_cycles_that_nobody_gave_say_so() -> None:
    graph = Graph(model_target("ipu2", tiles=4))
    graph.contents.codelets["V"] = Shape("V", Base.SUPERVISOR, out=(Kind.SCALAR, Direction.OUTPUT))
    value = graph.add_variable(FLOAT, (1,))
    graph.set_tile_mapping(value, 0)
    made = graph.add_compute_set("cs")
    graph.set_vertex_tile(graph.add_vertex(made, "V", {"out": value}), 0)
    model = ChipModel(graph, number([p.Execute(made)]))
    text = model.summary(runs(model))
    assert re.search(r"V +\(1 instances\): +6  \[guessed from the number of elements\]", text)
