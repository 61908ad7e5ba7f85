"""Traces of the host for other viewers: JSON trace events (ui.perfetto.dev, chrome://tracing), speedscope, CSV.

Written one by one. The spans of the device are modelled, and say so in their names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np

from tremula.csv_cells import write_csv
from tremula.trace.several import TraceSet
from tremula.view.text import clean

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
#: spans and values that are written; the longest spans are kept
MOST_EVENTS = 1_000_000
_LONGEST = 200
_LONGEST_METADATA = 2000


def write_chrome(traces: TraceSet, file: TextIO) -> int:
    """Write JSON trace events; gives their number."""
    written = 0
    note = "times of the IPU are modelled, times of the host measured"
    head = {"displayTimeUnit": "ns", "otherData": {"note": note, "left out": _left_out(traces)}}
    file.write(json.dumps(head, separators=(",", ":"))[:-1] + ',"traceEvents":[')
    for event in _chrome_events(traces):
        file.write(",\n" if written else "\n")
        json.dump(event, file, separators=(",", ":"), allow_nan=False)
        written += 1
    file.write("\n]}\n")
    return written


def _left_out(traces: TraceSet) -> int:
    return max(0, len(traces.events) - MOST_EVENTS)


def _kept(traces: TraceSet) -> list[int]:
    """The spans that are written, in order: all, or the longest."""
    events = traces.events
    if len(events) <= MOST_EVENTS:
        return list(range(len(events)))
    longest = np.argpartition(events.start_us - events.end_us, MOST_EVENTS)[:MOST_EVENTS]
    found: list[int] = np.sort(longest).tolist()
    return found


def _chrome_events(traces: TraceSet) -> Iterator[dict[str, Any]]:
    # numbers of processes and threads of several hosts may be the same: rows have their own
    for number, held in enumerate(traces.files):
        process = held.process
        where = f" on {process.host}" if traces.clock == "wall clock" else ""
        yield _name("process_name", number + 1, 0, f"{process.name} ({process.pid}{where})")
    for number, row in enumerate(traces.rows):
        yield _name("thread_name", row.process + 1, number + 1, row.thread.name or str(row.thread.tid))
    events, marks = traces.events, traces.instants
    process_of = [row.process + 1 for row in traces.rows]
    channels = [clean(name, _LONGEST) for name in traces.channels]
    for at in _kept(traces):
        thread = int(events.thread[at])
        start = round(float(events.start_us[at]), 3)
        yield {
            "ph": "X", "pid": process_of[thread], "tid": thread + 1, "name": _text(traces, int(events.label[at])),
            "cat": channels[int(events.channel[at])], "ts": start,
            "dur": round(float(events.end_us[at]) - start, 3), **_arguments(traces, int(events.metadata[at])),
        }  # fmt: skip
    for at in range(min(len(marks), MOST_EVENTS)):
        thread = int(marks.thread[at])
        yield {
            "ph": "i", "s": "t", "pid": process_of[thread], "tid": thread + 1,
            "name": _text(traces, int(marks.label[at])), "cat": channels[int(marks.channel[at])],
            "ts": round(float(marks.time_us[at]), 3), **_arguments(traces, int(marks.metadata[at])),
        }  # fmt: skip
    left = MOST_EVENTS
    for process_number, counter in traces.counters:
        name = clean(f"{counter.graph} [{counter.unit}]" if counter.unit else counter.graph, _LONGEST)
        for moment, value in zip(counter.time_us[:left].tolist(), counter.value[:left].tolist(), strict=True):
            yield {
                "ph": "C", "pid": process_number + 1, "tid": 0, "name": name, "ts": round(moment, 3),
                "args": {clean(counter.series, _LONGEST): value},
            }  # fmt: skip
        left = max(0, left - len(counter.value))


def _name(kind: str, pid: int, tid: int, text: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": clean(text, _LONGEST)}}


def _text(traces: TraceSet, number: int) -> str:
    return clean(traces.texts[number], _LONGEST)


def _arguments(traces: TraceSet, metadata: int) -> dict[str, Any]:
    if metadata < 0:
        return {}
    return {"args": {"metadata": clean(traces.texts[metadata], _LONGEST_METADATA)}}


def write_speedscope(traces: TraceSet, file: TextIO) -> int:
    """Write a speedscope file with a profile for each row; gives the number of spans."""
    events = traces.events
    kept = np.array(_kept(traces), np.int64)
    frames: dict[int, int] = {}
    profiles = []
    for number, row in enumerate(traces.rows):
        mine = kept[(kept >= row.first) & (kept < row.last)]
        if not len(mine):
            continue
        process = traces.files[row.process].process
        made: list[dict[str, Any]] = []
        for kind, moment, at in _opens_and_closes(traces, mine):
            frame = frames.setdefault(int(events.label[at]), len(frames))
            made.append({"type": kind, "at": moment, "frame": frame})
        profiles.append({
            "type": "evented",
            "name": clean(f"{process.name} ({process.pid}): {row.thread.name or number}", _LONGEST),
            "unit": "microseconds", "startValue": made[0]["at"], "endValue": made[-1]["at"], "events": made,
        })  # fmt: skip
    document = {
        "$schema": _SCHEMA,
        "exporter": "tremula",
        "name": clean(traces.title, _LONGEST),
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": _text(traces, label) or "(no name)"} for label in frames]},
        "profiles": profiles,
    }
    json.dump(document, file, separators=(",", ":"), allow_nan=False)
    return len(kept)


def _opens_and_closes(traces: TraceSet, spans: np.ndarray[Any, Any]) -> Iterator[tuple[str, float, int]]:
    """Beginnings ("O") and ends ("C") of the spans of a row, properly nested: what overlaps is cut."""
    events = traces.events
    opened: list[tuple[int, float]] = []
    moment = 0.0
    for at in spans.tolist():
        start, end = round(float(events.start_us[at]), 3), round(float(events.end_us[at]), 3)
        while opened and opened[-1][1] <= start:
            closed, over = opened.pop()
            moment = max(moment, over)
            yield "C", moment, closed
        if opened:
            end = min(end, opened[-1][1])
        moment = start if not opened else max(moment, start)
        yield "O", moment, at
        opened.append((at, max(end, moment)))
    while opened:
        closed, over = opened.pop()
        moment = max(moment, over)
        yield "C", moment, closed


def write_events_csv(traces: TraceSet, file: TextIO) -> int:
    """Write a line for each span; gives their number."""
    events = traces.events

    def lines() -> Iterator[tuple[object, ...]]:
        for at in _kept(traces):
            row = traces.rows[int(events.thread[at])]
            metadata = int(events.metadata[at])
            yield (
                traces.files[row.process].process.pid, row.thread.tid, clean(row.thread.name),
                traces.channels[int(events.channel[at])], traces.texts[int(events.label[at])],
                float(events.start_us[at]), float(events.end_us[at]), int(events.depth[at]),
                "" if metadata < 0 else traces.texts[metadata],
            )  # fmt: skip

    head = ("pid", "tid", "thread", "channel", "label", "start_us", "end_us", "depth", "metadata")
    return write_csv(file, head, lines())
