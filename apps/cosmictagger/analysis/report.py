"""The report for a terminal: for each run what is wrong, all ranks together, each rank; then the runs side by side.

Values come from logs and may be anything: they are text here, never markup. Columns are as wide as they need to be.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import PurePath

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cosmictagger.analysis.results import Fault, Result
from cosmictagger.analysis.scaling import Row
from cosmictagger.analysis.timing import MEASURES, Summary

#: ranks that are shown one by one, unless all are asked for
SHOWN_RANKS = 16
#: columns of a terminal below which tables are set closely
NARROW = 100
_STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def seconds(value: float | None) -> str:
    """A time: milliseconds, or tenths of them where they matter."""
    if value is None:
        return "-"
    # half a millisecond is rounded up, which binary fractions alone would not do
    return f"{value + 1e-9:.3f}" if value >= 0.01 or value == 0 else f"{value:.4f}"


def speed(value: float | None) -> str:
    """Images per second, four digits."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:#.4g}".rstrip(".")


def report(results: Sequence[Result], rows: Sequence[Row], console: Console, all_ranks: bool = False) -> str:
    """Everything, as the console would show it."""
    with console.capture() as captured:
        for result in results:
            _print_run(result, console, all_ranks)
        if len(rows) > 1:
            _print_scaling(rows, console)
    # tables are padded to the width of the terminal, which a file need not have
    return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"


def _print_run(result: Result, console: Console, all_ranks: bool) -> None:
    console.print(Text(result.run.name, style="bold"))
    if result.timings:
        console.print(Padding(Text(_about(result)), (0, 0, 0, 2)))
    for fault in result.faults:
        _print_fault(fault, console)
    if not result.faults:
        console.print(Padding(Text("No fault was found.", style="green"), (0, 0, 0, 2)))
    if result.timings:
        console.print()
        _print_pooled(result, console)
        _print_ranks(result, console, all_ranks)
        console.print(Padding(Text("\n".join(_together(result))), (0, 0, 0, 2)))
    console.print()


def _about(result: Result) -> str:
    run = result.run
    ranks = f"{len(result.timings)} rank" + ("s" if len(result.timings) > 1 else "")
    lines = sum(each.lines for each in result.timings)
    parts = [f"{ranks}, {lines:,} training lines"]
    if run.inferred:
        parts[0] += f" (ranks inferred {run.inferred})"
    if result.images.per_step is not None:
        parts.append(f"{result.images.per_step:g} images a step in each rank ({result.images.how})")
    settings = [run.settings.get(each) for each in ("run.compute_mode", "run.precision", "network.name")]
    if any(settings):
        parts.append("asked for " + ", ".join(each for each in settings if each))
    if run.ours and run.on_ipu:
        streams = [stream for log in run.logs for stream in log.streams.values()]
        told = any(stream.marks["compiled"] for stream in streams)
        parts.append(
            "compiled and called, says the log" if told else "whether it was compiled the log does not say"
        )
    begin, end = min(each.begin for each in result.timings), max(each.end for each in result.timings)
    parts.append(f"{_time(begin)} to {_time(end)}")
    return "; ".join(parts) + "."


def _time(milliseconds: int) -> str:
    try:
        when = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    except (OverflowError, ValueError, OSError):
        return "?"
    # without a date times count from midnight
    return when.strftime("%Y-%m-%d %H:%M:%S" if when.year > 1971 else "%H:%M:%S")


def _print_fault(fault: Fault, console: Console) -> None:
    head = Text.assemble(
        (f"{fault.severity} ", _STYLES[fault.severity]),
        (fault.code, "bold"),
        ("" if fault.certainty == "certain" else f" ({fault.certainty})"),
        f": {fault.what}",
    )
    console.print(Padding(head, (0, 0, 0, 2)))
    for each in fault.evidence:
        console.print(Padding(Text(f"- {each}", style="dim"), (0, 0, 0, 6)))
    if fault.next:
        console.print(Padding(Text(fault.next), (0, 0, 0, 6)))


def _names(result: Result) -> dict[str, str]:
    rest = "forward+backward (est.)" if result.update_name == "optimizer" else result.rest_name
    return {
        "step": "step with validation",
        "train": "training step",
        "validation": "validation",
        "fetch": "fetching (IO)",
        "update": result.update_name,
        "rest": rest,
    }


def _table(console: Console, *columns: str, title: str = "") -> Table:
    table = Table(
        box=None,
        pad_edge=False,
        title=title or None,
        title_justify="left",
        title_style="bold",
        header_style="underline",
        padding=(0, 2 if console.width >= NARROW else 1, 0, 0),
    )
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number == 0 else "right", no_wrap=number > 0)
    return table


def _print_pooled(result: Result, console: Console) -> None:
    title = "Seconds" + (", the steps of all ranks pooled" if len(result.timings) > 1 else "")
    table = _table(console, "", "mean", "std", "median", "p75", "p90", "p95", "max", title=title)
    for measure in MEASURES:
        found = result.pooled[measure]
        # without validations this is the training step again
        if found is not None and (
            measure != "step" or result.pooled["validation"] or not result.pooled["train"]
        ):
            quantiles = (found.quantiles[each] for each in (0.75, 0.9, 0.95))
            values = (found.mean, found.std, found.median, *quantiles, found.maximum)
            table.add_row(_names(result)[measure], *(seconds(each) for each in values))
    if table.row_count:
        console.print(Padding(table, (0, 0, 0, 2)))
        console.print()


