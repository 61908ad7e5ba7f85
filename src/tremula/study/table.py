"""Answers as a table: for a terminal of any width, as a web page's fragment, as CSV.

Each figure has its range below it. Names come from the user's program and may hold anything, so control characters
go, rich markup is off, and HTML is escaped.
"""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tremula.formatting import amount, between, duration, energy, memory_size, plain, share
from tremula.study.finding import PARTS, Figure, Finding

if TYPE_CHECKING:
    from tremula.study.answer import Answers

#: columns of a terminal below which each answer is a block of lines
NARROW = 136
_COLUMNS = (
    "target", "IPUs", "batch", "fits", "fullest tile", "memory/IPU", "time/step", "samples/s", "of peak",
    "where the time goes", "energy/sample",
)  # fmt: skip
_PART_NAMES = {
    "inter_ipu": "between IPUs",
    "collectives": "collectives",
    "streaming": "streaming memory",
    "pipeline_idle": "pipeline fill/drain",
}
_STYLES = {"yes": "green", "likely": "green", "unlikely": "red", "no": "bold red"}


def cells(finding: Finding) -> list[tuple[str, str]]:
    """(value, range) of each column."""
    setting = finding.setting
    layout = f"{setting['replicas']} x {setting['stages']}"
    batch = (
        f"{setting['micro_batch']} x {setting['accumulation']}"
        if finding.training
        else f"{setting['micro_batch']}"
    )
    used = finding.figures.get("energy_per_sample")
    peak = finding.figures.get("utilisation")
    return [
        (str(setting.get("target", "")), str(setting.get("precision", ""))),
        (f"{setting['ipus']:,}", layout),
        (batch, f"x {setting['device_iterations']}"),
        (finding.fits, ""),
        _cell(finding["tile_share"], share),
        _cell(finding["ipu_bytes"], memory_size),
        _cell(finding["step_seconds"], duration),
        _cell(finding["throughput"], amount),
        _cell(peak, share) if peak is not None else ("-", ""),
        (_time(finding), ""),
        _cell(used, energy) if used is not None else ("-", "not known"),
    ]


def _cell(figure: Figure, say: Callable[[float], str]) -> tuple[str, str]:
    return say(figure.value), between(figure.low, figure.high, say)


def _time(finding: Finding, least: float = 0.005) -> str:
    named = [
        f"{_PART_NAMES.get(part, part)} {finding.shares.get(part, 0.0):.0%}"
        for part in PARTS
        if finding.shares.get(part, 0.0) >= least
    ]
    return ", ".join(named)


def print_table(findings: Sequence[Finding], console: Console) -> None:
    """The table, or blocks of lines where the terminal is narrow."""
    if console.width < NARROW:
        _print_blocks(findings, console)
        return
    table = Table(box=None, pad_edge=False, header_style="bold", row_styles=["", ""])
    for name in _COLUMNS:
        right = name not in ("target", "fits", "where the time goes")
        table.add_column(
            name,
            justify="right" if right else "left",
            ratio=1 if name == "where the time goes" else None,
            no_wrap=name != "where the time goes",
        )
    for finding in findings:
        if finding.problem:
            continue
        row = []
        for name, (value, below) in zip(_COLUMNS, cells(finding), strict=True):
            text = Text(plain(value), style=_STYLES.get(value, "") if name == "fits" else "")
            if below:
                text.append(f"\n{plain(below)}", style="dim")
            row.append(text)
        table.add_row(*row)
    if table.row_count:
        console.print(table)
    _print_problems(findings, console)


def _print_blocks(findings: Sequence[Finding], console: Console) -> None:
    for finding in findings:
        if finding.problem:
            continue
        pairs = list(zip(_COLUMNS, cells(finding), strict=True))
        (_, target), (_, ipus) = pairs[:2]
        title = f"{target[0]} {target[1]}".strip()
        console.print(
            Text(plain(f"{title}, {ipus[0]} {'IPU' if ipus[0] == '1' else 'IPUs'} ({ipus[1]})"), style="bold")
        )
        for name, (value, below) in pairs[2:]:
            console.print(Text(plain(f"  {name:<20} {value}" + (f"  ({below})" if below else ""))))
    _print_problems(findings, console)


def _print_problems(findings: Sequence[Finding], console: Console) -> None:
    for finding in findings:
        if finding.problem:
            asked = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in finding.setting.items())
            console.print(
                Text(plain(f"no answer for {asked or 'the program as it is'}: {finding.problem}"), "yellow")
            )


def legend(findings: Sequence[Finding]) -> str:
    """What the columns mean, in one sentence each."""
    kinds = {finding.training for finding in findings if not finding.problem}
    step = "weight update" if True in kinds else "micro-batch"
    return (
        "All figures are modelled; below each is the range in which the true value probably lies (docs/accuracy.md). "
        "IPUs: replicas x IPUs of one. Batch: micro-batch x accumulation, x device iterations. "
        f"Step: one {step}. fits: yes and no hold over the whole range, likely and unlikely do not."
    )


def as_text(answers: Answers, width: int = 140) -> str:
    """The table as text."""
    console = Console(
        file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False, no_color=True
    )
    print_table(answers.findings, console)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def as_html(answers: Answers) -> str:
    """The table for a notebook."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in _COLUMNS)
    rows = []
    for finding in answers.findings:
        if finding.problem:
            text = html.escape(plain(finding.problem))
            rows.append(
                f'<tr><td colspan="{len(_COLUMNS)}" style="text-align:left">no answer: {text}</td></tr>'
            )
            continue
        each = "".join(
            f"<td>{html.escape(plain(value))}<br><small>{html.escape(plain(below))}</small></td>"
            for value, below in cells(finding)
        )
        rows.append(f"<tr>{each}</tr>")
    name = html.escape(plain(answers.subject.name))
    return (
        f"<table><caption>{name}: modelled, not measured</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table><p><small>{html.escape(legend(answers.findings))}</small></p>"
    )


def as_csv(findings: Sequence[Finding]) -> str:
    """One line per answer: settings, figures with their ranges, shares."""
    settings = list(dict.fromkeys(key for finding in findings for key in finding.setting))
    figures = list(dict.fromkeys(key for finding in findings for key in finding.figures))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    columns = [f"{name}{end}" for name in figures for end in ("", "_low", "_high")]
    writer.writerow(
        ["name", "training", *settings, "fits", *columns, *(f"share_{p}" for p in PARTS), "problem"]
    )
    for finding in findings:
        values: list[object] = []
        for name in figures:
            figure = finding.figures.get(name)
            values += ["", "", ""] if figure is None else [figure.value, figure.low, figure.high]
        shares = [finding.shares.get(part, "") for part in PARTS]
        kept = [finding.setting.get(key, "") for key in settings]
        row = [finding.name, finding.training, *kept, finding.fits, *values, *shares, finding.problem]
        writer.writerow([harmless(each) for each in row])
    return file.getvalue()


def harmless(value: object) -> object:
    """A text that a spreadsheet does not take for a formula."""
    if isinstance(value, str):
        value = plain(value)
        return f"'{value}" if value.lstrip()[:1] in ("=", "+", "-", "@") else value
    return value
