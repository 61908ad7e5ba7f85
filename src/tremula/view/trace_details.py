"""Answers about single spans of traces: search, details, tables of a selection, call trees."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import Error
from tremula.formatting import plain_values
from tremula.trace.names import MODELLED
from tremula.trace.several import TraceSet
from tremula.view.packed import packed_numbers
from tremula.view.parameters import Parameters
from tremula.view.text import clean
from tremula.view.trace_windows import local, numbers_of, window_of

Answer = dict[str, Any]

#: hits, children, labels and nodes of an answer
HITS = 200
_MOST_CHILDREN = 500
_MOST_LABELS = 500
_MOST_NODES = 2000
#: spans that a call tree looks at
_MOST_SPANS = 200_000
_MOST_STACK = 200
_LONGEST = 300
_LONGEST_LABEL = 10_000


def search_answer(traces: TraceSet, parameters: Parameters) -> Answer:
    """Spans and instants that have a text in their label, channel, metadata or thread, in order of time."""
    text = parameters.text("text")
    if not text:
        raise Error("There is nothing to search for.", type="view_error")
    first = parameters.integer("first", 0)
    needle = text.casefold()
    in_text = np.array([*(needle in each.casefold() for each in traces.texts), False])
    in_channel = np.array([needle in each.casefold() for each in traces.channels] or [False])
    in_row = np.array([needle in row.thread.name.casefold() for row in traces.rows] or [False])
    events, marks = traces.events, traces.instants

    def hits(table: Any) -> NDArray[np.int64]:
        found = (
            in_text[table.label] | in_text[table.metadata] | in_channel[table.channel] | in_row[table.thread]
        )
        return np.flatnonzero(found)

    spans, moments = hits(events), hits(marks)
    start = np.concatenate([events.start_us[spans], marks.time_us[moments]])
    order = np.argsort(start, kind="stable")[first : first + HITS]
    labels: dict[int, int] = {}
    label = np.concatenate([events.label[spans], marks.label[moments]])[order]
    depths = np.concatenate([events.depth[spans], np.full(len(moments), -1)])
    return {
        "text": clean(text, _LONGEST),
        "total": len(spans) + len(moments),
        "first": first,
        "hits": {
            "count": len(order),
            "event": packed_numbers(np.concatenate([spans, moments + len(events)])[order]),
            "row": packed_numbers(np.concatenate([events.thread[spans], marks.thread[moments]])[order]),
            "start": packed_numbers(start[order]),
            "end": packed_numbers(np.concatenate([events.end_us[spans], marks.time_us[moments]])[order]),
            "depth": packed_numbers(depths[order]),
            "label": packed_numbers(local(label, labels)),
            "channel": packed_numbers(np.concatenate([events.channel[spans], marks.channel[moments]])[order]),
        },
        "labels": [clean(traces.texts[each], _LONGEST) for each in labels],
    }


def event_answer(traces: TraceSet, parameters: Parameters) -> Answer:
    """All about one span or instant."""
    number = _event_number(traces, parameters, with_instants=True)
    events = traces.events
    if number >= len(events):
        return _instant(traces, number - len(events))
    label = int(events.label[number])
    same = np.flatnonzero(events.label == label)
    lengths = events.end_us[same] - events.start_us[same]
    previous, following = _neighbours(events.start_us[same], same, number)
    children = traces.children(number)
    inside = np.array(children, np.int64)
    start, end = float(events.start_us[number]), float(events.end_us[number])
    covered = float((events.end_us[inside] - events.start_us[inside]).sum())
    row = traces.rows[int(events.thread[number])]
    return {
        "id": number,
        "kind": "event",
        "label": clean(traces.texts[label], _LONGEST_LABEL),
        "channel": int(events.channel[number]),
        "row": int(events.thread[number]),
        "process": row.process,
        "start": start,
        "end": end,
        "duration": end - start,
        "depth": int(events.depth[number]),
        "unfinished": bool(events.unfinished[number]),
        "modelled": traces.channels[int(events.channel[number])] == MODELLED,
        "metadata": _metadata(traces, int(events.metadata[number])),
        "parent": int(events.parent[number]),
        "stack": _stack(traces, number),
        "children": [
            {
                "id": child, "label": _label(traces, child), "start": float(events.start_us[child]),
                "end": float(events.end_us[child]),
            }
            for child in children[:_MOST_CHILDREN]
        ],
        "children_total": len(children),
        "self": max(0.0, end - start - covered),
        "same_label": {
            "count": len(same), "total": float(lengths.sum()), "least": float(lengths.min()),
            "most": float(lengths.max()), "mean": float(lengths.mean()),
        },
        "previous": previous,
        "next": following,
    }  # fmt: skip


def _instant(traces: TraceSet, number: int) -> Answer:
    marks, first = traces.instants, len(traces.events)
    same = np.flatnonzero(marks.label == marks.label[number])
    previous, following = _neighbours(marks.time_us[same], same, number)
    time = float(marks.time_us[number])
    nothing = {"total": 0.0, "least": 0.0, "most": 0.0, "mean": 0.0}
    return {
        "id": first + number, "kind": "instant",
        "label": clean(traces.texts[int(marks.label[number])], _LONGEST_LABEL),
        "channel": int(marks.channel[number]), "row": int(marks.thread[number]),
        "process": traces.rows[int(marks.thread[number])].process, "start": time, "end": time, "duration": 0.0,
        "depth": -1, "unfinished": False, "modelled": False,
        "metadata": _metadata(traces, int(marks.metadata[number])), "parent": -1, "stack": [], "children": [],
        "children_total": 0, "self": 0.0, "same_label": {"count": len(same), **nothing},
        "previous": previous if previous < 0 else previous + first,
        "next": following if following < 0 else following + first,
    }  # fmt: skip


def _neighbours(start: NDArray[np.float64], numbers: NDArray[np.int64], number: int) -> tuple[int, int]:
    """The ones before and after `number` in time; -1: none."""
    by_time = numbers[np.argsort(start, kind="stable")]
    at = int(np.flatnonzero(by_time == number)[0])
    before = int(by_time[at - 1]) if at else -1
    return before, int(by_time[at + 1]) if at + 1 < len(by_time) else -1


def _stack(traces: TraceSet, number: int) -> list[Answer]:
    found: list[Answer] = []
    above = int(traces.events.parent[number])
    while above >= 0 and len(found) < _MOST_STACK:
        found.append({"id": above, "label": _label(traces, above)})
        above = int(traces.events.parent[above])
    return found[::-1]


def _label(traces: TraceSet, event: int) -> str:
    return clean(traces.texts[int(traces.events.label[event])], _LONGEST)


def _metadata(traces: TraceSet, number: int) -> Any:
    """What a program said about a mark: JSON where it is JSON, else text."""
    if number < 0:
        return None
    text = traces.texts[number]
    try:
        found = json.loads(text, parse_constant=str)
        # a number that JSON cannot say, or a deep nest, goes as the text that it is
        json.dumps(found, allow_nan=False)
    except (ValueError, RecursionError):
        return clean(text, _LONGEST_LABEL)
    return plain_values(found)


def _event_number(traces: TraceSet, parameters: Parameters, *, with_instants: bool) -> int:
    total = len(traces.events) + (len(traces.instants) if with_instants else 0)
    if not total:
        raise Error("The trace has no events.", type="view_error")
    return parameters.integer("id", low=0, high=total - 1)


def selection_answer(traces: TraceSet, parameters: Parameters) -> Answer:
    """The time of each label between two times, all of it and without what lies in it."""
    start, end = window_of(parameters)
    events = traces.events
    inside = (events.end_us >= start) & (events.start_us <= end)
    if parameters.text("rows"):
        inside &= np.isin(events.thread, numbers_of(parameters, "rows"))
    at = np.flatnonzero(inside)
    length = np.minimum(events.end_us[at], end) - np.maximum(events.start_us[at], start)
    own = np.zeros(len(events))
    own[at] = length
    held = at[events.parent[at] >= 0]
    np.subtract.at(
        own,
        events.parent[held],
        np.minimum(events.end_us[held], end) - np.maximum(events.start_us[held], start),
    )
    key = events.label[at].astype(np.int64) * len(traces.channels) + events.channel[at]
    different, group = np.unique(key, return_inverse=True)
    total = np.bincount(group, length, len(different))
    self_time = np.bincount(group, own[at], len(different))
    most = np.zeros(len(different))
    np.maximum.at(most, group, length)
    count = np.bincount(group, minlength=len(different))
    order = np.argsort(-total, kind="stable")[:_MOST_LABELS]
    return {
        "start": start,
        "end": end,
        "labels": [
            {
                "label": clean(traces.texts[int(different[each]) // len(traces.channels)], _LONGEST),
                "channel": int(different[each]) % len(traces.channels), "count": int(count[each]),
                "total": float(total[each]), "self": max(0.0, float(self_time[each])), "most": float(most[each]),
            }
            for each in order.tolist()
        ],
        "total": len(different),
    }  # fmt: skip


def call_tree_answer(traces: TraceSet, parameters: Parameters) -> Answer:
    """What lies in a span; of several with one label, their sum."""
    root = _event_number(traces, parameters, with_instants=False)
    events = traces.events
    nodes: list[Answer] = []
    numbers: dict[tuple[int, int], int] = {}
    waiting = [(root, -1)]
    seen = 0
    for event, parent in waiting:  # grows while it is walked
        seen += 1
        key = (parent, int(events.label[event]))
        if key not in numbers:
            if len(nodes) >= _MOST_NODES:
                continue
            numbers[key] = len(nodes)
            nodes.append(
                {"parent": parent, "label": _label(traces, event), "count": 0, "total": 0.0, "self": 0.0}
            )
        number = numbers[key]
        length = float(events.end_us[event] - events.start_us[event])
        nodes[number]["count"] += 1
        nodes[number]["total"] += length
        nodes[number]["self"] += length
        if parent >= 0:
            nodes[parent]["self"] = max(0.0, nodes[parent]["self"] - length)
        if len(waiting) < _MOST_SPANS:
            waiting += [(child, number) for child in traces.children(event)]
    return {"id": root, "nodes": nodes}
