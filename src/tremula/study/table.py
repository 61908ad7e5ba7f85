"""Results as tables: for a terminal of any width, as a fragment of a web page, as CSV.

Names come from the user's program: control characters are replaced, rich markup is off, and HTML is escaped.
"""

from __future__ import annotations

import html
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tremula.csv_cells import csv_text
from tremula.estimate.figures import Figure
from tremula.formatting import amount, between, duration, energy, memory_size, plain, share
from tremula.memory.verdict import WORDS, percentage
from tremula.step_parts import STEP_PARTS
from tremula.study.result import Result

#: columns of a terminal below which each result is a block of lines
NARROW = 136
#: share of a step from which a part is named
LEAST_SHARE = 0.005
#: columns of a terminal that a cell with several words has at least
_WRAPPED = 22
#: no terminal is wider
_UNBOUNDED = 10_000
_LEAST = dict(WORDS)
_STYLES = {"yes": "green", "likely": "green", "unlikely": "red", "no": "bold red"}

R = TypeVar("R", bound=Result)
Shown = TypeVar("Shown", bound=Result, contravariant=True)
#: a value, and what stands below it
Cell = tuple[str, str]


@dataclass(frozen=True)
class Column(Generic[Shown]):
    """One column of a table."""

    title: str
    cell: Callable[[Shown], Cell]
    left: bool = False
    wrap: bool = False


def figure_column(title: str, name: str, say: Callable[[float], str]) -> Column[Result]:
    """A figure with its range."""

    def cell(result: Result) -> Cell:
        figure = result.figure(name)
        if figure is None:
            return "-", ""
        return say(figure.value), figure_range(figure, say)

    return Column(title, cell)


def figure_range(figure: Figure | None, say: Callable[[float], str]) -> str:
    """The range of a figure; empty where there is none."""
    if figure is None or figure.low == figure.high:
        return ""
    return between(figure.low, figure.high, say)


def time_parts(result: Result) -> str:
    """Where the time of a step goes, in short."""
    shares = ((part.short, result.shares.get(part.key, 0.0)) for part in STEP_PARTS)
    return ", ".join(f"{name} {value:.0%}" for name, value in shares if value >= LEAST_SHARE)


def _batch(result: Result) -> Cell:
    setting = result.setting
    turns = f" x {setting['accumulation']}" if result.training else ""
    return f"{setting['micro_batch']}{turns}", f"x {setting['device_iterations']}"


TILE = figure_column("fullest tile", "tile_share", share)
MEMORY = figure_column("memory/IPU", "ipu_bytes", memory_size)
STEP = figure_column("time/step", "step_seconds", duration)
THROUGHPUT = figure_column("samples/s", "throughput", amount)
OF_PEAK = figure_column("of peak", "utilisation", share)
ENERGY = figure_column("energy/sample", "energy_per_sample", energy)


def fit_percentage(result: Result) -> str:
    """The probability that it fits; empty where there is none."""
    return "" if result.fit_probability is None else percentage(result.fit_probability)


COLUMNS: tuple[Column[Result], ...] = (
    Column(
        "target",
        lambda each: (str(each.setting.get("target", "")), str(each.setting.get("precision", ""))),
        left=True,
    ),
    Column(
        "IPUs",
        lambda each: (f"{each.setting['ipus']:,}", f"{each.setting['replicas']} x {each.setting['stages']}"),
    ),
    Column("batch", _batch),
    Column("fits", lambda each: (each.fits, fit_percentage(each)), left=True),
    TILE,
    MEMORY,
    STEP,
    THROUGHPUT,
    OF_PEAK,
    Column("where the time goes", lambda each: (time_parts(each), ""), left=True, wrap=True),
    ENERGY,
)


#: stands beside the columns that cannot be compared between rows
_UNEQUAL = "*"
_WITHOUT_HOST: Column[Result] = Column("without host", lambda each: (amount(each.without_host), ""))


