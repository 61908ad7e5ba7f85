"""A study in a few lines: one for each size, then what limits it and whether replicas are equivalent.

For a first look and for narrow terminals; everything else is in the table, the page and the document.
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tremula.formatting import amount, between, duration, plain, share
from tremula.scale.feeding import MEASURED, Limit, limits
from tremula.scale.row import PART_TITLES, DataRate, Row, ScalingStudy
from tremula.scale.sentences import ipus, named
from tremula.study.finding import Figure

_COLUMNS = ("IPUs", "layout", "time/step", "samples/s", "", "efficiency", "", "fits", "most of the time")
#: columns that the last one of them needs
_LEAST = 15
#: where there is little room; the rest is on the page
_NARROW = ("IPUs", "layout", "time/step", "samples/s", "", "effic.", "", "fits")


def print_brief(study: ScalingStudy, console: Console) -> None:
    """Print it."""
    for mode, target, rows in study.series():
        title = f"{mode.capitalize()} scaling of {named(study.name)} on {named(target or 'this machine')}, modelled"
        console.print(Text(named(title, 300), "bold"))
        without = console.measure(_table(rows, _COLUMNS[:-1])).maximum
        table = _table(rows, _COLUMNS if without + _LEAST <= console.width else _NARROW)
        if table.rows:
            console.print(table)
        for row in rows:
            if row.problem:
                console.print(Text(plain(f"{ipus(row.ipus)}: no answer: {row.problem}"), "yellow"))
    for line in _below(study):
        console.print(Text(plain(line)))


def _table(rows: list[Row], columns: tuple[str, ...]) -> Table:
    left = 0 if columns is _NARROW else 1
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, left), header_style="bold")
    for number, name in enumerate(columns):
        table.add_column(
            name,
            justify="left" if number in (4, 6, 7, 8) else "right",
            no_wrap=number != len(_COLUMNS) - 1,
        )
    for row in rows:
        if not row.problem:
            table.add_row(*(Text(plain(cell)) for cell in _cells(row)[: len(columns)]))
    return table


def _cells(row: Row) -> list[str]:
    parts = sorted(((seconds, part) for part, seconds in row.parts.items() if part != "data"), reverse=True)
    whole = sum(seconds for seconds, _ in parts) or 1.0
    most = ", ".join(f"{PART_TITLES[part]} {share(seconds / whole)}" for seconds, part in parts[:2])
    rate, gain = row.figures["throughput"], row.figure("efficiency")
    return [
        str(row.ipus),
        f"{row.replicas} x {row.stages}",
        duration(row.figures["step_seconds"].value),
        amount(rate.value),
        between(rate.low, rate.high, amount),
        "-" if gain is None else share(gain.value),
        _range(gain),
        row.fits,
        most,
    ]


def _range(figure: Figure | None) -> str:
    if figure is None or figure.low == figure.high:
        return ""
    return between(figure.low, figure.high, share)


def _below(study: ScalingStudy) -> list[str]:
    lines = [
        "layout: replicas x IPUs of one; behind a figure the range in which the true value probably lies"
    ]
    lines += _data(limits(study.series(), study.data), study.data)
    for run in study.measured.runs if study.measured is not None else ():
        if run.instances > 1 and run.equivalent is not None:
            verdict = "train what one would" if run.equivalent else "do NOT train what one would"
            lines.append(f"measured: {run.instances} processes together {verdict}")
        elif run.instances > 1:
            lines.append(f"measured: {run.instances} processes: {run.note or 'not compared'}")
    lines += [f"measured: {each}" for each in (study.measured.problems if study.measured is not None else ())]
    return lines


def _data(found: list[Limit], data: DataRate | None) -> list[str]:
    """Where loading limits; once, if that is the same in all series."""
    if data is None:
        return []
    rate = f"loads {amount(data.samples_per_second)} samples/s"
    given = data.origin != MEASURED
    loads = f"a host {rate}, as given" if given else f"this host {rate} with this program's loader"
    told: dict[str, list[str]] = {}
    for limit in found:
        up_to = f"IPUs would take up to {amount(limit.needed_per_host)} from each host"
        text = (
            f"enough for all of these sizes: {up_to}"
            if limit.ipus is None
            else f"which limits from {ipus(limit.ipus)} on; {up_to}"
        )
        told.setdefault(text, []).append(f"{limit.mode} on {limit.target}")
    if len(told) == 1:
        return [f"data: {loads}, {text}" for text in told]
    return [f"data, {' and '.join(series)}: {loads}, {text}" for text, series in told.items()]
