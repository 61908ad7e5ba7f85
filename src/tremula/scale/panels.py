"""The panels of the plots: figures over the number of IPUs, and the parts of a step's time.

Every panel shows the likely range of its figures; sizes that do not fit are hollow or hatched, and no line goes through
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tremula.formatting import amount, duration
from tremula.scale.row import Row, ScalingStudy
from tremula.scale.sentences import named
from tremula.step_parts import DATA, STEP_PARTS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

#: one colour for each target, with a marker that distinguishes them in print
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#8a6fd1", "#6b7480")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
_PARTS = (*STEP_PARTS, DATA)
_GREY, _RED, _INK = "#8a919c", "#b3261e", "#1c2330"
#: more series than this cannot be told apart in one plot
_MOST = len(SERIES)
_AXES = {
    "throughput": "samples/s",
    "efficiency": "of the best size, per IPU, %",
    "tile_share": "of a tile's memory, %",
    "energy_per_sample": "J per sample",
}
_PERCENT = ("efficiency", "tile_share")
#: per cent of a step below which a part has no text
_READABLE = 5


def over_sizes(drawing: Drawing, study: ScalingStudy, name: str) -> list[Artist]:
    """A figure against the number of IPUs: a panel per mode, a line with its band per target; gives the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    modes = list(dict.fromkeys(row.mode for row in study.rows))
    targets = _targets(study)
    drawing.set_size_inches(5.6 * len(modes) + 0.6, 3.9)
    panels = drawing.subplots(1, len(modes), sharey=True, squeeze=False)[0]
    for axes, mode in zip(panels, modes, strict=True):
        rows = [row for row in study.rows if row.mode == mode and row.target in targets]
        _sizes_axis(axes, rows, name)
        for number, target in enumerate(targets):
            # what is the same on all targets shows as rims
            rim = len(targets) - 1 - number if name == "tile_share" else 0
            _line(axes, [row for row in rows if row.target == target], name, number, 1.6 * rim)
        _marks(axes, rows, study, name)
        axes.set_title(f"{named(mode, 20)} scaling")
    panels[0].set_ylabel(_AXES[name])
    if name != "throughput":
        panels[0].set_ylim(bottom=0)
    handles: list[Artist] = [
        Line2D([], [], color=SERIES[i], marker=MARKERS[i], ms=6, lw=2, label=_label(target))
        for i, target in enumerate(targets)
    ]
    handles.append(Patch(color=_GREY, alpha=0.25, lw=0, label="likely range"))
    if name == "throughput":
        handles.append(Line2D([], [], color=_GREY, lw=1.1, ls=(0, (5, 3)), label="ideal"))
    return handles


def _line(axes: Axes, rows: Sequence[Row], name: str, number: int, rim: float) -> None:
    scale = 100.0 if name in _PERCENT else 1.0
    colour, marker = SERIES[number], MARKERS[number]
    known = sorted(
        ((row, figure) for row in rows if (figure := row.figure(name)) is not None),
        key=lambda each: each[0].ipus,
    )
    runs = [(row.ipus, figure) for row, figure in known if row.runs]
    if runs:
        sizes = [size for size, _ in runs]
        lows, highs = [f.low * scale for _, f in runs], [f.high * scale for _, f in runs]
        axes.fill_between(sizes, lows, highs, color=colour, alpha=0.16, lw=0)
        values = [f.value * scale for _, f in runs]
        axes.plot(sizes, values, color=colour, marker=marker, ms=6 + 2 * rim, lw=2 + rim, zorder=3)
        if name == "throughput" and len(runs) > 1:
            first, figure = runs[0]
            ideal = [figure.value * size / first for size in sizes]
            axes.plot(sizes, ideal, color=colour, lw=1.1, ls=(0, (5, 3)), alpha=0.8)
    if len(runs) == 1 or len(runs) < len(known):
        # alone or not fitting: no area, so the band is a bar with ends
        alone = [(row, f) for row, f in known if not row.runs or len(runs) == 1]
        spread = [
            [max(0.0, (f.value - f.low) * scale) for _, f in alone],
            [max(0.0, (f.high - f.value) * scale) for _, f in alone],
        ]
        at, values = [row.ipus for row, _ in alone], [f.value * scale for _, f in alone]
        style: dict[str, Any] = {"fmt": marker, "ms": 6 + 2 * rim, "lw": 1, "mfc": "white", "alpha": 0.75}
        axes.errorbar(at, values, spread, capsize=3, color=colour, **style)
        shown = [(row.ipus, f.value * scale) for row, f in alone if row.runs]
        axes.plot([x for x, _ in shown], [y for _, y in shown], marker, ms=6, color=colour, zorder=4)


