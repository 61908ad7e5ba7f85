"""The instances of a run write their traces into one folder, and these are on one clock."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tremula.trace.several import TraceSet

PROGRAM = """
import libpvti as pvti
import popdist

channel = pvti.createTraceChannel("own")
with pvti.Tracepoint(channel, f"instance {popdist.getInstanceIndex()}"):
    pass
"""


def test_each_instance_has_a_file(
    poprun: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "traces"
    monkeypatch.setenv("PVTI_OPTIONS", json.dumps({"directory": str(folder)}))
    code, _, errors = poprun("--num-instances", "2", "--num-replicas", "2", program=PROGRAM)
    assert code == 0, errors
    traces = TraceSet(folder)
    told = {
        file.process.instance: [traces.texts[label] for label in traces.events.label[row.first : row.last]]
        for row in traces.rows
        for file in [traces.files[row.process]]
    }
    assert told == {0: ["instance 0"], 1: ["instance 1"]}
    assert traces.clock == "one host"
    assert all(0 <= offset < 60e6 for offset in traces.offsets_us)
