"""Host traces as text: whether the host starves the device, processes and threads, and where the time goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tremula.formatting import counted, duration
from tremula.trace.several import TraceSet
from tremula.view.text import clean, share
from tremula.view.trace_answers import answer

#: rows of each list
_LISTED = 12


def trace_text(traces: TraceSet) -> str:
    """The text."""
    found = answer(traces, "trace_overview", {})
    return "\n".join(_lines(traces, found))


def _lines(traces: TraceSet, found: dict[str, Any]) -> Iterator[str]:
    length = found["end"] - found["start"]
    counts = found["counts"]
    yield (
        f"{clean(found['title'])}: {duration(length / 1e6)}, {counted(counts['events'], 'event')}, "
        f"{counted(len(found['processes']), 'process', 'processes')}, {counted(len(found['rows']), 'thread')}"
    )
    if found["device"]:
        yield f"  {clean(found['device']['text'], 400)}"
    yield "Threads:"
    for row in sorted(found["rows"], key=lambda row: -row["busy"])[:_LISTED]:
        pid = found["processes"][row["process"]]["pid"]
        yield (
            f"  {clean(row['name'], 44):<44} process {pid:<8} {row['events']:>9,} events  busy "
            f"{share(row['busy'], length)}"
        )
    yield "Longest labels, inner ones included:"
    window = {"start": str(found["start"]), "end": str(found["end"])}
    channels = {each["id"]: each["name"] for each in found["channels"]}
    for each in answer(traces, "trace_selection", window)["labels"][:_LISTED]:
        yield (
            f"  {clean(each['label'], 44):<44} {clean(channels.get(each['channel'], ''), 20):<20} "
            f"{each['count']:>7,} x  {duration(each['total'] / 1e6):>8}, longest {duration(each['most'] / 1e6)}"
        )
    for counter in found["counters"][:_LISTED]:
        for series in counter["series"][:_LISTED]:
            yield (
                f"  counter {clean(counter['graph'], 30)}: {clean(series['name'], 30)}, {series['samples']:,} samples "
                f"from {series['low']:.4g} to {series['high']:.4g} {clean(counter['unit'], 20)}".rstrip()
            )
    for note in found["notes"]:
        yield f"Note: {clean(note, 300)}"
