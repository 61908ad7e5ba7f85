"""A profile as text, in the layout of the profile summaries that users of the stack know.

Target, Graph, Memory Usage with totals, uses and a histogram of tiles, Execution. Every figure is the profile's and
is called modelled; those with a published error band show it. The uses of memory are those of the chip model, which
are fewer than a compiler's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.formatting import ShownAsText, counted, duration
from tremula.profile import Profile
from tremula.profile.model import Figure
from tremula.view.text import clean, count, kilobytes, share
from tremula.view.verdict import fit_verdict, fits, steps, sureness, verdict

_STARS = 40
_BINS = 12
#: ops and contributors that a short summary lists
_LISTED = 10
_GAPS = "gaps"


@dataclass(frozen=True)
class Summary(ShownAsText):
    """The text; notebooks show it in a fixed-width block."""

    text: str

    def __str__(self) -> str:
        return self.text


def summary(profile: Profile, *, ops: int = _LISTED, full: bool = False) -> Summary:
    """The profile in text; `full` adds every IPU's memory, options and what takes most."""
    lines = [
        f"Profile of {_title(profile)}: modelled by {clean(profile.meta.get('written_by', 'an unknown writer'))}, not "
        "measured",
        *_why(profile),
        *_target(profile),
        *_graph(profile),
        *_memory(profile, full=full),
        *_execution(profile, ops),
    ]
    if full:
        lines += [*_contributors(profile), *_options(profile)]
    lines += _notes(profile)
    return Summary("\n".join(lines))


def brief(profile: Profile) -> str:
    """The same in a few lines."""
    target, figures = profile.target, profile.figures
    lines = [f"{_title(profile)}, modelled for {clean(target.title)}, not measured"]
    rate, step, tile = (figures.get(name) for name in ("throughput", "cycles_per_step", "max_tile_bytes"))
    if rate is not None:
        lines.append(f"  throughput    {rate.value:,.1f} {clean(rate.unit)}{_error(rate)}")
    if step is not None:
        parts = sorted(profile.breakdown.items(), key=lambda part: -part[1])[:4]
        shown = ", ".join(f"{clean(n).replace('_', ' ')} {share(c, step.value)}" for n, c in parts if c > 0)
        lines.append(f"  a step        {duration(step.value / target.clock_hz)} ({shown})")
    if tile is not None:
        state = f"{'' if fits(profile) else 'OUT OF MEMORY, '}fits: {fit_verdict(profile)}{sureness(profile)}"
        lines.append(
            f"  fullest tile  {share(tile.value, target.tile_memory_bytes)} of {kilobytes(target.tile_memory_bytes)}: "
            f"{state}{_error(tile)}"
        )
    lines += [f"  why           {line}" for line in verdict(profile)]
    lines += [f"  {number}. {each.title}: {each.effect}" for number, each in enumerate(steps(profile), 1)]
    return "\n".join(lines)


def _why(profile: Profile) -> Iterator[str]:
    yield "Why, and what to do (modelled):"
    for line in verdict(profile):
        yield f"  {line}"
    for number, each in enumerate(steps(profile), 1):
        yield f"  {number}. {each.title}"
        yield f"       {each.effect}"
        for text in filter(None, (each.cause, *each.code)):
            yield f"       {text}"


def _title(profile: Profile) -> str:
    run = {option.name: option.value for option in profile.options if option.section == "run"}
    return clean(run.get("model", "") or run.get("kind", "") or "a program", 80)


def _target(profile: Profile) -> Iterator[str]:
    target = profile.target
    ipus = target.replicas * target.ipus_per_replica
    total = ipus * target.tiles_per_ipu
    yield "Target:"
    for label, value in (
        ("Chip:", f"{clean(target.title)}, {clean(target.system)} ({counted(target.system_ipus, 'IPU')})"),
        ("Number of IPUs:", f"{ipus:,} (replicas: {target.replicas:,} x {target.ipus_per_replica:,})"),
        ("Tiles per IPU:", count(target.tiles_per_ipu)),
        ("Total Tiles:", count(total)),
        ("Memory Per-Tile:", kilobytes(target.tile_memory_bytes)),
        ("Total Memory:", kilobytes(total * target.tile_memory_bytes)),
        ("Clock Speed (approx):", f"{target.clock_hz / 1e6:,.1f} MHz"),
    ):
        yield f"  {label:<24} {value}"


def _graph(profile: Profile) -> Iterator[str]:
    yield "Graph (of a replica):"
    width = max((len(count(each.count)) for each in profile.graph), default=1)
    for each in profile.graph:
        yield f"  {'Number of ' + clean(each.name) + ':':<36} {count(each.count):>{width}}"


def _memory(profile: Profile, *, full: bool) -> Iterator[str]:
    yield "Memory Usage (modelled, of a replica):"
    if not profile.ipus:
        yield "  not in this profile"
        return
    by_ipu = [profile.tile_bytes(row.ipu) for row in profile.ipus]
    yield from _totals("  Total:", by_ipu)
    yield from _tiles(profile, by_ipu)
    if full:
        for row, mine in zip(profile.ipus, by_ipu, strict=True):
            peak = f", fullest at {clean(row.peak_op)} ({clean(row.peak_phase)})" if row.peak_op else ""
            yield from _totals(f"  IPU {row.ipu}{peak}:", [mine])


def _totals(title: str, by_ipu: list[dict[str, NDArray[np.int64]]]) -> Iterator[str]:
    totals: dict[str, int] = {}
    for mine in by_ipu:
        for name, on_tiles in mine.items():
            totals[name] = totals.get(name, 0) + int(on_tiles.sum())
    gaps = totals.pop(_GAPS, 0)
    used = sum(totals.values())
    yield title
    yield f"    Including Gaps: {count(used + gaps):>20} B"
    yield f"    Excluding Gaps: {count(used):>20} B"
    yield "      By Data Type:"
    for name, size in totals.items():
        yield f"        {clean(name) + ':':<28} {count(size):>16} B"


