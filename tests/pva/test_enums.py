"""Numbers and names of enumerations are part of the interface."""

from __future__ import annotations

import subprocess
import sys

import pva


def test_levels_of_instrumentation_have_the_original_numbers() -> None:
    assert {each.name: int(each) for each in pva.ComputeInstrumentationLevel} == {
        "Off": 0, "Vertex": 1, "Tile": 2, "Ipu": 3, "Device": 4, "Unknown": 5
    }  # fmt: skip
    assert {each.name: int(each) for each in pva.ExternalExchangeInstrumentationLevel} == {
        "Off": 0, "Tile": 1, "Unknown": 2
    }  # fmt: skip


def test_types_of_programs_have_the_original_names() -> None:
    names = [
        "Sequence", "Repeat", "RepeatWhile", "If", "Switch", "OnEveryTileSwitch", "OnTileExecute", "DoExchange",
        "GlobalExchange", "StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd", "Sync", "SyncAns", "Sans", "Call",
        "WriteUndef", "SetLocalConsensusFromVar", "Unknown",
    ]  # fmt: skip
    assert set(pva.Program.Type.__members__) == set(names)
    assert len({pva.Program.Type[name] for name in names}) == len(names)
    assert pva.Program.Type.Sync.name == "Sync"
    for name in names:
        assert callable(getattr(pva.ProgramVisitor, f"visit{name}"))


def test_importing_it_loads_no_framework() -> None:
    script = "import sys, pva; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    )
    assert {"numpy", "tremula"} <= set(done.stdout.split())
    assert {"torch", "tensorflow", "pandas"} & set(done.stdout.split()) == set()


def test_names_of_the_inner_module() -> None:
    assert pva.pva_core.ExecutionStep is pva.ExecutionStep
    assert pva.pva_core.Program.Type.StreamCopyMid is pva.Program.Type.StreamCopyMid
    assert pva.IPU.Architecture.Ipu2.name == "Ipu2"
    assert pva.Target.Type.IpuModel.name == "IpuModel"
    assert issubclass(pva.NotModelled, AttributeError)
