"""A scaling study for a terminal of any width, in short (`print_brief`), for notebooks, and as CSV.

Columns and layout are those of study/table.py. A series is one table if that fits the terminal, several if not, and a
block of lines per size where even those do not.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tremula.csv_cells import csv_text
from tremula.formatting import amount, share
from tremula.scale import sentences as words
from tremula.scale.data_rate import MEASURED as RATE_MEASURED
from tremula.scale.data_rate import limits
from tremula.scale.row import Measured, Row, ScalingStudy
from tremula.step_parts import DATA, STEP_PARTS, StepPart
from tremula.study import table as results
from tremula.study.table import STEP, THROUGHPUT, Column, figure_column, say

Columns = list[Column[Row]]
_IPUS: Column[Row] = Column("IPUs", lambda row: (f"{row.ipus:,}", ""))
_LAYOUT: Column[Row] = Column("layout", lambda row: (f"{row.replicas:,} x {row.stages:,}", row.fits))
_EFFICIENCY = figure_column("efficiency", "efficiency", share)


def _speed() -> Columns:
    return [_IPUS, _LAYOUT, Column("batch", words.batch), STEP, THROUGHPUT, _EFFICIENCY]


def _cost(study: ScalingStudy) -> Columns:
    with_data = figure_column("with data", "fed_throughput", amount)
    return [*([with_data] if study.data is not None else []), results.TILE, results.MEMORY, results.ENERGY]


def _folded(title: str) -> str:
    """The title of a narrow column, folded between words."""
    return textwrap.fill(title, 10, break_long_words=False, break_on_hyphens=False)


def _time(rows: Sequence[Row]) -> Columns:
    def column(part: StepPart) -> Column[Row]:
        def cell(row: Row) -> tuple[str, str]:
            value = row.shares.get(part.key, 0.0)
            return (share(value) if value >= results.LEAST_SHARE else "-"), ""

        return Column(_folded(part.short), cell)

    shown = [p for p in STEP_PARTS if any(row.shares.get(p.key, 0.0) >= results.LEAST_SHARE for row in rows)]
    late: Column[Row] = Column(_folded(DATA.short), lambda row: (words.waiting(row) or "-", ""))
    return [column(part) for part in shown] + ([late] if any(words.waiting(row) for row in rows) else [])


# -- the whole study -------------------------------------------------------------------------------------------


def print_study(study: ScalingStudy, console: Console) -> None:
    """The whole study."""
    say(console, f"{words.named(study.name)}: {words.headline(study)}", "bold")
    say(console, words.BANDS, "yellow")
    if mark := results.unequal(study.rows):
        say(console, mark, "yellow")
    every = study.series()
    for mode, target, rows in every:
        console.print()
        say(console, words.capitalized(words.series_title(mode, target)), "bold")
        _print_series([row for row in rows if row.figures], study, console)
        _print_problems(rows, console)
    console.print()
    say(console, _legend(study), "dim")
    _list("Data", words.data_limits(study), console)
    same: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for mode, target, rows in every:  # weak and strong mostly meet at the largest size
        row = max(rows, key=lambda row: row.ipus)
        same.setdefault((row.ipus, tuple(words.tried(row))), []).append(words.series_title(mode, target))
    for (size, lines), titles in same.items():
        _list(f"Layouts tried for {words.ipus(size)}, {', '.join(titles)}", lines, console)
    if study.measured is not None:
        _print_measured(study.measured, console)
    _list("Assumptions", [words.named(each, 2_000) for each in study.assumptions], console)


def _legend(study: ScalingStudy) -> str:
    return (
        "Layout: replicas x IPUs of one; whether it fits (likely: more probably than not). Batch: samples per "
        f"{'weight update' if study.training else 'call'} = micro-batch x "
        f"{'accumulation' if study.training else 'device iterations'} x replicas. Step: one "
        f"{'weight update' if study.training else 'micro-batch'}."
        + ("" if study.data is None else " With data: samples/s that the host can feed.")
    )


def _print_series(rows: Sequence[Row], study: ScalingStudy, console: Console) -> None:
    if not rows:
        return
    speed, cost, time = _speed(), _cost(study), _time(rows)
    wide, medium = [speed + cost, [_IPUS, *time]], [speed, [_IPUS, *cost], [_IPUS, *time]]
    for form in (wide, medium):
        tables = [results.fitting(columns, rows, console) for columns in form if len(columns) > 1]
        known = [table for table in tables if table is not None]
        if len(known) < len(tables):
            continue
        late = "; what waiting for data adds to it" if any(words.waiting(row) for row in rows) else ""
        for number, table in enumerate(known):
            if number:
                console.print()
            if time and table is known[-1]:
                say(console, f"where the time of a step goes{late}", "dim")
            console.print(table)
        return
    parts: Columns = [Column("time goes to", lambda row: (results.time_parts(row), ""))]
    if any(words.waiting(row) for row in rows):
        parts.append(Column(DATA.short, lambda row: (words.waiting(row), "")))
    for row in rows:
        results.print_block(words.ipus(row.ipus), [*speed[1:], *cost, *parts], row, console)


def _print_problems(rows: Iterable[Row], console: Console) -> None:
    for row in rows:
        if row.problem:
            say(console, f"no figures for {words.ipus(row.ipus)}: {words.named(row.problem, 600)}", "yellow")
    for note in dict.fromkeys(note for row in rows for note in row.notes):
        say(console, f"note: {words.named(note, 600)}", "dim")


def _print_measured(measured: Measured, console: Console) -> None:
    console.print()
    say(console, "Replicas on this host", "bold")
    say(console, words.MEASURED, "yellow")
    for run in measured.runs:
        compared = run.instances > 1 and run.equivalent is not None
        style = "" if not compared else "green" if run.equivalent else "bold red"
        _bullet(console, words.host_run(run), style)
    if measured.program:
        _bullet(console, f"the program was run with: {words.named(measured.program, 400)}")
    if measured.threads:
        _bullet(console, f"{measured.threads} thread{'' if measured.threads == 1 else 's'} to a process")
    for problem in measured.problems:
        _bullet(console, words.named(problem, 600), "yellow")


def _list(title: str, lines: Sequence[str], console: Console) -> None:
    if lines:
        console.print()
        say(console, title, "bold")
    for line in lines:
        _bullet(console, line)


def _bullet(console: Console, line: str, style: str = "") -> None:
    grid = Table.grid(padding=(0, 1))
    grid.add_column()
    grid.add_column(overflow="fold")
    grid.add_row(Text("-"), Text(line, style=style))
    console.print(grid)


# -- in short --------------------------------------------------------------------------------------------------


def print_brief(study: ScalingStudy, console: Console) -> None:
    """One line for each size, then what limits it and whether replicas are equivalent."""
    layout: Column[Row] = Column("layout", lambda row: (f"{row.replicas:,} x {row.stages:,}", ""))
    columns: Columns = [_IPUS, layout, Column("time/step", lambda row: (STEP.cell(row)[0], "")), THROUGHPUT]
    columns += [_EFFICIENCY, Column("fits", lambda row: (row.fits, results.fit_percentage(row)), left=True)]
    most: Column[Row] = Column("most of the time", lambda row: (_largest_parts(row), ""), left=True)
    for mode, target, rows in study.series():
        series = words.capitalized(
            words.series_title(mode, target).replace(" on ", f" of {words.named(study.name)} on ", 1)
        )
        say(console, f"{series}, modelled", "bold")
        known = [row for row in rows if not row.problem]
        for gap, shown in ((2, [*columns, most]), (2, columns), (1, columns)):
            table = results.table(shown, known, gap=gap, beside=True)
            room = console.options.update(max_width=10_000)
            if known and (gap == 1 or Measurement.get(console, room, table).maximum <= console.width):
                console.print(table)
                break
        for row in rows:
            if row.problem:
                say(console, f"{words.ipus(row.ipus)}: no answer: {row.problem}", "yellow")
    if mark := results.unequal(study.rows):
        say(console, mark, "yellow")
    for line in _brief_notes(study):
        console.print(Text(words.named(line, 2_000)))


def _largest_parts(row: Row) -> str:
    parts = sorted(STEP_PARTS, key=lambda part: -row.shares.get(part.key, 0.0))[:2]
    return ", ".join(f"{part.title} {share(row.shares.get(part.key, 0.0))}" for part in parts)


def _brief_notes(study: ScalingStudy) -> list[str]:
    lines = ["layout: replicas x IPUs of one; after each figure the likely range of the true value"]
    lines += _data_notes(study)
    for run in study.measured.runs if study.measured is not None else ():
        if run.instances > 1 and run.equivalent is not None:
            verdict = "train like one process" if run.equivalent else "do NOT train like one process"
            lines.append(f"measured: {run.instances} processes together {verdict}")
        elif run.instances > 1:
            lines.append(f"measured: {run.instances} processes: {run.note or 'not compared'}")
    return lines + [f"measured: {each}" for each in (study.measured.problems if study.measured else ())]


def _data_notes(study: ScalingStudy) -> list[str]:
    """Where loading limits; once, if that is the same in all series."""
    data = study.data
    if data is None:
        return []
    rate = f"loads {amount(data.samples_per_second)} samples/s"
    given = data.origin != RATE_MEASURED
    loads = f"a host {rate}, as given" if given else f"this host {rate} with this program's loader"
    found: dict[str, list[str]] = {}
    for limit in limits(study.series(), data):
        up_to = f"IPUs would take up to {amount(limit.needed_per_host)} from each host"
        text = (
            f"enough for all of these sizes: {up_to}"
            if limit.ipus is None
            else f"which limits from {words.ipus(limit.ipus)} on; {up_to}"
        )
        found.setdefault(text, []).append(f"{limit.mode} on {limit.target}")
    if len(found) == 1:
        return [f"data: {loads}, {text}" for text in found]
    return [f"data, {' and '.join(series)}: {loads}, {text}" for text, series in found.items()]


# -- notebooks and spreadsheets --------------------------------------------------------------------------------


def as_html(study: ScalingStudy) -> str:
    """The series for a notebook."""
    return "".join(
        results.as_html(
            study.name,
            rows,
            [*_speed(), *_cost(study)],
            _legend(study),
            title=f"{words.series_title(mode, target)}, ",
        )
        for mode, target, rows in study.series()
    )


_SETTINGS = (
    "target", "system", "ipus", "replicas", "stages", "micro_batch", "accumulation", "device_iterations", "precision",
)  # fmt: skip


def as_csv(study: ScalingStudy) -> str:
    """One line per row: settings, figures with their ranges, seconds of each part, and what a host loads."""
    return csv_text([_csv_line(row, study) for row in study.rows], ("name", "training", "mode", *_SETTINGS))


def _csv_line(row: Row, study: ScalingStudy) -> dict[str, object]:
    parts = row.parts
    begins = "; ".join(each for layout in row.layouts if layout.chosen for each in layout.begins)
    return {
        "name": study.name,
        "training": study.training,
        "mode": row.mode,
        **{name: row.setting.get(name, "") for name in _SETTINGS},
        "global_batch": row.global_batch,
        "hosts": row.hosts,
        "fits": row.fits,
        **results.figure_cells(row, study.rows),
        **{f"seconds_{part.key}": parts.get(part.key, "") for part in (*STEP_PARTS, DATA)},
        "host_samples_per_second": "" if study.data is None else study.data.samples_per_second,
        "begins": begins,
        "notes": "; ".join(row.notes),
        "problem": row.problem,
    }
