"""Traces for other viewers hold the same spans."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tremula.settings.values import TraceOptions
from tremula.trace import channels, measures, points, writer
from tremula.trace.several import TraceSet
from tremula.view import trace_export


@pytest.fixture
def traces(tmp_path: Path) -> TraceSet:
    writer.restart(TraceOptions(directory=str(tmp_path)))
    channel = channels.channel("test")
    with points.Span(channel, "outer", {"a": 1}):
        for _ in range(3):
            with points.Span(channel, "=inner"):
                points.moment(channel, "flag")
    now = writer.perf_counter_ns()
    points.whole(channel, "first", now, now + 10_000_000)
    points.whole(channel, "overlaps", now + 5_000_000, now + 15_000_000)
    measures.Series("Loss", "%", "line").add(2.0)
    writer.close()
    return TraceSet(tmp_path)


def test_trace_events(traces: TraceSet) -> None:
    file = io.StringIO()
    count = trace_export.write_chrome(traces, file)
    found = json.loads(file.getvalue())
    assert count == len(found["traceEvents"])
    kinds = [event["ph"] for event in found["traceEvents"]]
    assert [kinds.count(kind) for kind in "MXiC"] == [2, 6, 3, 1]
    outer = next(event for event in found["traceEvents"] if event["name"] == "outer")
    assert outer["args"] == {"metadata": '{"a": 1}'}
    assert outer["cat"] == "test"
    assert "modelled" in found["otherData"]["note"]


def test_speedscope_opens_and_closes_match(traces: TraceSet) -> None:
    file = io.StringIO()
    assert trace_export.write_speedscope(traces, file) == 6
    found = json.loads(file.getvalue())
    (profile,) = found["profiles"]
    opened: list[int] = []
    clock = 0.0
    for event in profile["events"]:
        assert event["at"] >= clock
        clock = event["at"]
        if event["type"] == "O":
            opened.append(event["frame"])
        else:
            assert opened.pop() == event["frame"]
    assert opened == []
    assert {frame["name"] for frame in found["shared"]["frames"]} == {"outer", "=inner", "first", "overlaps"}


def test_csv_has_a_line_for_each_span(traces: TraceSet) -> None:
    file = io.StringIO()
    assert trace_export.write_events_csv(traces, file) == 6
    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert [row["label"] for row in rows][:2] == ["outer", "'=inner"]
    assert float(rows[0]["end_us"]) >= float(rows[0]["start_us"])


def test_of_too_many_spans_the_longest_are_kept(traces: TraceSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_export, "MOST_EVENTS", 2)
    file = io.StringIO()
    trace_export.write_chrome(traces, file)
    found = json.loads(file.getvalue())
    assert found["otherData"]["left out"] == 4
    names = [event["name"] for event in found["traceEvents"] if event["ph"] == "X"]
    assert names == ["first", "overlaps"]