def _print_ranks(result: Result, console: Console, all_ranks: bool) -> None:
    if len(result.timings) < 2:
        return
    shown, left_out = list(result.timings), 0
    if len(shown) > SHOWN_RANKS and not all_ranks:
        # the ends of the range say most
        by_rate = sorted(shown, key=lambda each: each.rate or 0.0)
        chosen = {each.number for each in by_rate[: SHOWN_RANKS // 2] + by_rate[-SHOWN_RANKS // 2 :]}
        shown = [each for each in shown if each.number in chosen]
        left_out = len(result.timings) - len(shown)
    update = "update" if result.update_name != "optimizer" else "optim."
    table = _table(
        console, "rank", "lines", "step", "train", "std", "median", "max", "IO", update, "images/s", "FOM",
        title="Each rank: seconds of a step with validation, of a training step, and more",
    )  # fmt: skip
    for each in shown:
        train = each.summary("train")
        table.add_row(
            str(each.number),
            str(each.lines),
            _mean(each.summary("step")),
            *(seconds(value) for value in _four(train)),
            _mean(each.summary("fetch")),
            _mean(each.summary("update")),
            speed(result.speed(each)),
            speed(result.fom(each)),
        )
    console.print(Padding(table, (0, 0, 0, 2)))
    if left_out:
        text = f"{left_out} ranks between the slowest and the fastest are not shown (--all-ranks)."
        console.print(Padding(Text(text, style="dim"), (0, 0, 0, 2)))
    console.print()


def _four(found: Summary | None) -> tuple[float | None, ...]:
    return (None,) * 4 if found is None else (found.mean, found.std, found.median, found.maximum)


def _mean(found: Summary | None) -> str:
    return seconds(found.mean if found else None)


def _together(result: Result) -> list[str]:
    lines = []
    ranks = len(result.timings)
    if result.aggregate is not None:
        text = f"Together {speed(result.aggregate)} images/s"
        lines.append(text + (f", the sum of {ranks} ranks." if ranks > 1 else "."))
    if result.job:
        text = f"The whole job took {result.job:,.0f} s ({result.job_from})"
        lines.append(text + (f": {speed(result.job_speed)} images/s." if result.job_speed else "."))
    if result.drift is not None:
        drift = result.drift
        lines.append(
            f"At the last common step ranks are {drift.finish:.3f} s apart, {drift.start:.3f} s at the first that "
            f"counts: they moved {drift.per_step:.4f} s apart a step."
        )
    return lines


def short_name(result: Result) -> str:
    """The name of a run without its folders."""
    path = PurePath(result.run.name)
    name = path.parent.name if path.name == "process.log" and path.parent.name else path.name
    for ending in (".gz", ".log", ".out", ".txt"):
        name = name.removesuffix(ending)
    return name or result.run.name


def _print_scaling(rows: Sequence[Row], console: Console) -> None:
    names = ("run", "ranks", "step s", "images/s", "efficiency", "whole job", "drift s")
    table = _table(console, *names, title="Scaling")
    table.columns[0].overflow = "fold"
    for row in rows:
        result = row.result
        table.add_row(
            Text(short_name(result)),
            _size(result),
            _mean(result.pooled["step"]),
            speed(result.aggregate),
            "-" if row.efficiency is None else f"{100 * row.efficiency:.1f} %",
            speed(result.job_speed),
            "-" if result.drift is None else f"{result.drift.finish:.1f}",
        )
    console.print(table)
    title = "Seconds of a training step, and the range of the ranks' means with validation"
    names = ("ranks", "train", "median", "p95", "rank means", "valid.", "IO", "update", "FOM")
    times = _table(console, *names, title=title)
    for row in rows:
        times.add_row(*_times(row.result))
    console.print()
    console.print(times)
    console.print()
    _print_codes(rows, console)
    console.print(
        Text(
            "Efficiency: images/s of a rank (of an IPU, where a rank has several) relative to the smallest run of the "
            "same series. Whole job: images/s from launch to exit. Drift: how far ranks are apart at the last step. "
            "FOM: of a rank, the mean.",
            style="dim",
        )
    )


def _print_codes(rows: Sequence[Row], console: Console) -> None:
    """Which fault is in which runs."""
    runs: dict[str, list[str]] = {}
    for row in rows:
        for fault in row.result.faults:
            if fault.severity != "note":
                runs.setdefault(fault.code, []).append(short_name(row.result))
    if not runs:
        return
    table = _table(console, "fault", "runs", title="Faults")
    table.columns[1].justify, table.columns[1].no_wrap = "left", False
    for code, names in runs.items():
        table.add_row(code, Text("all" if len(names) == len(rows) else ", ".join(names)))
    console.print(table)
    console.print()


def _size(result: Result) -> str:
    ranks = len(result.timings)
    return str(ranks) if result.ipus == ranks else f"{ranks} ({result.ipus} IPUs)"


def _times(result: Result) -> list[str]:
    train = result.pooled["train"]
    means = [found.mean for found in (each.summary("step") for each in result.timings) if found]
    foms = [fom for fom in (result.fom(each) for each in result.timings) if fom is not None]
    low, high = (seconds(min(means)), seconds(max(means))) if means else ("-", "-")
    return [
        _size(result),
        f"{seconds(train.mean)} ± {seconds(train.std)}" if train else "-",
        seconds(train.median) if train else "-",
        seconds(train.quantiles[0.95]) if train else "-",
        low if low == high else f"{low}–{high}",
        _mean(result.pooled["validation"]),
        _mean(result.pooled["fetch"]),
        _mean(result.pooled["update"]),
        speed(sum(foms) / len(foms)) if foms else "-",
    ]
