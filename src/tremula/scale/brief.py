"""A study in a few lines: one for each size, then what limits it and whether replicas are equivalent.

For a first look and for narrow terminals; everything else is in the table, the page and the document.
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tremula.scale.feeding import limits
from tremula.scale.row import PART_TITLES, Row, ScalingStudy
from tremula.study.finding import Figure
from tremula.wording import amount, between, duration, plain, share

_COLUMNS = ("IPUs", "layout", "time/step", "samples/s", "", "efficiency", "", "fits", "most of the time")


def print_brief(study: ScalingStudy, console: Console) -> None:
    """Print it."""
    for mode, target, rows in study.series():
        console.print(
            Text(plain(f"{mode.capitalize()} scaling of {study.name} on {target}, modelled"), "bold")
        )
        table = Table(box=None, pad_edge=False, header_style="bold")
        for number, name in enumerate(_COLUMNS):
            table.add_column(
                name,
                justify="left" if number in (4, 6, 7, 8) else "right",
                no_wrap=number != len(_COLUMNS) - 1,
            )
        for row in rows:
            if not row.problem:
                table.add_row(*(Text(plain(cell)) for cell in _cells(row)))
        console.print(table)
        for row in rows:
            if row.problem:
                console.print(Text(plain(f"{row.ipus} IPUs: no answer: {row.problem}"), "yellow"))
    for line in _below(study):
        console.print(Text(plain(line)))


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
    for limit in limits(study.series(), study.data):
        feeds = f"this host loads {amount(limit.has_per_host)} samples/s with this program's loader"
        if limit.ipus is None:
            lines.append(f"data: {feeds}, enough for all of these sizes")
        else:
            lines.append(
                f"data: {feeds}, which limits from {limit.ipus} IPU{'' if limit.ipus == 1 else 's'} on; the largest "
                f"size takes {amount(limit.needed_per_host)}"
            )
    for run in study.measured.runs if study.measured is not None else ():
        if run.instances > 1:
            verdict = {True: "the same weights as one", False: "OTHER weights than one", None: run.note}
            lines.append(
                f"measured: {run.instances} processes trained together come to {verdict[run.equivalent]}"
                if run.equivalent is not None
                else f"measured: {run.instances} processes: {run.note}"
            )
    lines += study.measured.problems if study.measured is not None else ()
    return lines
