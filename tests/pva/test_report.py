"""A report of a profile that can be checked by hand, attribute by attribute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pva
from tremula.errors import Error


def test_what_the_report_says_about_itself(small: Any, small_file: Path) -> None:
    import tremula

    assert small.poplarVersion.string == f"{tremula.__version__} (tremula)"
    assert small.version.major == 4
    assert not small.version.isUnstableFormat
    assert small.instrumentationSettings.compute is pva.ComputeInstrumentationLevel.Unknown
    assert str(small_file) in repr(small)


def test_a_folder_is_as_good_as_the_file(small_file: Path, tmp_path: Path) -> None:
    with pva.openReport(small_file.parent.parent, "debug.cbor") as report:
        assert report.compilation.target.numIPUs == 4
    with pytest.raises(Error, match="holds no single"):
        pva.openReport(tmp_path)
    with pytest.raises(Error, match="cannot be opened"):
        pva.openReport(tmp_path / "profile.pop")


def test_the_target_counts_all_replicas(small: Any) -> None:
    target = small.compilation.target
    assert (target.numReplicas, target.ipusPerReplica, target.numIPUs) == (2, 2, 4)
    assert (target.tilesPerIpu, target.tilesPerReplica, target.numTiles) == (4, 8, 16)
    assert (target.bytesPerTile, target.bytesPerIPU, target.memoryPerReplica, target.totalMemory) == (
        1000, 4000, 8000, 16000
    )  # fmt: skip
    assert target.type is pva.Target.Type.IpuModel
    assert target.architecture is pva.IPU.Architecture.Ipu2
    assert target.clockFrequency == 1e9


def test_tiles_have_the_memory_of_their_ipu(small: Any) -> None:
    first = small.compilation.tiles[0].memory
    assert (first.total.excludingGaps, first.total.includingGaps) == (232, 242)
    assert (first.alwaysLiveBytes, first.notAlwaysLiveBytes) == (168, 64)
    assert first.category.variable.total == 164
    assert first.category.vertexCode.total == 40
    assert (first.overflowed.includingGaps, first.overflowed.excludingGaps) == (0, 0)
    assert small.compilation.tiles[4].memory.overflowed.excludingGaps == 50
    assert [ipu.tiles[1].memory.total.includingGaps for ipu in small.compilation.ipus] == [230, 10, 230, 10]
    assert small.compilation.ipus[1].memory.category.vertexCode.total == 40


def test_categories_that_are_not_told_apart_say_so(small: Any) -> None:
    category = small.compilation.tiles[0].memory.category
    assert sum(each.total for each in category) == 232
    assert (category.vectorListDescriptor.total, category.vectorListDescriptor.countedIn) == (
        0,
        "vertexInstanceState",
    )
    assert not category.hostExchangeCode.modelled
    assert category.variable.modelled
    with pytest.raises(AttributeError, match="Unknown memory category 'bytes'"):
        category.bytes


@pytest.mark.parametrize(
    "read",
    [
        lambda c: c.target.minSyncDelay,
        lambda c: c.target.relativeSyncDelayByTile,
        lambda c: c.graph.numEdges,
        lambda c: c.tiles[0].memory.interleaved,
        lambda c: c.loweredVariables.forTile(0)[0].offset,
    ],
)
def test_what_is_not_modelled_is_not_made_up(small: Any, read: Any) -> None:
    with pytest.raises(pva.NotModelled, match="not modelled"):
        read(small.compilation)
    assert not hasattr(small.compilation.graph, "numEdges")


def test_vertices_and_their_code(small: Any) -> None:
    compute_set = small.compilation.computeSets[0]
    (vertex,) = compute_set.vertices
    assert vertex.type.name == "poplin::Matmul<half>"
    assert vertex.type.size == 5
    assert vertex.countByTile == [4, 3, 3, 0, 0, 0, 0, 0] * 2
    assert compute_set.estimatedCyclesByTile[:4] == [90.0, 45.0, 45.0, 0.0]
    assert small.compilation.graph.numVertices == 15
    (on_tile,) = small.compilation.tiles[0].memory.vertices
    assert (on_tile.count, on_tile.type) == (4, vertex.type)
    for tile in small.compilation.tiles:
        assert sum(v.codeBytes for v in tile.memory.vertices) == tile.memory.category.vertexCode.total


def test_code_of_programs_by_tile(small: Any) -> None:
    node = small.compilation.programs[3]
    exchange, compute = node.children
    assert exchange.codeBytesByTile[:5] == [8, 6, 6, 4, 0]
    assert sum(node.controlCodeByTile[:8]) == 12 + 8 + 8
    assert sum(compute.controlCodeByTile[:8]) == sum(exchange.controlCodeByTile[:8]) == 8
    assert max(exchange.estimatedCyclesByTile) == 10.0
    assert max(compute.estimatedCyclesByTile) == 90.0
    for wrong in (
        lambda: compute.codeBytesByTile,
        lambda: exchange.computeset,
        lambda: node.estimatedCyclesByTile,
    ):
        with pytest.raises(AttributeError, match=r"enc/fc"):
            wrong()


def test_programs_are_a_tree_of_equal_objects(small: Any) -> None:
    root = small.compilation.programs[0]
    assert root.type is pva.Program.Type.OnEveryTileSwitch
    assert [child.name for child in root.children] == ["weights", "step"]
    assert root.children[1].children[0] == small.compilation.programs[3]
    assert len({root, small.compilation.programs[0], root.children[0]}) == 2
    assert small.compilation.programs[3].debugContext.name == "fc"
    assert root.debugContext is None
    assert len(root.debugContexts) == 0


def test_visitors_get_the_programs_of_their_methods(small: Any) -> None:
    class Names(pva.ProgramVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.found: list[str] = []

        def visitOnTileExecute(self, program: Any) -> None:
            self.found.append(program.computeset.name)

        def visitGlobalExchange(self, program: Any) -> None:
            self.found.append(program.name)

    visitor = Names()
    for program in small.compilation.programs:
        program.accept(visitor)
    assert visitor.found == ["enc/fc/multiply", "head/out/multiply", "enc to head"]


def test_debug_contexts(small: Any) -> None:
    context = small.compilation.debugContexts[1]
    assert (context.name, context.layer) == ("fc", "poptorch")
    assert context.parents == [small.compilation.debugContexts[0]]
    assert (context.location.fileName, context.location.lineNumber) == ("model.py", 7)
    assert '"op_name": "enc/fc"' in context.json


def test_operations_have_programs_and_variables(small: Any) -> None:
    operations = pva.OperationAnalysis(small).operations
    first = operations[0]
    assert [each.name for each in operations] == ["enc/fc", "head/out"]
    assert [program.name for program in first.programs()] == ["enc/fc", "enc/fc/exchange", "enc/fc/multiply"]
    assert {var.name for var in first.vars} == {"enc/weight", "enc/fc"}
    # the op of the last step, which needs the result of the first
    assert {var.name for var in operations[1].vars} == {"enc/fc", "head/weight", "head/out"}
    assert (first.firstStepIndex, first.lastStepIndex) == (0, 1)
    assert (operations[1].firstStepIndex, operations[1].lastStepIndex) == (2, 3)
    assert first.debugContext.json == small.compilation.debugContexts[1].json
