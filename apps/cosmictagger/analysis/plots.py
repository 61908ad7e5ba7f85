"""Pictures of runs: how step times are spread, how they go on, how ranks move apart, and how speed grows.

The first shows what the original's analysis draws, the share of steps by their time with its sum dashed; but of times
that are right, on an axis on which all of them can be seen, and with the number of ranks that there were.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from cosmictagger.analysis.report import short_name, speed
from cosmictagger.analysis.results import Result
from cosmictagger.analysis.scaling import Row
from tremula.atomic_files import atomic_path

_COLOURS = {
    "step": "#222831",
    "train": "#2a9d5c",
    "validation": "#8b5cf6",
    "fetch": "#6b7280",
    "update": "#d1495b",
}
#: points of one rank beyond which only every so many are drawn
_MOST_POINTS = 4000
#: ranks beyond which only the slowest and the fastest are drawn
_MOST_RANKS = 64
_STYLE = {
    "svg.hashsalt": "cosmictagger",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e5e7eb",
    "axes.axisbelow": True,
    "axes.edgecolor": "#9ca3af",
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "legend.frameon": False,
}


def write_plots(folder: Path, results: Sequence[Result], rows: Sequence[Row]) -> Iterator[Path]:
    """Draw everything there, as PNG and SVG; the files.

    Raises:
        OSError: they cannot be written.
    """
    taken: set[str] = set()
    with rc_context(_STYLE):
        for result in results:
            if not result.timings:
                continue
            name = _file_name(short_name(result), taken)
            if result.pooled["step"] is not None:
                yield from _saved(folder / f"{name}-times", _times(result))
                yield from _saved(folder / f"{name}-steps", _steps(result))
        sizes = {row.result.ipus for row in rows if row.result.aggregate}
        if len(sizes) > 1:
            yield from _saved(folder / "scaling", _scaling(rows))


def _file_name(name: str, taken: set[str]) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._-")[:80] or "run"
    number, chosen = 1, plain
    while chosen in taken:
        number += 1
        chosen = f"{plain}-{number}"
    taken.add(chosen)
    return chosen


def _saved(path: Path, figure: Figure) -> Iterator[Path]:
    for ending, extra in (("png", {"dpi": 130}), ("svg", {"metadata": {"Date": None}})):
        target = path.with_name(f"{path.name}.{ending}")
        with atomic_path(target) as draft:
            figure.savefig(draft, format=ending, **extra)  # type: ignore[arg-type]
        yield target


def _figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, sharex="col" if rows > 1 else "none")


def _title(result: Result) -> str:
    ranks = len(result.timings)
    parts = [_plain(short_name(result)), f"{ranks} rank" + ("s" if ranks > 1 else "")]
    if result.aggregate is not None:
        parts.append(f"{speed(result.aggregate)} images/s" + (" together" if ranks > 1 else ""))
    codes = [fault.code for fault in result.faults if fault.severity == "error"]
    return "  ·  ".join(parts) + (f"\n{', '.join(codes)}" if codes else "")


def _plain(text: str) -> str:
    """Text in which nothing is a formula."""
    return text.replace("$", r"\$")


def _times(result: Result) -> Figure:
    """How the times are spread: share of the steps by time, and their sum."""
    figure, axes = _figure(10, 5.6)
    axis: Axes = axes[0][0]
    labels = {
        "step": "step with validation",
        "train": "training step",
        "validation": "validation",
        "fetch": "fetching (IO)",
        "update": result.update_name,
    }
    drawn = {name: np.concatenate([each.values[name] for each in result.timings]) for name in labels}
    drawn = {name: values[np.isfinite(values) & (values > 0)] for name, values in drawn.items()}
    drawn = {name: values for name, values in drawn.items() if len(values)}
    for name, values in drawn.items():
        low, high = float(values.min()) / 1.05, float(values.max()) * 1.05
        # bins are as wide for all: five hundredths of the time
        edges = np.geomspace(low, high, max(int(np.log(high / low) / 0.05), 2) + 1)
        share = 100 * np.histogram(values, edges)[0] / len(values)
        axis.stairs(share, edges, color=_COLOURS[name], lw=1.6, label=_plain(labels[name]))
        axis.stairs(share, edges, color=_COLOURS[name], fill=True, alpha=0.10)
        values = np.sort(values)
        axis.step(
            values, 100 * np.arange(1, len(values) + 1) / len(values), color=_COLOURS[name], lw=1, ls="--"
        )
    axis.set_xscale("log")
    axis.set_ylim(0, 103)
    _plain_numbers(axis)
    axis.set_xlabel("seconds")
    axis.set_ylabel("share of steps, %  (dashed: all up to there)")
    axis.set_title(_title(result))
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=len(drawn))
    return figure


def _steps(result: Result) -> Figure:
    """Each rank's steps in order, and how far ranks are from their mean."""
    ranks = [rank for rank in result.run.ranks if rank.sessions]
    if len(ranks) > _MOST_RANKS:
        order = sorted(range(len(ranks)), key=lambda place: result.timings[place].rate or 0.0)
        half = _MOST_RANKS // 2
        ranks = [ranks[place] for place in sorted([*order[:half], *order[-half:]])]
    several = len(ranks) > 1 and result.drift is not None
    figure, axes = _figure(10, 7.6 if several else 4.4, 2 if several else 1)
    # fewer points may be larger
    size = 3.5 if sum(each.lines for each in result.timings) > 1000 else 6.0
    colours = colormaps["viridis"](np.linspace(0.0, 0.92, max(len(ranks), 2)))
    upper: Axes = axes[0][0]
    for rank, colour in zip(ranks, colours, strict=False):
        for session in rank.sessions:
            gaps, moved = np.diff(session.times) / 1000, np.diff(session.steps)
            good = (moved > 0) & (gaps >= 0)
            good[:1] = False
            steps, seconds = session.steps[1:][good], gaps[good] / moved[good]
            every = max(len(steps) // _MOST_POINTS, 1)
            upper.plot(steps[::every], seconds[::every], ".", ms=size, color=colour, alpha=0.75, mew=0)
    upper.set_ylim(bottom=0)
    upper.set_ylabel("seconds of a step with validation")
    upper.set_title(_title(result))
    upper.xaxis.set_major_locator(MaxNLocator(integer=True))
    if several:
        _draw_drift(axes[1][0], ranks, colours)
        _rank_colours(figure, axes[:, 0].tolist(), [rank.number for rank in ranks])
    else:
        upper.set_xlabel("step")
    return figure


def _draw_drift(axis: Axes, ranks: Sequence[Any], colours: Any) -> None:
    sessions = [max(rank.sessions, key=lambda each: len(each.steps)) for rank in ranks]
    common = sessions[0].steps
    for session in sessions[1:]:
        common = np.intersect1d(common, session.steps)
    times = []
    for session in sessions:
        steps, first = np.unique(session.steps, return_index=True)
        times.append(session.times[first][np.searchsorted(steps, common)])
    apart = (np.array(times) - np.mean(times, axis=0)) / 1000
    every = max(len(common) // _MOST_POINTS, 1)
    for row, colour in zip(apart, colours, strict=False):
        axis.plot(common[::every], row[::every], lw=1.4, color=colour)
    axis.axhline(0, color="#9ca3af", lw=0.8)
    axis.set_xlabel("step")
    axis.set_ylabel("seconds behind the ranks' mean")


def _rank_colours(figure: Figure, axes: list[Axes], numbers: list[int]) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    colours = ListedColormap(colormaps["viridis"](np.linspace(0.0, 0.92, len(numbers))))
    bar = figure.colorbar(ScalarMappable(Normalize(0, len(numbers)), colours), ax=axes, pad=0.015, aspect=40)
    every = max(len(numbers) // 16, 1)
    bar.set_ticks(
        [place + 0.5 for place in range(0, len(numbers), every)], labels=[str(n) for n in numbers[::every]]
    )
    bar.ax.tick_params(length=0)
    bar.outline.set_visible(False)  # type: ignore[operator]
    bar.set_label("rank")


def _scaling(rows: Sequence[Row]) -> Figure:
    """Images per second and efficiency by number of ranks."""
    figure, axes = _figure(11, 4.8, 1, 2)
    left, right = axes[0]
    series: dict[int, list[Row]] = {}
    for row in rows:
        if row.result.aggregate and row.efficiency is not None:
            series.setdefault(row.series, []).append(row)
    colours = colormaps["tab10"]
    for number, members in series.items():
        sizes = np.array([row.result.ipus for row in members], dtype=float)
        speeds = np.array([row.result.aggregate for row in members], dtype=float)
        colour = colours(number % 10)
        settings = members[0].result.run.settings
        label = (
            " ".join(filter(None, (settings.get("network.name"), settings.get("run.compute_mode")))) or "run"
        )
        left.plot(sizes, speeds, "o-", color=colour, label=_plain(label))
        left.plot(sizes, speeds[0] / sizes[0] * sizes, "--", lw=1, color=colour, alpha=0.6)
        for size, value in zip(sizes, speeds, strict=True):
            left.annotate(
                speed(value),
                (size, value),
                (6, -4),
                textcoords="offset points",
                va="top",
                fontsize=9,
                color="#374151",
            )
        right.plot(sizes, [100 * (row.efficiency or 0.0) for row in members], "o-", color=colour)
    every = sorted({row.result.ipus for row in rows})
    for axis in (left, right):
        axis.set_xscale("log", base=2)
        axis.set_xticks(every, labels=[str(each) for each in every])
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.minorticks_off()
        several = any(row.result.ipus != len(row.result.timings) for row in rows)
        axis.set_xlabel("IPUs asked for" if several else "ranks")
    left.set_yscale("log", base=2)
    left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    left.set_xlim(right=every[-1] * 1.6)
    left.set_title("Images per second, all ranks together  (dashed: in proportion)", fontsize=11)
    left.legend(loc="upper left")
    right.axhline(100, color="#9ca3af", lw=1, ls="--")
    right.set_ylim(bottom=0, top=max(112.0, right.get_ylim()[1]))
    right.set_title("Efficiency, %, relative to the smallest run", fontsize=11)
    codes = sorted({fault.code for row in rows for fault in row.result.faults if fault.severity == "error"})
    if codes:
        figure.supxlabel(f"What is wrong with these runs: {', '.join(codes)}", fontsize=10, color="#b91c1c")
    return figure


def _plain_numbers(axis: Axes) -> None:
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
