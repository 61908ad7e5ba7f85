"""Variables, and what is alive when."""

from __future__ import annotations

from typing import Any

import pytest


def test_steps_are_the_leaves_of_ops(small: Any) -> None:
    steps = small.compilation.livenessProgramSteps
    names = ["enc/fc/exchange", "enc/fc/multiply", "head/out/exchange", "head/out/multiply", ""]
    assert [step.program.name for step in steps] == names
    assert steps[-1].program.type.name == "Unknown"
    assert [step.notAlwaysLiveMemory.bytes for step in steps] == [128, 128, 1128, 1128, 0]


def test_live_memory_of_ipus_and_tiles(small: Any) -> None:
    step = small.compilation.livenessProgramSteps[2]
    assert [step.notAlwaysLiveMemoryForIpu(ipu).bytes for ipu in range(4)] == [128, 1000, 128, 1000]
    assert step.notAlwaysLiveMemoryForTile(1).bytes == 64
    assert step.notAlwaysLiveMemoryForTile(4).bytes == 990
    assert [(v.name, v.size) for v in step.notAlwaysLiveMemoryForTile(0).variables] == [("enc/fc", 64)]
    assert [(v.name, v.size) for v in step.notAlwaysLiveMemory.variables] == [
        ("enc/fc", 128), ("head/out", 990), ("(others)", 10)
    ]  # fmt: skip
    with pytest.raises(IndexError, match="no IPU 4"):
        step.notAlwaysLiveMemoryForIpu(4)
    with pytest.raises(IndexError, match="no tile 16"):
        step.notAlwaysLiveMemoryForTile(16)


def test_variables_that_always_live(small: Any) -> None:
    found = {(each.name, each.ipu): each.size for each in small.compilation.alwaysLiveVariables}
    assert found == {
        ("enc/weight", 0): 360, ("vertexCode", 0): 120, ("internalExchangeCode", 0): 24, ("controlCode", 0): 80,
        ("head/weight", 1): 50, ("vertexCode", 1): 40,
    }  # fmt: skip
    on_tile = {each.name: each.size for each in small.compilation.alwaysLiveVariablesForTile(3)}
    assert on_tile == {"enc/weight": 60, "vertexCode": 20, "internalExchangeCode": 4, "controlCode": 20}
    assert sum(on_tile.values()) == small.compilation.tiles[3].memory.alwaysLiveBytes


def test_parts_on_tiles(small: Any) -> None:
    parts = small.compilation.loweredVariables.allBriefVars
    assert [(part.name, part.tileId, part.bytes) for part in parts] == [
        ("enc/weight", 0, 100), ("enc/weight", 1, 100), ("enc/weight", 2, 100), ("enc/weight", 3, 60),
        ("enc/fc", 0, 64), ("enc/fc", 1, 64), ("head/weight", 4, 50), ("head/out", 4, 990),
    ]  # fmt: skip
    assert [part.id for part in parts] == list(range(8))
    assert parts[3] == list(parts)[3]
    assert [(part.equivalenceClass.steps[0].start, part.equivalenceClass.steps[0].end) for part in parts[3:5]] == [
        (0, 5), (0, 4)
    ]  # fmt: skip
    assert parts[3].equivalenceClass.id == parts[0].equivalenceClass.id != parts[4].equivalenceClass.id
    assert parts[0].unloweredVar == small.compilation.alwaysLiveVariables[0]
    assert parts[5] in small.compilation.loweredVariables.forTile(1)
    assert {part.id for part in small.compilation.loweredVariables.forTile(4)} == {6, 7}
    # tiles of the second replica are those of the first
    assert small.compilation.loweredVariables.forTile(9) == small.compilation.loweredVariables.forTile(1)
