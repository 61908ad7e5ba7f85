"""A study for a terminal of any width, and as CSV.

Each figure has its range below it. A series is one table if that fits the terminal, several if not, and a block of
lines per size where even those do not. Names may hold anything: rich markup is off, and control characters go.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tremula.formatting import amount, between, duration, energy, memory_size, share
from tremula.scale.row import PARTS, Measured, Row, ScalingStudy
from tremula.scale.sentences import (
    BANDS,
    MEASURED,
    SHORT_PARTS,
    batch,
    begun,
    data_limits,
    headline,
    host_run,
    ipus,
    named,
    part_shares,
    series_title,
    tried,
    waiting,
)
from tremula.study.table import harmless

#: a part is listed if it has this share of a step at some size
_LEAST = 0.005
#: no terminal is wider
_UNBOUNDED = 10_000
_STYLES = {"yes": "green", "likely": "green", "unlikely": "red", "no": "bold red"}


@dataclass(frozen=True)
class _Column:
    """A column: its title, and value and second line of a row's cell."""

    title: str
    cell: Callable[[Row], tuple[str, str]]


def print_study(study: ScalingStudy, console: Console) -> None:
    """The whole study."""
    _say(console, f"{named(study.name)}: {headline(study)}", "bold")
    _say(console, BANDS, "yellow")
    every = study.series()
    for mode, target, rows in every:
        console.print()
        _say(console, begun(series_title(mode, target)), "bold")
        _print_series([row for row in rows if row.figures], study, console)
        _print_problems(rows, console)
    console.print()
    _say(
        console,
        "Layout: replicas x IPUs of one; whether it fits (yes and no hold over the whole range). Batch: samples per "
        f"{'weight update' if study.training else 'call'} = micro-batch x "
        f"{'accumulation' if study.training else 'device iterations'} x replicas. Step: one "
        f"{'weight update' if study.training else 'micro-batch'}."
        + ("" if study.data is None else " With data: samples/s that the host can feed."),
        "dim",
    )
    _list("Data", data_limits(study), console)
    same: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for mode, target, rows in every:  # weak and strong mostly meet at the largest size
        row = max(rows, key=lambda row: row.ipus)
        same.setdefault((row.ipus, tuple(tried(row))), []).append(series_title(mode, target))
    for (size, lines), titles in same.items():
        _list(f"Layouts tried for {ipus(size)}, {', '.join(titles)}", lines, console)
    if study.measured is not None:
        _print_measured(study.measured, console)
    _list("Assumptions", [named(each, 2_000) for each in study.assumptions], console)


# -- a series --------------------------------------------------------------------------------------------------


def _figure(name: str, say: Callable[[float], str]) -> Callable[[Row], tuple[str, str]]:
    def cell(row: Row) -> tuple[str, str]:
        figure = row.figure(name)
        if figure is None:
            return "-", ""
        if figure.low == figure.high:  # the size that others are compared with, or what a host loads
            return say(figure.value), ""
        return say(figure.value), between(figure.low, figure.high, say)

    return cell


def _speed(study: ScalingStudy) -> list[_Column]:
    return [
        _Column("IPUs", lambda row: (f"{row.ipus:,}", "")),
        _Column("layout", lambda row: (f"{row.replicas:,} x {row.stages:,}", named(row.fits, 20))),
        _Column("batch", lambda row: batch(row, study.training)),
        _Column("time/step", _figure("step_seconds", duration)),
        _Column("samples/s", _figure("throughput", amount)),
        _Column("efficiency", _figure("efficiency", share)),
    ]


def _cost(study: ScalingStudy) -> list[_Column]:
    fed = [_Column("with data", _figure("fed_throughput", amount))] if study.data is not None else []
    return [
        *fed,
        _Column("fullest tile", _figure("tile_share", share)),
        _Column("memory/IPU", _figure("ipu_bytes", memory_size)),
        _Column("energy/sample", _figure("energy_per_sample", energy)),
    ]


#: heads of the columns of parts, in two lines where that is narrower
_PART_HEADS = {
    "inter_ipu": "between\nIPUs",
    "streaming": "streaming\nmemory",
    "pipeline_idle": "fill and\ndrain",
    "data": "waiting\nfor data",
}


def _time(rows: Sequence[Row]) -> list[_Column]:
    def column(part: str) -> _Column:
        def cell(row: Row) -> tuple[str, str]:
            value = part_shares(row).get(part, 0.0)
            return (share(value) if value >= _LEAST else "-"), ""

        return _Column(_PART_HEADS.get(part, SHORT_PARTS[part]), cell)

    shown = [part for part in PARTS if any(part_shares(row).get(part, 0.0) >= _LEAST for row in rows)]
    late = [_Column(_PART_HEADS["data"], lambda row: (waiting(row) or "-", ""))]
    return [column(part) for part in shown] + (late if any(waiting(row) for row in rows) else [])


def _print_series(rows: Sequence[Row], study: ScalingStudy, console: Console) -> None:
    if not rows:
        return
    speed, cost, time = _speed(study), _cost(study), _time(rows)
    size = speed[:1]
    wide, medium = [speed + cost, size + time], [speed, size + cost, size + time]
    for form in (wide, medium):
        tables = [_fitting(columns, rows, console) for columns in form if len(columns) > 1]
        known = [table for table in tables if table is not None]
        if len(known) < len(tables):
            continue
        late = "; what waiting for data adds to it" if any(waiting(row) for row in rows) else ""
        for number, table in enumerate(known):
            if number:
                console.print()
            if time and table is known[-1]:
                _say(console, f"where the time of a step goes{late}", "dim")
            console.print(table)
        return
    _print_blocks([*speed, *cost], rows, console)


