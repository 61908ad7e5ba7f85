"""Host traces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pva
from tremula.errors import Error


@pytest.fixture
def trace_file(tmp_path: Path) -> Iterator[Callable[[], Path]]:
    """Begins a trace; what it returns ends it and gives its file."""
    from tremula.settings.values import TraceOptions
    from tremula.trace import writer

    writer.restart(TraceOptions(directory=str(tmp_path)))

    def end() -> Path:
        writer.close()
        (path,) = tmp_path.glob("*.pvti")
        return path

    yield end
    writer.close()


def test_events_are_a_tree_of_each_thread(trace_file: Callable[[], Path]) -> None:
    from tremula.trace import channels, points

    channel = channels.channel("training")
    with points.Span(channel, "Epoch:0", "first"):
        for number in range(3):
            with points.Span(channel, f"batch {number}"):
                pass
    with points.Span(channel, "Epoch:1"):
        pass
    trace: Any = pva.openTrace(trace_file())
    (process,) = trace.processes
    (thread,) = process.threads
    assert trace.process(process.pid).thread(thread.tid).name == thread.name
    first, second = thread.events
    assert (first.label, first.channel, second.label) == ("Epoch:0", "training", "Epoch:1")
    assert [child.label for child in first.children()] == ["batch 0", "batch 1", "batch 2"]
    assert second.children() == []
    assert first.timestamp + first.duration <= second.timestamp + 1
    assert first.duration >= sum(child.duration for child in first.children())
    assert "first" in first.metadata
    assert not second.metadata
    columns = thread.allEvents.to_numpy("label", "duration")
    assert columns["label"].tolist() == ["Epoch:0", "batch 0", "batch 1", "batch 2", "Epoch:1"]
    assert columns["duration"][0] == pytest.approx(first.duration, abs=0.01)


def test_what_is_not_there(trace_file: Callable[[], Path], tmp_path: Path) -> None:
    from tremula.trace import channels, points

    with points.Span(channels.channel("training"), "Epoch"):
        pass
    trace: Any = pva.openTrace(trace_file())
    with pytest.raises(Error, match="no process -1"):
        trace.process(-1)
    with pytest.raises(Error, match="no thread -1"):
        trace.processes[0].thread(-1)
    with pytest.raises(Error, match="cannot be opened"):
        pva.openTrace(tmp_path / "other.pvti")
