"""Whether the host keeps up: compares the samples per second that IPUs need with those that the host loads.

The rate is given, or measured: the program's data loader is read on its own for a moment. Loading runs beside the
device, so it costs nothing until it is the slower of the two. Every host of a system is assumed to load as fast as
this one, and the rate has no band.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tremula.errors import Error
from tremula.estimate.figures import Figure
from tremula.scale.row import DataRate, Row
from tremula.study.subject import Subject

#: where a rate comes from
MEASURED, GIVEN = "measured", "given"
#: how long a loader is read
_SECONDS = 2.0


def measured_rate(subject: Subject) -> tuple[DataRate | None, str]:
    """How fast the program's loader has batches ready on this host; or why that is not known."""
    try:
        speed = subject.loader_speed(_SECONDS)
    except Error as problem:
        return None, problem.message
    how = f"the program's own loader on this host, {speed.batches} batches in {speed.seconds:.1f} s"
    return DataRate(speed.samples_per_second, MEASURED, speed.workers, how), ""


def with_data_rate(row: Row, data: DataRate | None) -> Row:
    """`row` with the time that it waits for data, if the rate of loading is known."""
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
        waiting_seconds=waiting,
    )


@dataclass(frozen=True)
class Limit:
    """Where a series begins to wait for data."""

    mode: str
    target: str
    ipus: int | None  #: the smallest size that waits; None: none does
    needed_per_host: float  #: what a host has to load so that no size waits
    has_per_host: float


def limits(series: Sequence[tuple[str, str, Sequence[Row]]], data: DataRate | None) -> list[Limit]:
    """For each series, where the host's loading becomes the limit."""
    found = []
    for mode, target, rows in series:
        known = [row for row in rows if row.runs and "throughput" in row.figures]
        if data is None or not known:
            continue
        waits = [row.ipus for row in known if (row.waiting_seconds or 0.0) > 0.0]
        most = max(row.figures["throughput"].value / row.hosts for row in known)
        found.append(Limit(mode, target, min(waits, default=None), most, data.samples_per_second))
    return found
