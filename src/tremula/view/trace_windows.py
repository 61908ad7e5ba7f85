"""What a page draws of traces between two times: a bounded number of blocks, whatever the number of spans."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import Error
from tremula.trace.lanes import Blocks, Lane, lanes
from tremula.trace.several import TraceSet
from tremula.view.packed import packed_numbers
from tremula.view.parameters import Parameters
from tremula.view.text import clean

Answer = dict[str, Any]

MOST_PIXELS = 4096
#: rectangles and flags of an answer
_MOST_BLOCKS = 100_000
#: tries to draw coarser before something is left out
_COARSER = 16
#: numbers in a list of a question
_MOST_LISTED = 5000
_LONGEST = 300
#: sets of lanes that are kept, for the channels that were asked for
_KEPT_LANES = 4


def window_of(parameters: Parameters) -> tuple[float, float]:
    """The times `start` and `end` of a question."""
    start, end = parameters.number("start"), parameters.number("end")
    if not start < end:
        raise Error("The window has no width: end should be larger than start.", type="view_error")
    return start, end


def events_answer(traces: TraceSet, parameters: Parameters) -> Answer:
    """Rectangles of spans and flags of instants, row by row."""
    start, end = window_of(parameters)
    pixels = parameters.integer("pixels", low=1, high=MOST_PIXELS)
    wanted = set(numbers_of(parameters, "rows")) if parameters.text("rows") else None
    chosen = tuple(sorted(set(numbers_of(parameters, "channels"))))
    pixel = (end - start) / pixels
    shown = [lane for lane in _lanes(traces, chosen) if wanted is None or lane.row in wanted]
    drawn, cut = _drawn(shown, start, end, pixel)
    labels: dict[int, int] = {}
    instants, instants_cut = _instants(traces, start, end, pixel, wanted, chosen, labels)
    rects, unfinished = _rects(traces, drawn, labels)
    return {
        "start": start,
        "end": end,
        "pixels": pixels,
        "labels": [clean(traces.texts[label], _LONGEST) for label in labels],
        "rects": rects,
        "instants": instants,
        "unfinished": unfinished,
        "cut": cut + instants_cut,
    }


def _drawn(
    shown: list[Lane], start: float, end: float, pixel: float
) -> tuple[list[tuple[Lane, Blocks]], int]:
    """What to draw of each lane; coarser if it were too much. Also, how much is left out even so."""
    for _ in range(_COARSER):
        drawn = [(lane, blocks) for lane in shown if len(blocks := lane.window(start, end, pixel))]
        count = sum(len(blocks) for _, blocks in drawn)
        if count <= _MOST_BLOCKS:
            return drawn, 0
        pixel *= max(2.0, count / _MOST_BLOCKS)
    kept = []
    left = _MOST_BLOCKS
    for lane, blocks in drawn:
        left -= len(blocks)
        if left < 0:
            break
        kept.append((lane, blocks))
    return kept, count - sum(len(blocks) for _, blocks in kept)


def _lanes(traces: TraceSet, chosen: tuple[int, ...]) -> list[Lane]:
    kept: dict[tuple[int, ...], list[Lane]] = traces.drawn
    found = kept.get(chosen)
    if found is None:
        events = traces.events
        mask = np.isin(events.channel, chosen) if chosen else None
        row, depth = events.thread.astype(np.int64), events.depth.astype(np.int64)
        found = lanes(row, depth, events.start_us, events.end_us, mask)
        for old in list(kept)[: max(0, len(kept) + 1 - _KEPT_LANES)]:
            kept.pop(old, None)
        kept[chosen] = found
    return found


def _rects(
    traces: TraceSet, drawn: list[tuple[Lane, Blocks]], labels: dict[int, int]
) -> tuple[Answer, list[int]]:
    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(blocks, name) for _, blocks in drawn] or [np.zeros(0)])

    event, spans = column("event").astype(np.int64), column("spans")
    each = [len(blocks) for _, blocks in drawn]
    single = event[spans == 1]
    unfinished = single[traces.events.unfinished[single]]
    return {
        "count": len(event),
        "row": packed_numbers(np.repeat(np.array([lane.row for lane, _ in drawn], np.int64), each)),
        "depth": packed_numbers(np.repeat(np.array([lane.depth for lane, _ in drawn], np.int64), each)),
        "start": packed_numbers(column("start")),
        "end": packed_numbers(column("end")),
        "label": packed_numbers(local(traces.events.label[event], labels)),
        "channel": packed_numbers(traces.events.channel[event]),
        "events": packed_numbers(spans),
        "busy": packed_numbers(column("busy")),
        "event": packed_numbers(event),
    }, unfinished.tolist()


def local(label: NDArray[np.int32], labels: dict[int, int]) -> NDArray[np.int64]:
    """The numbers of labels within an answer; `labels` collects those that it needs."""
    different, at = np.unique(label, return_inverse=True)
    numbers = [labels.setdefault(int(each), len(labels)) for each in different]
    return np.array(numbers, np.int64)[at] if len(label) else np.zeros(0, np.int64)


def _instants(
    traces: TraceSet, start: float, end: float, pixel: float,
    wanted: set[int] | None, chosen: tuple[int, ...], labels: dict[int, int],
) -> tuple[Answer, int]:  # fmt: skip
    marks = traces.instants
    inside = (marks.time_us >= start) & (marks.time_us <= end)
    if wanted is not None:
        inside &= np.isin(marks.thread, list(wanted))
    if chosen:
        inside &= np.isin(marks.channel, chosen)
    at = np.flatnonzero(inside)  # by row and time
    pixel_of = np.floor((marks.time_us[at] - start) / pixel)
    new = np.concatenate([[True], (np.diff(pixel_of) != 0) | (np.diff(marks.thread[at]) != 0)])[: len(at)]
    firsts = np.flatnonzero(new)
    several = np.diff(np.append(firsts, len(at)))
    cut = max(0, len(firsts) - _MOST_BLOCKS)
    firsts, several = firsts[:_MOST_BLOCKS], several[:_MOST_BLOCKS]
    shown = at[firsts]
    return {
        "count": len(shown),
        "row": packed_numbers(marks.thread[shown]),
        "time": packed_numbers(marks.time_us[shown]),
        "label": packed_numbers(local(marks.label[shown], labels)),
        "channel": packed_numbers(marks.channel[shown]),
        "events": packed_numbers(several),
        "event": packed_numbers(shown + len(traces.events)),
    }, cut


def counters_answer(traces: TraceSet, parameters: Parameters) -> Answer:
    """Least and largest value of each series per pixel."""
    start, end = window_of(parameters)
    pixels = parameters.integer("pixels", low=1, high=MOST_PIXELS)
    counters = traces.counters
    listed = numbers_of(parameters, "series") or list(range(min(len(counters), 500)))
    found = []
    before, after = {}, {}
    for number in listed:
        if number >= len(counters):
            raise Error(f"There is no series {number}.", type="view_error")
        time, value = counters[number][1].time_us, counters[number][1].value
        low, high = np.searchsorted(time, start), np.searchsorted(time, end, side="right")
        if low:
            before[str(number)] = float(value[low - 1])
        if high < len(value):
            after[str(number)] = float(value[high])
        found.append(
            {"id": number, **_extremes(time[low:high], value[low:high], start, (end - start) / pixels)}
        )
    return {"start": start, "end": end, "pixels": pixels, "series": found, "before": before, "after": after}


def _extremes(time: NDArray[np.float64], value: NDArray[np.float64], start: float, pixel: float) -> Answer:
    if not len(time):
        nothing = packed_numbers([])
        return {"time": nothing, "low": nothing, "high": nothing, "last": nothing, "samples": nothing}
    first = _columns(time, start, pixel)
    bounds = np.append(first, len(time))
    return {
        "time": packed_numbers(time[first]),
        "low": packed_numbers(np.minimum.reduceat(value, first)),
        "high": packed_numbers(np.maximum.reduceat(value, first)),
        "last": packed_numbers(value[bounds[1:] - 1]),
        "samples": packed_numbers(np.diff(bounds)),
    }


def _columns(time: NDArray[np.float64], start: float, pixel: float) -> NDArray[np.int64]:
    """Where each pixel that has samples begins."""
    column = np.floor((time - start) / pixel)
    return np.flatnonzero(np.concatenate([[True], np.diff(column) != 0]))


def heatmap_answer(traces: TraceSet, parameters: Parameters) -> Answer:
    """The counts of each bin, added per pixel."""
    start, end = window_of(parameters)
    pixels = parameters.integer("pixels", low=1, high=MOST_PIXELS)
    number = parameters.integer("id", low=0, high=max(0, len(traces.heatmaps) - 1))
    if number >= len(traces.heatmaps):
        raise Error("There is no heat map.", type="view_error")
    heat = traces.heatmaps[number][1]
    bins = len(heat.edges) - 1
    # so many columns that the answer has a bounded size
    pixel = (end - start) / min(pixels, max(1, 1_000_000 // bins))
    low, high = (
        int(np.searchsorted(heat.time_us, start)),
        int(np.searchsorted(heat.time_us, end, side="right")),
    )
    low = max(0, low - 1)  # the one before reaches into the window
    time = heat.time_us[low:high]
    if not len(time):
        first, counts = np.zeros(0, np.int64), np.zeros((0, bins), np.int64)
    else:
        first = _columns(time, start, pixel)
        counts = np.add.reduceat(heat.counts[low:high].astype(np.int64), first, axis=0)
    following = heat.time_us[high] if high < len(heat.time_us) else traces.end_us
    edges = np.append(time[first], max(following, float(time[-1])) if len(time) else 0.0)
    counts = np.minimum(counts, 2**31 - 1)
    return {
        "id": number,
        "start": start,
        "end": end,
        "pixels": pixels,
        "bins": bins,
        "time": packed_numbers(time[first]),
        "width": packed_numbers(np.diff(edges)),
        "samples": packed_numbers(np.diff(np.append(first, len(time)))) if len(time) else packed_numbers([]),
        "counts": packed_numbers(counts.reshape(-1)),
        "most": int(counts.max()) if counts.size else 0,
    }


def numbers_of(parameters: Parameters, name: str) -> list[int]:
    """A list of whole numbers, such as `1,5,9`; empty if it is not there."""
    text = parameters.text(name, longest=8 * _MOST_LISTED)
    if not text:
        return []
    parts = text.split(",")
    if len(parts) > _MOST_LISTED or not all(
        part.isascii() and part.isdigit() and len(part) < 10 for part in parts
    ):
        raise Error(
            f"{name} is {clean(text, 40)!r}; it should be whole numbers with commas between.",
            type="view_error",
        )
    return [int(part) for part in parts]