def _tiles(profile: Profile, by_ipu: list[dict[str, NDArray[np.int64]]]) -> Iterator[str]:
    empty = np.zeros(profile.target.tiles_per_ipu, dtype=np.int64)
    whole = np.concatenate([sum(mine.values(), empty) for mine in by_ipu])
    gaps = np.concatenate([mine.get(_GAPS, empty) for mine in by_ipu])
    used = whole - gaps
    yield "  By Tile (Excluding Gaps):"
    yield f"    {'Range (KB)':>20}  {'Histogram (Excluding Gaps)':<{_STARS}}  Count (tiles)"
    edges = np.linspace(int(used.min()), int(used.max()) + 1, min(_BINS, int(np.ptp(used)) + 1) + 1)
    heights, _ = np.histogram(used, edges)
    for low, high, height in zip(edges, edges[1:], heights, strict=False):
        stars = "*" * max(int(height > 0), round(_STARS * int(height) / max(1, int(heights.max()))))
        yield f"    {low / 1024:>8,.1f} - {high / 1024:>9,.1f}  {stars:<{_STARS}}  {count(int(height)):>13}"
    for label, values in (("Including", whole), ("Excluding", used)):
        tile = int(np.argmax(values))
        yield f"    Maximum ({label} Gaps): {count(int(values[tile]))} ({values[tile] / 1024:,.1f} K) on tile {tile}"
    over = sum(row.tiles_out_of_memory for row in profile.ipus)
    yield f"    {count(over)} tile(s) out of memory{_error(profile.figures.get('max_tile_bytes'))}"


def _execution(profile: Profile, listed: int) -> Iterator[str]:
    yield "Execution (modelled):"
    clock = profile.target.clock_hz
    step = profile.figures.get("cycles_per_step")
    kind = next((o.value for o in profile.options if (o.section, o.name) == ("run", "kind")), "")
    yield f"  Programs executed: one {clean(kind)} step"
    if step is not None:
        yield f"  Total cycles: {count(step.value)} (approx {step.value / clock * 1e6:,.1f} us){_error(step)}"
    for name, cycles in profile.breakdown.items():
        label = clean(name).replace("_", " ") + " cycles:"
        yield f"    {label:<24} {count(cycles):>20} ({share(cycles, step.value if step else 0)} of total)"
    for name in ("throughput", "latency_seconds"):
        figure = profile.figures.get(name)
        if figure is not None:
            if name == "throughput":
                shown = f"{figure.value:,.1f} {clean(figure.unit)}{_error(figure)}"
            else:
                shown = f"{duration(figure.value)}; likely {duration(figure.low)} to {duration(figure.high)}"
            yield f"  {name.replace('_seconds', '').capitalize()}: {shown}"
    yield from _ops(profile, listed)


def _ops(profile: Profile, listed: int) -> Iterator[str]:
    total = sum(op.cycles for op in profile.ops)
    by_target: dict[str, tuple[float, int]] = {}
    for op in profile.ops:
        cycles, instances = by_target.get(op.target, (0.0, 0))
        by_target[op.target] = (cycles + op.cycles, instances + op.merged)
    yield f"  Cycles by kind of op, all IPUs ({count(total)} cycles of work per step):"
    for name, (cycles, instances) in sorted(by_target.items(), key=lambda item: -item[1][0])[:listed]:
        label = f"{clean(name, 60)} ({instances:,} instances):"
        yield f"    {label:<48} {count(cycles):>18} ({share(cycles, total)})"
    yield "  Largest ops:"
    for op in sorted(profile.ops, key=lambda op: -op.cycles)[:listed]:
        where = f"  {clean(op.source, 60)}" if op.source else ""
        yield f"    {clean(op.name, 60):<48} {count(op.cycles):>18} ({share(op.cycles, total)}){where}"


def _contributors(profile: Profile) -> Iterator[str]:
    yield "Largest in memory at the fullest moment:"
    shown: dict[int, int] = {}
    for row in profile.contributors:
        shown[row.ipu] = shown.get(row.ipu, 0) + 1
        if shown[row.ipu] <= _LISTED and row.category_id >= 0:
            use = clean(profile.categories[row.category_id].name)
            yield f"  IPU {row.ipu:<4} {count(row.bytes):>16} B  {use:<22} {clean(row.name)}"


def _options(profile: Profile) -> Iterator[str]:
    yield "Options:"
    for option in profile.options:
        yield f"  {clean(option.section)}: {clean(option.name)} = {clean(option.value)}"


def _notes(profile: Profile) -> list[str]:
    notes = [
        f"{value} rows of {clean(name.partition(':')[2])} were left out: the file is bounded"
        for name, value in profile.meta.items()
        if name.startswith("left_out:")
    ]
    if "merged_ops" in profile.meta:
        notes.append(f"ops were merged by module: {profile.meta['merged_ops']}")
    if "migrated_from_version" in profile.meta:
        notes.append(f"read from schema version {profile.meta['migrated_from_version']}: reasons are missing")
    return [f"Note: {clean(note)}" for note in notes]


def _error(figure: Figure | None) -> str:
    if figure is None or not figure.band:
        return ""
    low, high = (f"{edge:,.0f}" if abs(edge) >= 100 else f"{edge:.3g}" for edge in (figure.low, figure.high))
    return f"; likely {low} to {high} {clean(figure.unit)}"
