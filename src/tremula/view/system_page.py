"""The System Analyser as one self-contained page; see single_file.py for what such a page may and may not do.

A page is meant to be mailed and opened, so its size is bounded: of a large trace it holds blocks of several events
instead of each, and the metadata of the longest ones. What was left out is said on the page.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.trace.several import TraceSet
from tremula.view import trace_answers
from tremula.view.packed import packed_numbers
from tremula.view.single_file import compressed, save_page, single_file
from tremula.view.text import clean
from tremula.view.trace_windows import local

#: what a page keeps
MOST_EVENTS = 40_000
_PIXELS = (4096, 2048, 1024, 512, 256, 128)
_MOST_HEATMAPS = 40
_HEATMAP_NUMBERS = 400_000
_MOST_METADATA = 5_000
_METADATA_CHARACTERS = 500_000
_LONGEST = 300


def system_html(traces: TraceSet) -> str:
    """The whole page."""
    return single_file(
        ("tremula.view", "graph.html"),
        title=clean(traces.title, 80),
        styles=[("tremula.view", name) for name in ("page.css", "graph.css", "timeline.css")],
        scripts=[("tremula.view", "system.js")],
        data=compressed(system_data(traces)),
    )


def write_system_page(traces: TraceSet, path: str | os.PathLike[str]) -> int:
    """Write the page to `path`, whole or not at all; gives its size in bytes. Raises Error if it cannot be written."""
    return save_page(system_html(traces), path, type="trace_error")


def system_data(traces: TraceSet) -> dict[str, Any]:
    """All that the page needs, as web/src/source.ts takes it."""
    window = {"start": "0", "end": repr(max(traces.end_us, 1.0))}
    overview = trace_answers.answer(traces, "trace_overview", {})
    events = _events(traces, window)
    overview["left_out"] = _left_out(traces, events)
    answers: dict[str, Any] = {
        "trace_overview": overview,
        "trace_events": events,
        "trace_counters": trace_answers.answer(traces, "trace_counters", {**window, "pixels": "1500"}),
        "trace_metadata": _metadata(traces),
    }
    if overview["left_out"]:  # sums over blocks of several labels are not sums by label
        answers["trace_selection"] = trace_answers.answer(traces, "trace_selection", window)
    shown = overview["heatmaps"][:_MOST_HEATMAPS]
    overview["cut"]["heatmaps"] += len(overview["heatmaps"]) - len(shown)
    overview["heatmaps"] = shown
    for heatmap in shown:
        bins = max(1, len(heatmap["edges"]) - 1)
        pixels = max(16, min(1000, _HEATMAP_NUMBERS // (bins * len(shown))))
        asked = {**window, "id": str(heatmap["id"]), "pixels": str(pixels)}
        answers[f"trace_heatmap?id={heatmap['id']}"] = trace_answers.answer(traces, "trace_heatmap", asked)
    report = {"id": "0", "name": clean(traces.title, _LONGEST), "title": "host trace", "kind": "trace"}
    return {
        "reports": [report],
        "answers": {f"0/{key}": value for key, value in answers.items()},
        "frames": {},
    }


def _events(traces: TraceSet, window: dict[str, str]) -> dict[str, Any]:
    """Every event if there are few; else blocks of several, as few as have room."""
    if len(traces.events) + len(traces.instants) <= MOST_EVENTS:
        return _each(traces)
    found: dict[str, Any] = {}
    for pixels in _PIXELS:
        found = trace_answers.answer(traces, "trace_events", {**window, "pixels": str(pixels)})
        if found["rects"]["count"] + found["instants"]["count"] <= MOST_EVENTS:
            break
    return found


def _each(traces: TraceSet) -> dict[str, Any]:
    """The answer to `trace_events` with every event on its own."""
    events, instants = traces.events, traces.instants
    order = np.lexsort((events.start_us, events.depth, events.thread))
    marks = np.lexsort((instants.time_us, instants.thread))
    labels: dict[int, int] = {}
    rects = {
        "count": len(order),
        "row": packed_numbers(events.thread[order]),
        "depth": packed_numbers(events.depth[order]),
        "start": packed_numbers(_rounded(events.start_us[order])),
        "end": packed_numbers(_rounded(events.end_us[order])),
        "label": packed_numbers(local(events.label[order], labels)),
        "channel": packed_numbers(events.channel[order]),
        "events": packed_numbers(np.ones(len(order), dtype=np.int64)),
        "busy": packed_numbers(_rounded(events.end_us[order] - events.start_us[order])),
        "event": packed_numbers(order),
    }
    flags = {
        "count": len(marks),
        "row": packed_numbers(instants.thread[marks]),
        "time": packed_numbers(_rounded(instants.time_us[marks])),
        "label": packed_numbers(local(instants.label[marks], labels)),
        "channel": packed_numbers(instants.channel[marks]),
        "events": packed_numbers(np.ones(len(marks), dtype=np.int64)),
        "event": packed_numbers(marks + len(events)),
    }
    return {
        "start": 0.0,
        "end": traces.end_us,
        "pixels": 0,
        "labels": [clean(traces.texts[label], _LONGEST) for label in labels],
        "rects": rects,
        "instants": flags,
        "unfinished": np.flatnonzero(events.unfinished).tolist(),
        "cut": 0,
    }


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """To nanoseconds: the digits after them would only make the page larger."""
    rounded: NDArray[np.float64] = np.round(values, 3)
    return rounded


def _left_out(traces: TraceSet, events: dict[str, Any]) -> int:
    held: int = events["rects"]["count"] + events["instants"]["count"]
    return max(0, len(traces.events) + len(traces.instants) - held)


def _metadata(traces: TraceSet) -> dict[str, Any]:
    """What events say about themselves, by their numbers: of the longest ones, as much as has room."""
    events, instants = traces.events, traces.instants
    length = np.concatenate([events.end_us - events.start_us, np.zeros(len(instants))])
    text = np.concatenate([events.metadata, instants.metadata])
    found: dict[str, Any] = {}
    room = _METADATA_CHARACTERS
    for number in np.argsort(-length, kind="stable").tolist():
        said = traces.texts[text[number]] if text[number] >= 0 else ""
        if not said:
            continue
        room -= len(said)
        if room < 0 or len(found) >= _MOST_METADATA:
            break
        found[str(number)] = _parsed(said)
    return found


def _parsed(text: str) -> Any:
    """JSON if it is JSON, of a bounded depth; else the text."""
    if text[:1] not in "{[":
        return clean(text, 2_000)
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return clean(text, 2_000)
    return value
