"""Marks of a C++ program, as records of the trace that this process writes."""

from __future__ import annotations

from typing import Any

from tremula.frontends.poplar.cpp.requests import request
from tremula.frontends.poplar.cpp.session import Session
from tremula.frontends.poplar.cpp.wire import WireError
from tremula.trace import channels, measures, points, writer

#: rows of the threads of the program, by their numbers
_rows: dict[int, points.Row] = {}


def add_marks(rows: list[Any]) -> None:
    """Record marks, which carry their times."""
    for row in rows:
        if row[0] in ("series", "heat map"):
            _, nanoseconds, names, edges, values = row
            if row[0] == "series":
                measures.Series(*names).add(float(values[0]), nanoseconds)
            else:
                measures.HeatMap.of(names[0], edges.tolist(), names[1]).add(values)
            continue
        kind, thread, nanoseconds, channel, label, metadata = row
        if kind == "name":
            _row(thread).name = label
            continue
        number = channels.channel(channel).number
        if not channels.channel(channel).on:
            continue
        if kind == "begin":
            _row(thread).records.append((number, label, metadata, nanoseconds))
        elif kind in ("end", "moment"):
            last = points.END if kind == "end" else points.MOMENT
            _row(thread).records.append((number, label, metadata, nanoseconds, last))
        else:
            raise WireError(f"a mark of kind {kind!r} is not known")


def _row(thread: int) -> points.Row:
    found = _rows.get(thread)
    if found is None:
        found = _rows[thread] = points.Row(None, thread, f"C++ thread {thread}")
        points.waiting.rows.append(found)
        points.on_first_point()
    return found


@request("trace file")
def trace_file(session: Session) -> str:
    """The file that is written."""
    return writer.current_file()


@request("close trace")
def close_trace(session: Session) -> None:
    """Complete the file."""
    writer.close()