def unequal(results: Iterable[Result]) -> str:
    """Why results must not be ranked by their speed, if it rests on unlike rates to and from the host; else empty."""
    targets: dict[str, dict[str, None]] = {}
    waits = False
    for result in results:
        if not result.problem and "host_rates" in result.setting:
            rates, name = str(result.setting["host_rates"]), str(result.setting.get("target", ""))
            targets.setdefault(rates, {})[name] = None
            waits = waits or result.shares.get("host_transfer", 0.0) >= LEAST_SHARE
    if not waits or len({rates.partition(":")[0] for rates in targets}) < 2:
        return ""
    listed = "; ".join(f"{', '.join(names)}: {rates}" for rates, names in targets.items())
    return (
        f"{_UNEQUAL} not comparable between these targets, because their rates to and from the host are of different "
        f"kinds ({plain(listed)}). Programs do not reach nominal rates. `without host` excludes calls and transfers."
    )


def columns_for(results: Sequence[Result]) -> tuple[Column[Result], ...]:
    """The columns of a table; those that cannot be compared are marked."""
    if not unequal(results):
        return COLUMNS
    at = COLUMNS.index(THROUGHPUT) + 1
    made = (*COLUMNS[:at], _WITHOUT_HOST, *COLUMNS[at:])
    return tuple(
        replace(column, title=column.title + _UNEQUAL)
        if column in (STEP, THROUGHPUT, ENERGY, OF_PEAK)
        else column
        for column in made
    )


# -- terminals ---------------------------------------------------------------------------------------------------


def table(columns: Sequence[Column[R]], rows: Iterable[R], *, gap: int = 2, beside: bool = False) -> Table:
    """A table; ranges stand below their figures, or `beside` them."""
    made = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    lines = [[column.cell(row) for column in columns] for row in rows]
    apart = [beside and any(line[at][1] for line in lines) for at in range(len(columns))]
    for column, has_range in zip(columns, apart, strict=True):
        made.add_column(
            Text(column.title),
            justify="left" if column.left else "right",
            ratio=1 if column.wrap else None,
            min_width=_WRAPPED if column.wrap else None,
            no_wrap=not column.wrap,
        )
        if has_range:
            made.add_column("", no_wrap=True)
    for line in lines:
        cells: list[Text] = []
        for cell, has_range in zip(line, apart, strict=True):
            value, below = (plain(text, lines=False) for text in cell)
            text = Text(value, style=_STYLES.get(value, ""))
            range_text = Text(below, style=_STYLES.get(below, "dim"))
            if has_range:
                cells += [text, range_text]
            else:
                cells.append(Text.assemble(text, "\n", range_text) if below else text)
        made.add_row(*cells)
    return made


def fitting(columns: Sequence[Column[R]], rows: Sequence[R], console: Console) -> Table | None:
    """A table that is no wider than the terminal, if there is one."""
    for gap in (2, 1):
        made = table(columns, rows, gap=gap)
        room = console.options.update(max_width=_UNBOUNDED)
        if Measurement.get(console, room, made).maximum <= console.width:
            return made
    return None


def print_block(title: str, columns: Sequence[Column[R]], row: R, console: Console) -> None:
    """One row as lines, where the terminal is too narrow for a table."""
    say(console, title, "bold")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for column in columns:
        value, below = (plain(text, lines=False) for text in column.cell(row))
        text = Text(value or "-", style=_STYLES.get(value, ""))
        text.append(f" ({below})" if below else "", style=_STYLES.get(below, "dim"))
        grid.add_row(Text(f"  {column.title}".replace("\n", " ")), text)
    console.print(grid)


def say(console: Console, line: str, style: str = "") -> None:
    """A line, folded where it is too long."""
    console.print(Text(plain(line), style=style, overflow="fold"))


def _least_width(columns: Sequence[Column[R]], rows: Sequence[R], console: Console) -> int:
    """Columns of a terminal that a table needs: those that wrap have room for words, the others are not cut."""
    fixed = table([column for column in columns if not column.wrap], rows)
    room = console.options.update(max_width=_UNBOUNDED)
    wrapped = sum(_WRAPPED + 2 for column in columns if column.wrap)
    return Measurement.get(console, room, fixed).maximum + wrapped


