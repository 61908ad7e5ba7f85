"""What a page asks of traces of the host, and the answers: plain JSON, bounded. Times are microseconds on the clock of
the set; numbers of rows, channels, series, heat maps and events hold for the set. Instants follow the spans.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tremula.errors import Error
from tremula.trace.host_share import host_share
from tremula.trace.names import MODELLED
from tremula.trace.several import TraceSet
from tremula.view import trace_details, trace_windows
from tremula.view.parameters import Parameters
from tremula.view.text import clean

Answer = dict[str, Any]

#: entries of lists in an overview
_MOST_ROWS = 2000
_MOST_MEASURES = 500
_MOST_CHANNELS = 2000
_LONGEST = 300


def answer(traces: TraceSet, what: str, params: Mapping[str, str]) -> Answer:
    """The answer to `what`; raises Error for questions and parameters that make no sense."""
    maker = _MAKERS.get(what)
    if maker is None:
        raise Error(f"There is no answer to {clean(what, 40)!r}.", type="view_error")
    return maker(traces, Parameters(params))


def overview_answer(traces: TraceSet, _parameters: Parameters) -> Answer:
    """Processes, rows, channels, counters, heat maps, counts, and whether the host starves the device."""
    shares = host_share(traces)
    counters, heatmaps = _counters(traces), _heatmaps(traces)
    rows = _rows(traces)
    lost = sum(file.lost for file in traces.files)
    notes = [clean(note, 1000) for note in traces.notes[:50]]
    if lost:
        notes.append(
            f"{lost:,} marks were not recorded: there were too many at once, or ends without a beginning."
        )
    return {
        "title": clean(traces.title, _LONGEST),
        "start": 0.0,
        "end": traces.end_us,
        "wall_start_us": traces.start_ns / 1e3,
        "clock": traces.clock,
        "files": [
            {
                "name": clean(file.path.name, _LONGEST), "process": number, "complete": bool(file.ended),
                "lost": file.lost, "note": clean(file.ended, _LONGEST),
            }
            for number, file in enumerate(traces.files)
        ],
        "processes": _processes(traces),
        "rows": rows[:_MOST_ROWS],
        "channels": _channels(traces),
        "counters": counters[:_MOST_MEASURES],
        "heatmaps": heatmaps[:_MOST_MEASURES],
        "counts": {
            "events": len(traces.events),
            "instants": len(traces.instants),
            "samples": sum(len(counter.value) for _, counter in traces.counters),
            "heatmap_samples": sum(len(heat.time_us) for _, heat in traces.heatmaps),
            "lost": lost,
        },
        "device": None if shares is None else {
            "modelled": True, "calls": shares.calls, "device_us": shares.device_us, "host_us": shares.host_us,
            "data_wait_us": shares.data_wait_us, "waits_share": shares.waits_share, "verdict": shares.verdict,
            "text": shares.text(),
        },
        "notes": notes,
        "cut": {
            "rows": max(0, len(rows) - _MOST_ROWS),
            "counters": max(0, len(counters) - _MOST_MEASURES),
            "heatmaps": max(0, len(heatmaps) - _MOST_MEASURES),
        },
    }  # fmt: skip


def _processes(traces: TraceSet) -> list[Answer]:
    events = np.zeros(len(traces.files), np.int64)
    for row in traces.rows:
        events[row.process] += row.last - row.first
    return [
        {
            "id": number, "pid": file.process.pid, "name": clean(file.process.name, _LONGEST),
            "host": clean(file.process.host, _LONGEST), "instance": file.process.instance, "start": offset,
            "end": max(offset, file.end_us + offset), "events": int(events[number]),
        }
        for number, (file, offset) in enumerate(zip(traces.files, traces.offsets_us, strict=True))
    ]  # fmt: skip


def _rows(traces: TraceSet) -> list[Answer]:
    """Process by process: the main thread first, the device last."""
    found = []
    events, instants = traces.events, traces.instants
    for number, row in enumerate(traces.rows):
        start, end = events.start_us[row.first : row.last], events.end_us[row.first : row.last]
        depth, marks = (
            events.depth[row.first : row.last],
            instants.time_us[row.first_instant : row.last_instant],
        )
        outer = depth == 0
        found.append({
            "id": number, "process": row.process, "tid": row.thread.tid, "name": clean(row.thread.name, _LONGEST),
            "kind": row.thread.kind, "depths": int(depth.max()) + 1 if len(depth) else 0, "events": len(start),
            "instants": len(marks), "start": min([*start[:1].tolist(), *marks[:1].tolist()], default=0.0),
            "end": max([*([float(end.max())] if len(end) else []), *marks[-1:].tolist()], default=0.0),
            "busy": float((end[outer] - start[outer]).sum()),
        })  # fmt: skip
    rows = traces.rows
    main = [row.thread.tid == traces.files[row.process].process.pid for row in rows]
    order = sorted(
        range(len(rows)),
        key=lambda at: (rows[at].process, rows[at].thread.kind == "device", not main[at], at),
    )
    return [found[at] for at in order]


def _channels(traces: TraceSet) -> list[Answer]:
    events = np.bincount(traces.events.channel, minlength=len(traces.channels))
    instants = np.bincount(traces.instants.channel, minlength=len(traces.channels))
    return [
        {
            "id": number, "name": clean(name, _LONGEST), "events": int(events[number]),
            "instants": int(instants[number]), "modelled": name == MODELLED,
        }
        for number, name in enumerate(traces.channels[:_MOST_CHANNELS])
    ]  # fmt: skip


def _counters(traces: TraceSet) -> list[Answer]:
    graphs: dict[tuple[int, str, str], Answer] = {}
    for number, (process, counter) in enumerate(traces.counters):
        key = (process, counter.graph, counter.unit)
        graph = graphs.setdefault(key, {
            "id": len(graphs), "process": process, "graph": clean(counter.graph, _LONGEST),
            "unit": clean(counter.unit, 40), "series": [],
        })  # fmt: skip
        if len(graph["series"]) < _MOST_MEASURES:
            graph["series"].append({
                "id": number, "name": clean(counter.series, _LONGEST), "samples": len(counter.value),
                "low": float(counter.value.min()) if len(counter.value) else 0.0,
                "high": float(counter.value.max()) if len(counter.value) else 0.0,
            })  # fmt: skip
    return list(graphs.values())


def _heatmaps(traces: TraceSet) -> list[Answer]:
    return [
        {
            "id": number, "process": process, "name": clean(heat.name, _LONGEST), "unit": clean(heat.unit, 40),
            "edges": list(heat.edges), "samples": len(heat.time_us),
            "most": int(heat.counts.max()) if heat.counts.size else 0,
        }
        for number, (process, heat) in enumerate(traces.heatmaps[: _MOST_MEASURES + 1])
    ]  # fmt: skip


_MAKERS: Mapping[str, Callable[[TraceSet, Parameters], Answer]] = {
    "trace_overview": overview_answer,
    "trace_events": trace_windows.events_answer,
    "trace_counters": trace_windows.counters_answer,
    "trace_heatmap": trace_windows.heatmap_answer,
    "trace_search": trace_details.search_answer,
    "trace_event": trace_details.event_answer,
    "trace_selection": trace_details.selection_answer,
    "trace_call_tree": trace_details.call_tree_answer,
}

#: the questions that there are
WHATS = tuple(_MAKERS)
