"""The trace: valid trace events, nested slices, times that add up."""

from __future__ import annotations

import io
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tremula.profile import Profile
from tremula.view.perfetto import write_trace


def _trace(path: Path) -> tuple[Profile, dict[str, Any]]:
    with Profile(path) as profile:
        file = io.StringIO()
        count = write_trace(profile, file)
        trace = json.loads(file.getvalue())
        assert len(trace["traceEvents"]) == count
        return profile, trace


@pytest.mark.parametrize("kind", ["profile_file", "hostile_file"])
def test_events_have_the_fields_that_viewers_need(request: pytest.FixtureRequest, kind: str) -> None:
    _, trace = _trace(request.getfixturevalue(kind))
    kinds = {event["ph"] for event in trace["traceEvents"]}
    assert kinds == {"M", "X", "C"}
    for event in trace["traceEvents"]:
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        if event["ph"] == "X":
            assert event["ts"] >= 0
            assert event["dur"] >= 0
        if event["ph"] == "C":
            assert all(isinstance(value, int) for value in event["args"].values())
    assert "modelled" in json.dumps(trace["otherData"])


def test_slices_of_a_thread_are_nested(profile_file: Path) -> None:
    _, trace = _trace(profile_file)
    threads: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append((event["ts"], event["dur"]))
    assert len(threads) > 8
    for slices in threads.values():
        open_ends: list[float] = []
        for start, length in sorted(slices, key=lambda each: (each[0], -each[1])):
            while open_ends and open_ends[-1] <= start + 5e-4:
                open_ends.pop()
            assert not open_ends or start + length <= open_ends[-1] + 5e-4
            open_ends.append(start + length)


def test_names_tracks_and_times(profile_file: Path) -> None:
    profile, trace = _trace(profile_file)
    events = trace["traceEvents"]
    processes = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert any("IPU 1" in name for name in processes)
    step = next(event for event in events if event["ph"] == "X" and event["name"] == "step")
    assert step["dur"] == pytest.approx(profile.figures["seconds_per_step"].value * 1e6, rel=1e-3)
    assert any(event["name"].startswith("stage 0, micro-batch 0") for event in events)
    program = [event for event in events if event["ph"] == "X" and event["pid"] >= 10 and event["tid"] == 1]
    assert {"module", "plan", "source"} <= program[0]["args"].keys()
    parts = sum(e["dur"] for e in events if e["ph"] == "X" and e["pid"] >= 10 and e["tid"] in (2, 3, 4))
    assert parts == pytest.approx(sum(event["dur"] for event in program), rel=1e-3)