def print_table(results: Sequence[Result], console: Console) -> None:
    """Results as a table, or as blocks of lines where the terminal is narrow."""
    known = [result for result in results if not result.problem]
    columns, mark = columns_for(known), unequal(known)
    if known and console.width >= max(NARROW, _least_width(columns, known, console)):
        console.print(table(columns, known))
    elif known:
        for result in known:
            (target, precision), (ipus, layout) = (column.cell(result) for column in COLUMNS[:2])
            count = f"{ipus} {'IPU' if ipus == '1' else 'IPUs'} ({layout})"
            print_block(f"{target} {precision}".strip() + f", {count}", columns[2:], result, console)
    if mark:
        say(console, mark, "yellow")
    for result in results:
        if result.problem:
            setting = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in result.setting.items())
            say(console, f"no answer for {setting or 'the program as it is'}: {result.problem}", "yellow")


def legend(results: Sequence[Result]) -> str:
    """What the columns mean, in one sentence each."""
    kinds = {result.training for result in results if not result.problem}
    step = "weight update" if True in kinds else "micro-batch"
    return (
        "All figures are modelled. The likely range of the true value is below each (docs/accuracy.md). "
        "IPUs: replicas x IPUs of one. Batch: micro-batch x accumulation, x device iterations. "
        f"Step: one {step}. fits: yes from {_LEAST['yes']:.0%} on, likely from {_LEAST['likely']:.0%}, unlikely from "
        f"{_LEAST['unlikely']:.0%}, below that no: the share of published configurations as full as this that ran. "
        "Of peak: additions and multiplications of all ops, recomputed ones too, over what the matrix "
        "units could do in the time of a step, including waiting (--why of_peak)."
    )


def as_text(results: Sequence[Result], width: int = 140) -> str:
    """The table as text."""
    file = io.StringIO()
    print_table(
        results, Console(file=file, width=width, highlight=False, markup=False, emoji=False, no_color=True)
    )
    return file.getvalue()


# -- notebooks and spreadsheets ----------------------------------------------------------------------------------


def as_html(
    name: str, rows: Sequence[R], columns: Sequence[Column[R]], legend: str, *, title: str = ""
) -> str:
    """A table for a notebook."""
    head = "".join(f"<th>{html.escape(column.title)}</th>" for column in columns)
    lines = []
    for row in rows:
        if row.problem:
            text = f"no answer: {html.escape(plain(row.problem))}"
            lines.append(f'<tr><td colspan="{len(columns)}" style="text-align:left">{text}</td></tr>')
            continue
        cells = (tuple(html.escape(plain(text)) for text in column.cell(row)) for column in columns)
        lines.append(
            f"<tr>{''.join(f'<td>{value}<br><small>{below}</small></td>' for value, below in cells)}</tr>"
        )
    caption = f"{html.escape(plain(name))}: {html.escape(plain(title))}modelled, not measured"
    return (
        f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table><p><small>{html.escape(legend)}</small></p>"
    )


def as_csv(results: Sequence[Result]) -> str:
    """One line per result: settings, figures with their ranges, shares."""
    names = list(dict.fromkeys(key for result in results for key in result.setting))
    lines = [
        {
            "name": result.name,
            "training": result.training,
            **{name: result.setting.get(name, "") for name in names},
            "fits": result.fits,
            **figure_cells(result, results),
            **{f"share_{part.key}": result.shares.get(part.key, "") for part in STEP_PARTS},
            "problem": result.problem,
        }
        for result in results
    ]
    return csv_text(lines)


def figure_cells(result: Result, results: Sequence[Result]) -> dict[str, object]:
    """All figures that any of `results` has, with their ranges."""
    cells: dict[str, object] = {}
    for name in dict.fromkeys(key for each in results for key in each.figures):
        figure = result.figure(name)
        for end, value in (("", "value"), ("_low", "low"), ("_high", "high")):
            cells[name + end] = "" if figure is None else getattr(figure, value)
    return cells
