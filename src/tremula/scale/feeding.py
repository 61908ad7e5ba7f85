"""Whether the host keeps up: samples that IPUs take in a second, against those that loading has ready.

The rate is given, or that of the loader that the program is going over, which is read on its own for a moment. Loading
runs beside the device, so it costs nothing until it is the slower of the two; from there on it sets the pace. Every
host of a system is taken to load as fast as this one, and the rate has no band: how far another host is off is not
known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tremula.frontends.torch.data import current_loader
from tremula.scale.row import DataRate, Row
from tremula.study.finding import Figure

#: where a rate comes from
MEASURED, GIVEN = "measured", "given"
#: how long a loader is read
_SECONDS = 2.0


def measured_rate() -> tuple[DataRate | None, str]:
    """How fast the program's loader has batches ready on this host; or why that is not known."""
    loader = current_loader.current()
    if loader is None:
        return None, "the program goes over no poptorch.DataLoader"
    try:
        speed = current_loader.measure_speed(loader, _SECONDS)
    except Exception as problem:  # the loader and its data are the user's
        return None, f"the program's loader could not be read on its own: {problem}"
    if speed is None:
        return None, "the program's loader has too few batches to time"
    how = f"the program's own loader on this host, {speed.batches} batches in {speed.seconds:.1f} s"
    return DataRate(speed.samples_per_second, MEASURED, speed.workers, how), ""


def fed(row: Row, data: DataRate | None) -> Row:
    """`row` with what waiting for data does to it, if it is known how fast data comes."""
    throughput = row.figures.get("throughput")
    if data is None or throughput is None or not throughput.value:
        return row
    limit = data.samples_per_second * row.hosts
    step = row.figures["step_seconds"].value
    # samples of a step follow from its rate, for inference and training alike
    waiting = max(0.0, step * throughput.value / limit - step)
    value, low, high = (min(limit, each) for each in (throughput.value, throughput.low, throughput.high))
    reached = Figure(value, low, high, "samples/s")
    return replace(
        row,
        figures={**row.figures, "fed_throughput": reached},
        parts={**row.parts, "data": waiting},
    )


@dataclass(frozen=True)
class Limit:
    """Where a series begins to wait for data."""

    mode: str
    target: str
    #: the smallest size that waits; None: none does
    ipus: int | None
    #: what a host has to load so that no size waits
    needed_per_host: float
    has_per_host: float


def limits(series: Sequence[tuple[str, str, Sequence[Row]]], data: DataRate | None) -> list[Limit]:
    """For each series, where the host's loading becomes the limit."""
    found = []
    for mode, target, rows in series:
        known = [row for row in rows if row.runs and "throughput" in row.figures]
        if data is None or not known:
            continue
        waits = [row.ipus for row in known if row.parts.get("data", 0.0) > 0.0]
        most = max(row.figures["throughput"].value / row.hosts for row in known)
        found.append(Limit(mode, target, min(waits, default=None), most, data.samples_per_second))
    return found
