"""Several runs side by side: how speed grows with the number of ranks, and runs that belong together.

Only runs of the same network, batch, precision, mode and downsampling are compared; the smallest is the measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cosmictagger.analysis.results import Fault, Result

#: runs that agree in these are one series
_SERIES = ("network.name", "run.minibatch_size", "run.precision", "run.compute_mode", "data.downsample")
#: milliseconds within which processes of one job start
_ONE_START = 60_000


@dataclass(frozen=True)
class Row:
    """A run in a table of several.

    Attributes:
        efficiency: images per second of an IPU (or rank), relative to the smallest run of the series; None if unknown.
        series: number of the series.
    """

    result: Result
    efficiency: float | None
    series: int


def scaling(results: Sequence[Result]) -> list[Row]:
    """The runs that have steps, by series and size."""
    series: dict[tuple[str | None, ...], list[Result]] = {}
    for each in results:
        if each.timings:
            key = (*(each.run.settings.get(name) for name in _SERIES), str(each.run.ours))
            series.setdefault(key, []).append(each)
    rows = []
    for number, members in enumerate(series.values()):
        members.sort(key=lambda each: each.ipus)
        base = next((each for each in members if each.aggregate), None)
        for each in members:
            efficiency = None
            if base is not None and base.aggregate and each.aggregate is not None:
                efficiency = (each.aggregate / each.ipus) / (base.aggregate / base.ipus)
            rows.append(Row(each, efficiency, number))
    return rows


def split_runs(results: Sequence[Result]) -> None:
    """Add a fault to runs that seem to be one job whose ranks wrote to several folders."""
    by_id: dict[str, list[Result]] = {}
    for each in results:
        name = each.run.settings.get("run.id", "")
        if name and not each.run.ours and each.timings and each.run.ranks[0].stream.rank is None:
            by_id.setdefault(name, []).append(each)
    for members in by_id.values():
        begins = [min(rank.begin for rank in each.timings) for each in members]
        if len(members) < 2 or max(begins) - min(begins) > _ONE_START:
            continue
        total = sum(len(each.timings) for each in members)
        for each in members:
            each.faults.append(
                Fault(
                    "run-split",
                    "error",
                    f"This is probably a part of a job whose {total} ranks wrote to {len(members)} folders.",
                    (
                        f"the same run.id and a start within {(max(begins) - min(begins)) / 1000:.1f} s: "
                        "the original's folder has the second of the start in its name",
                    ),
                    "Add their images per second; neither part is a run of its own.",
                    "likely",
                )
            )
