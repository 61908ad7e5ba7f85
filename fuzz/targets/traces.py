"""Traces of the host, read by all that shows and exports them."""

from __future__ import annotations

import contextlib
import io
import random
import sqlite3
import tempfile
import zlib
from pathlib import Path

from fuzz.mutations import VALUES, change_json, flip_bytes
from fuzz.target import Target
from tremula.errors import Error


def make(folder: Path) -> list[Path]:
    """The trace of a few marks of every kind."""
    import libpvti as pvti
    from tremula.settings.values import TraceOptions
    from tremula.trace import writer

    writer.restart(TraceOptions(directory=str(folder)))
    channel = pvti.createTraceChannel("fuzz")
    heat = pvti.HeatmapDouble("heat", [0.0, 1.0, 2.0], "2^x")
    series = pvti.Graph("Loss", "%").addSeries("line")
    for step in range(30):
        with pvti.Tracepoint(channel, f"step {step % 4}", {"step": step}):
            with pvti.Tracepoint(channel, "inner"):
                pvti.Tracepoint.event(channel, "event")
            series.add(step)
            heat.add([0.5, 1.5])
        if step == 15:
            writer.flush()
    pvti.Tracepoint.begin(channel, "open")
    path = Path(pvti.getCurrentTraceFilename())
    pvti.closeTrace()
    return [path.rename(folder / "trace.pvti")]


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Bytes of the file, rows of its table, or what a batch says."""
    if rng.random() < 0.3:
        return flip_bytes(data, rng)
    with tempfile.NamedTemporaryFile(suffix=".pvti") as file:
        Path(file.name).write_bytes(data)
        with (
            contextlib.closing(sqlite3.connect(file.name)) as connection,
            contextlib.suppress(Exception),  # a second change of what is broken already
        ):
            for _ in range(rng.choice((1, 1, 2, 4))):
                _change(connection, rng)
            connection.commit()
        return Path(file.name).read_bytes()


def _change(connection: sqlite3.Connection, rng: random.Random) -> None:
    kind = rng.randrange(8)
    if kind == 0:
        connection.execute(rng.choice(("drop table batches", "delete from batches", "create table t (a)")))
    elif kind == 1:
        value = rng.choice(
            [each for each in VALUES if not isinstance(each, list | dict)] + [rng.randbytes(9)]
        )
        connection.execute(f"update batches set {rng.choice(('number', 'content'))} = ?", (value,))
    else:  # a batch that is compressed as it should be, and says something else
        number, content = rng.choice(connection.execute("select number, content from batches").fetchall())
        raw = zlib.decompress(content)
        size = int.from_bytes(raw[:4], "little")
        head, columns = raw[4 : 4 + size], raw[4 + size :]
        if rng.random() < 0.7:
            head = change_json(head, rng)
        else:
            columns = flip_bytes(columns, rng)
        changed = len(head).to_bytes(4, "little") + head + columns
        connection.execute(
            "update batches set content = ? where number = ?", (zlib.compress(changed, 1), number)
        )


def read(path: Path) -> None:
    """Every answer and every export."""
    from tremula.trace.several import TraceSet
    from tremula.view import trace_export
    from tremula.view.trace_answers import WHATS, answer

    traces = TraceSet(path)
    window = {"start": "0", "end": str(max(1.0, min(traces.end_us, 1e15))), "pixels": "500"}
    last = len(traces.events) + len(traces.instants) - 1
    for what in WHATS:
        if what != "trace_heatmap" or traces.heatmaps:
            if what in ("trace_event", "trace_call_tree") and not len(traces.events):
                continue
            number = last if what == "trace_event" else 0
            answer(traces, what, {**window, "text": "step", "id": str(number)})
    for export in (trace_export.write_chrome, trace_export.write_speedscope, trace_export.write_events_csv):
        export(traces, io.StringIO())


def refusals() -> tuple[type[BaseException], ...]:
    """The project's error."""
    return (Error,)


TRACES = Target("traces", make, mutate, read, refusals)
