"""What a program marks is in the file: spans, moments, counters and heat maps, of all threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.settings.values import TraceOptions
from tremula.trace import channels, collector, measures, points, writer
from tremula.trace.names import MODELLED
from tremula.trace.reader import TraceFile

Record = Callable[..., Callable[[], TraceFile]]

CHANNEL = channels.channel("test")


def labels(trace: TraceFile) -> list[str]:
    return [trace.texts[label] for label in trace.events.label]


def test_spans_nest_as_the_contexts_did(record: Record) -> None:
    end = record()
    with points.Span(CHANNEL, "outer", {"k": 1}):
        for _ in range(2):
            with points.Span(CHANNEL, "inner"):
                pass
        with points.Span(CHANNEL, "last"), points.Span(CHANNEL, "deep"):
            pass
    trace = end()
    assert labels(trace) == ["outer", "inner", "inner", "last", "deep"]
    assert trace.events.depth.tolist() == [0, 1, 1, 1, 2]
    assert trace.events.parent.tolist() == [-1, 0, 0, 0, 3]
    assert trace.children(0) == [1, 2, 3]
    assert trace.children(-1) == [0]
    assert [trace.metadata(number) for number in trace.events.metadata[:2]] == ['{"k": 1}', None]
    assert np.all(trace.events.start_us <= trace.events.end_us)
    assert [trace.channels[each] for each in trace.events.channel] == ["test"] * 5
    assert trace.ended
    assert trace.lost == 0


def test_an_end_by_name_ends_the_innermost_span_of_that_name(record: Record) -> None:
    end = record()
    points.begin(CHANNEL, "a", "first")
    points.begin(CHANNEL, "b")
    points.begin(CHANNEL, "a", "second")
    points.end(CHANNEL, "a")
    points.end(CHANNEL, "b")
    points.end(CHANNEL, "a", "said at the end")
    points.end(CHANNEL, "a")
    trace = end()
    assert labels(trace) == ["a", "b", "a"]
    assert [trace.metadata(each) for each in trace.events.metadata] == ["said at the end", None, "second"]
    assert trace.lost == 1, "an end without a beginning"


def test_contexts_of_coroutines_may_end_in_any_order(record: Record) -> None:
    end = record()

    async def work(name: str, steps: int) -> None:
        with points.Span(CHANNEL, name):
            for _ in range(steps):
                await asyncio.sleep(0.001)

    async def both() -> None:
        await asyncio.gather(work("short", 1), work("long", 4), work("middle", 2))

    asyncio.run(both())
    trace = end()
    spent = dict(zip(labels(trace), trace.events.end_us - trace.events.start_us, strict=True))
    assert spent["short"] < spent["middle"] < spent["long"]
    assert sorted(trace.events.depth.tolist()) == [0, 1, 2], "overlapping spans have rows of their own"


def test_each_thread_has_its_row_and_its_name(record: Record) -> None:
    end = record()

    def work(number: int) -> None:
        points.name_thread(f"worker {number}")
        for _ in range(200):
            with points.Span(CHANNEL, f"of {number}"):
                pass

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    trace = end()
    assert sorted(thread.name for thread in trace.threads) == sorted(
        f"worker {number}" for number in range(8)
    )
    for number, thread in enumerate(trace.threads):
        mine = trace.events.label[trace.events.thread == number]
        assert [trace.texts[label] for label in mine] == [thread.name.replace("worker", "of")] * 200


def test_moments_counters_and_heat_maps(record: Record) -> None:
    end = record()
    points.moment(CHANNEL, "here")
    line = measures.Series("Loss", "", "training")
    for value in (3.0, float("nan"), 1.0):
        line.add(value)
    heat = measures.HeatMap.of("weights", [0, 1, 2], "2^x")
    heat.add([0.5, 1.5, 2.0, -1.0, 7.0, float("nan")])
    trace = end()
    assert [trace.texts[label] for label in trace.instants.label] == ["here"]
    (counter,) = trace.counters
    assert (counter.graph, counter.series, counter.value.tolist()) == ("Loss", "training", [3.0, 1.0])
    assert np.all(np.diff(counter.time_us) >= 0)
    (found,) = trace.heatmaps
    assert (found.name, found.edges, found.counts.tolist()) == ("weights", (0.0, 1.0, 2.0), [[1, 2]])


def test_only_chosen_channels_are_recorded(record: Record) -> None:
    end = record(channels=("other",))
    other = channels.channel("other")
    assert (CHANNEL.on, other.on) == (False, True)
    for each in (CHANNEL, other):
        with points.Span(each, each.name):
            pass
    channels.switch(CHANNEL, True)
    channels.switch(other, False)
    for each in (CHANNEL, other):
        points.moment(each, each.name)
    trace = end()
    assert labels(trace) == ["other"]
    assert [trace.texts[label] for label in trace.instants.label] == ["test"]


def test_without_options_nothing_is_recorded(tmp_path: Path) -> None:
    writer.restart(TraceOptions(enable=False, directory=str(tmp_path)))
    with points.Span(CHANNEL, "lost"):
        points.moment(CHANNEL, "lost")
    measures.Series("a", "", "b").add(1.0)
    writer.flush()
    assert writer.current_file() == ""
    assert list(tmp_path.iterdir()) == []
    assert points.waiting.samples == []


def test_a_program_that_marks_nothing_leaves_no_file(tmp_path: Path) -> None:
    writer.restart(TraceOptions(directory=str(tmp_path)))
    writer.close()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_written_can_be_read(record: Record) -> None:
    end = record()
    with points.Span(CHANNEL, "still open"):
        points.moment(CHANNEL, "before")
        writer.flush()
        seen = TraceFile(writer.current_file())
        assert labels(seen) == ["still open"]
        assert seen.events.unfinished.tolist() == [True]
        assert seen.ended == ""
    assert end().events.unfinished.tolist() == [False]


def test_a_row_of_the_device_is_a_row_of_its_own(record: Record) -> None:
    end = record()
    points.NamedRow(MODELLED).add(channels.channel(MODELLED), "call", 10**9, 2 * 10**9)
    trace = end()
    assert [(thread.name, thread.kind) for thread in trace.threads] == [(MODELLED, "device")]
    assert trace.events.end_us[0] - trace.events.start_us[0] == pytest.approx(1e6)


def test_recording_ends_after_the_duration(record: Record) -> None:
    end = record(duration=0.01)
    points.moment(CHANNEL, "first")
    for _ in range(1000):
        if not channels.recording():
            break
        threading.Event().wait(0.01)
    assert not channels.recording()
    points.moment(CHANNEL, "too late")
    trace = end()
    assert [trace.texts[label] for label in trace.instants.label] == ["first"]
    assert "duration" in trace.ended


def test_a_file_as_large_as_allowed_ends_with_a_warning(
    record: Record, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TREMULA_TRACE_MEGABYTES", "0")
    end = record()
    points.moment(CHANNEL, "first")
    writer.flush()
    assert not channels.recording()
    trace = end()
    assert "large" in trace.ended
    assert "TREMULA_TRACE_MEGABYTES" in capfd.readouterr().err


def test_a_folder_that_cannot_be_written_is_said_and_the_program_goes_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    writer.restart(TraceOptions(directory=str(tmp_path / "file" / "folder")))
    points.moment(CHANNEL, "lost")
    writer.flush()
    assert not channels.recording()
    assert "cannot be written" in capfd.readouterr().err


def test_a_fault_of_the_writer_ends_the_trace_and_not_the_program(
    record: Record, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    end = record()
    points.moment(CHANNEL, "kept")
    writer.flush()

    def fails(*_: object) -> None:
        raise ZeroDivisionError("for the test")

    monkeypatch.setattr(collector.Collector, "batches", fails)
    points.moment(CHANNEL, "lost")
    writer.flush()
    assert not channels.recording()
    assert "for the test" in capfd.readouterr().err
    assert len(end().instants) == 1


def test_odd_labels_are_kept_as_text(record: Record) -> None:
    end = record()

    class Unspeakable:
        def __str__(self) -> str:
            raise RuntimeError

    for label in ("\ud800", "\0\x1b[31m", "x" * 50_000, 5, None, b"bytes", Unspeakable(), [1, 2]):
        with points.Span(CHANNEL, label, "m"):  # type: ignore[arg-type]
            pass
    trace = end()
    assert labels(trace) == ["?", "\0\x1b[31m", "x" * 10_000, "5", "None", "bytes", "<Unspeakable>", "[1, 2]"]


def test_a_context_may_end_in_another_thread(record: Record) -> None:
    end = record()
    span = points.Span(CHANNEL, "handed over")
    span.__enter__()
    thread = threading.Thread(target=lambda: span.__exit__(None, None, None))
    thread.start()
    thread.join()
    trace = end()
    assert labels(trace) == ["handed over"]
    assert trace.events.unfinished.tolist() == [False]
    assert trace.threads[trace.events.thread[0]].name == threading.current_thread().name


def test_of_too_many_points_at_once_new_spans_are_left_out_and_counted(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = record()
    outer = points.Span(CHANNEL, "outer")
    outer.__enter__()
    writer.flush()
    monkeypatch.setattr("tremula.trace.collector._MOST_WAITING", 10)
    with writer._lock:  # so that all of them wait together
        for _ in range(20):
            with points.Span(CHANNEL, "lost"):
                pass
        outer.__exit__(None, None, None)
    trace = end()
    assert labels(trace) == ["outer"]
    assert trace.events.unfinished.tolist() == [False]
    assert trace.lost == 20


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), max_size=60), st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_points_are_the_same_however_they_are_collected(steps: list[tuple[int, str]], every: int) -> None:
    """The quick way for contexts and the way that takes all kinds of points give the same spans."""

    def collected(quick: bool) -> list[tuple[object, ...]]:
        waiting = points.Waiting()
        row = points.Row(None, 1, "row")
        waiting.rows.append(row)
        made = collector.Collector(0)
        if not quick:
            made._add_contexts = lambda *_: False  # type: ignore[method-assign]
        opened: list[points.Begun] = []
        texts: list[str] = []
        found: list[tuple[object, ...]] = []

        def take() -> list[tuple[int, ...]]:
            still: list[tuple[int, ...]] = []
            for batch in made.batches(waiting, 1000):
                texts.extend(batch.texts)
                table = batch.tables.get("events", {})
                columns = [table[name].tolist() for name in ("label", "start", "end")] if table else [[]] * 3
                found.extend((texts[label], start, end) for label, start, end in zip(*columns, strict=True))
                still = [tuple(each) for each in batch.open]
            return still

        still: list[tuple[int, ...]] = []
        for now, (kind, label) in enumerate(steps):
            if kind == 0 or not opened:
                begun = (CHANNEL.number, label, None, now)
                opened.append(begun)
                row.records.append(begun)
            else:
                row.records.append((opened.pop(0 if kind == 1 else -1), now, None))
            if not now % every:
                still = take()
        still = take() or still
        return [*sorted(found, key=str), ("open", len(opened), len(still))]

    assert collected(quick=True) == collected(quick=False)