def _sizes_axis(axes: Axes, rows: Iterable[Row], name: str) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    sizes = sorted({row.ipus for row in rows})
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator([float(size) for size in sizes[:: -(-len(sizes) // 10)]]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xlabel("IPUs")
    if sizes:
        axes.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
    if name == "throughput":
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_locator(LogLocator(base=2, numticks=12))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: amount(value)))


def _marks(axes: Axes, rows: Sequence[Row], study: ScalingStudy, name: str) -> None:
    """Lines that figures are held against."""
    if name == "throughput":
        if study.data is not None:
            _data_lines(axes, rows, study.data.samples_per_second)
        return
    if name in _PERCENT:
        colour = _RED if name == "tile_share" else _GREY
        axes.axhline(100, color=colour, lw=1.3, ls=(0, (5, 3)))
        if name == "tile_share":
            _annotate(
                axes, "all that a tile has", (1, 100), colour, left=False, xycoords=("axes fraction", "data")
            )


def _data_lines(axes: Axes, rows: Sequence[Row], rate: float) -> None:
    """What loading has ready, a line for each number of hosts over the sizes that have so many."""
    rates = [row.figures["throughput"].value for row in rows if "throughput" in row.figures]
    middle = (min(rates) * max(rates)) ** 0.5 if rates else 0.0
    for count in sorted({row.hosts for row in rows}):
        sizes = [row.ipus for row in rows if row.hosts == count]
        ends = [min(sizes) / 1.3, max(sizes) * 1.3]
        axes.plot(ends, [rate * count] * 2, color=_INK, lw=1.4, ls=(0, (1, 1.6)))
        # curves rise from below left to above right: there is room above a low line's end, and a high one's beginning
        low = rate * count < middle
        text = f"{count} host{'' if count == 1 else 's'}: data for {amount(rate * count)}/s"
        _annotate(axes, text, (ends[1 if low else 0], rate * count), _INK, left=not low, va="bottom")


def _annotate(
    axes: Axes, text: str, at: tuple[float, float], colour: str, *, left: bool, **more: Any
) -> None:
    """A remark on a line, at the left or the right of `at`."""
    beside, side = ((4, 4), "left") if left else ((-4, 4), "right")
    style: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8.5, **more}
    axes.annotate(text, at, beside, ha=side, color=colour, **style)


# -- where the time goes ---------------------------------------------------------------------------------------


def time_of_a_step(drawing: Drawing, study: ScalingStudy, mode: str) -> list[Artist]:
    """Stacked bars for each size, in seconds and as shares; a row of panels per target; gives the legend."""
    from matplotlib.patches import Patch

    targets = [
        target
        for target in _targets(study)
        if any(row.target == target and row.mode == mode and row.parts for row in study.rows)
    ]
    drawing.set_size_inches(11.8, 0.3 + 2.9 * len(targets))
    panels = drawing.subplots(len(targets), 2, squeeze=False)
    used: set[str] = set()
    for (left, right), target in zip(panels, targets, strict=True):
        rows = sorted(
            (row for row in study.rows if row.target == target and row.mode == mode and row.parts),
            key=lambda row: row.ipus,
        )
        seconds = [{part: max(0.0, s) for part, s in row.parts.items()} for row in rows]
        shares = [{part: 100 * max(0.0, s) for part, s in row.shares.items()} for row in rows]
        _bars(left, rows, seconds)
        _totals(left, rows)
        left.set_title(f"{named(target, 40)}: seconds")
        _bars(right, rows, shares, shares=True)
        right.set_title(f"{named(target, 40)}: share of a step that need not wait, %")
        right.set_ylim(0, 100)
        used |= {part for each in seconds for part, value in each.items() if value > 0}
    for axes in panels[-1]:
        axes.set_xlabel("IPUs")
    return [Patch(facecolor=part.colour, label=part.title) for part in _PARTS if part.key in used]


def _bars(
    axes: Axes, rows: Sequence[Row], heights: Sequence[dict[str, float]], *, shares: bool = False
) -> None:
    base = [0.0] * len(rows)
    for part in _PARTS:
        values = [each.get(part.key, 0.0) for each in heights]
        bars = axes.bar(range(len(rows)), values, 0.72, bottom=base, color=part.colour, ec="white", lw=0.6)
        for bar, row, value in zip(bars, rows, values, strict=True):
            if not row.runs:
                bar.set(hatch="////", alpha=0.45)
            elif shares and value >= _READABLE:
                x, y = bar.get_x() + bar.get_width() / 2, bar.get_y() + value / 2
                dark = part.key in ("compute", "inter_ipu", "data")
                colour = "white" if dark else _INK
                axes.text(x, y, f"{value:.0f}", ha="center", va="center", fontsize=7.5, color=colour)
        base = [sum(pair) for pair in zip(base, values, strict=True)]
    axes.set_xticks(range(len(rows)), [f"{row.ipus:,}" for row in rows])
    axes.grid(axis="x", visible=False)


def _totals(axes: Axes, rows: Sequence[Row]) -> None:
    """The time of a step above each bar, with its band; where data is waited for, the band is that of the data."""
    top = 0.0
    for at, row in enumerate(rows):
        total = sum(row.parts.values())
        low = high = total
        step, rate, fed = (row.figure(name) for name in ("step_seconds", "throughput", "fed_throughput"))
        if fed is not None and step is not None and rate is not None and fed.low > 0:
            samples = step.value * rate.value
            low, high = samples / fed.high, samples / fed.low
        elif step is not None:
            low, high = step.low, step.high
        spread = [[max(0.0, total - low)], [max(0.0, high - total)]]
        axes.errorbar([at], [total], spread, fmt="none", ecolor=_INK, lw=1, capsize=3)
        high = max(total, high)
        axes.annotate(
            duration(total), (at, high), (0, 3), textcoords="offset points", ha="center", fontsize=8
        )
        top = max(top, high)
    axes.set_ylim(0, top * 1.1 or 1.0)


# -- names -----------------------------------------------------------------------------------------------------


def _targets(study: ScalingStudy) -> list[str]:
    return list(dict.fromkeys(row.target for row in study.rows))[:_MOST]


def _label(target: str) -> str:
    """For a legend, which leaves out what begins with an underscore."""
    shown = named(target or "this machine", 40)
    return f"'{shown}" if shown.startswith("_") else shown


def left_out(study: ScalingStudy) -> str:
    """What is not drawn, if anything."""
    more = len({row.target for row in study.rows}) - _MOST
    return f" {more} more target{'' if more == 1 else 's'} in the table." if more > 0 else ""