def _fitting(columns: Sequence[_Column], rows: Sequence[Row], console: Console) -> Table | None:
    """A table that is no wider than the terminal, if there is one."""
    for gap in (2, 1):
        table = _table(columns, rows, gap)
        room = console.options.update(max_width=_UNBOUNDED)
        if Measurement.get(console, room, table).maximum <= console.width:
            return table
    return None


def _table(columns: Sequence[_Column], rows: Sequence[Row], gap: int) -> Table:
    table = Table(
        box=None,
        padding=(0, gap, 0, 0),
        pad_edge=False,
        header_style="bold",
    )
    for column in columns:
        table.add_column(Text(column.title), justify="right", no_wrap=True)
    for row in rows:
        cells = []
        for column in columns:
            value, below = column.cell(row)
            text = Text(value, style="" if row.runs or column.title == "IPUs" else "dim")
            if below:
                text.append(f"\n{below}", style=_STYLES.get(below, "dim"))
            cells.append(text)
        table.add_row(*cells)
    return table


def _print_blocks(columns: Sequence[_Column], rows: Sequence[Row], console: Console) -> None:
    for row in rows:
        _say(console, ipus(row.ipus), "bold")
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for column in columns[1:]:
            value, below = column.cell(row)
            text = Text(value)
            text.append(f" ({below})" if below else "", style=_STYLES.get(below, "dim"))
            grid.add_row(Text(f"  {column.title}"), text)
        shares = part_shares(row)
        told = [f"{SHORT_PARTS[p]} {share(shares[p])}" for p in PARTS if shares.get(p, 0.0) >= _LEAST]
        grid.add_row(Text("  time goes to"), Text(", ".join(told) or "-"))
        if waiting(row):
            grid.add_row(Text(f"  {SHORT_PARTS['data']}"), Text(waiting(row)))
        console.print(grid)


def _print_problems(rows: Iterable[Row], console: Console) -> None:
    for row in rows:
        if row.problem:
            _say(console, f"no figures for {ipus(row.ipus)}: {named(row.problem, 600)}", "yellow")
    for note in dict.fromkeys(note for row in rows for note in row.notes):
        _say(console, f"note: {named(note, 600)}", "dim")


# -- what stands beside ----------------------------------------------------------------------------------------


def _print_measured(measured: Measured, console: Console) -> None:
    console.print()
    _say(console, "Replicas on this host", "bold")
    _say(console, MEASURED, "yellow")
    for run in measured.runs:
        compared = run.instances > 1 and run.equivalent is not None
        style = "" if not compared else "green" if run.equivalent else "bold red"
        _bullet(console, host_run(run), style)
    if measured.program:
        _bullet(console, f"the program was run with: {named(measured.program, 400)}")
    if measured.threads:
        _bullet(console, f"{measured.threads} thread{'' if measured.threads == 1 else 's'} to a process")
    for problem in measured.problems:
        _bullet(console, named(problem, 600), "yellow")


def _list(title: str, lines: Sequence[str], console: Console) -> None:
    if lines:
        console.print()
        _say(console, title, "bold")
    for line in lines:
        _bullet(console, line)


def _bullet(console: Console, line: str, style: str = "") -> None:
    grid = Table.grid(padding=(0, 1))
    grid.add_column()
    grid.add_column(overflow="fold")
    grid.add_row(Text("-"), Text(line, style=style))
    console.print(grid)


def _say(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style=style, overflow="fold"))


# -- CSV -------------------------------------------------------------------------------------------------------

_SETTINGS = (
    "mode", "target", "system", "ipus", "replicas", "stages", "micro_batch", "accumulation", "device_iterations",
    "global_batch", "precision", "hosts", "fits",
)  # fmt: skip


def as_csv(study: ScalingStudy) -> str:
    """One line per row: settings, figures with their ranges, seconds of each part, and what a host loads."""
    figures = list(dict.fromkeys(name for row in study.rows for name in row.figures))
    ranges = [f"{name}{end}" for name in figures for end in ("", "_low", "_high")]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    head = ["name", "training", *_SETTINGS, *ranges, *(f"seconds_{part}" for part in PARTS)]
    writer.writerow(
        [harmless(each) for each in [*head, "host_samples_per_second", "begins", "notes", "problem"]]
    )
    for row in study.rows:
        values: list[object] = []
        for name in figures:
            figure = row.figure(name)
            values += ["", "", ""] if figure is None else [figure.value, figure.low, figure.high]
        begins = "; ".join(each for layout in row.layouts if layout.chosen for each in layout.begins)
        line: list[object] = [
            study.name,
            study.training,
            *(getattr(row, name) for name in _SETTINGS),
            *values,
        ]
        line += [row.parts.get(part, "") for part in PARTS]
        line += ["" if study.data is None else study.data.samples_per_second]
        line += [begins, "; ".join(row.notes), row.problem]
        writer.writerow([harmless(each) for each in line])
    return file.getvalue()
