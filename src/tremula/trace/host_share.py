"""Does the host starve the device? From a trace: host time between runs, beside the modelled time of the runs.

A run on the host stands for one on the device, and takes as long as the emulation takes; so its own duration says
nothing. What the program does between two runs (waiting for data, Python) it would do beside a real device as well,
which then waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.trace.names import COMPILE, DATA_WAIT, RUN
from tremula.trace.several import TraceSet

Floats = NDArray[np.float64]

#: share of waiting from which the host is called the bottleneck
HOST_BOUND = 0.25


@dataclass(frozen=True)
class HostShare:
    """Sums over all processes, in microseconds: modelled time of the device, and the host's time between runs."""

    calls: int
    device_us: float
    host_us: float
    data_wait_us: float  #: of `host_us`

    @property
    def waits_share(self) -> float:
        """Share of the time in which the device would wait for the host."""
        return self.host_us / max(self.host_us + self.device_us, 1e-9)

    @property
    def verdict(self) -> str:
        """Who is slower: "host", "device", or "unknown" where there are too few calls."""
        if self.calls < 2 or self.device_us <= 0:
            return "unknown"
        return "host" if self.waits_share >= HOST_BOUND else "device"

    def text(self) -> str:
        """One or two sentences."""
        if self.verdict == "unknown":
            return "There are too few calls to say whether the host keeps the IPU busy."
        share, data = self.waits_share, self.data_wait_us / max(self.host_us + self.device_us, 1e-9)
        for_data = f", {data:.0%} for data" if data >= 0.005 else ""
        verdict = "The host starves it" if self.verdict == "host" else "The host keeps it busy"
        return (
            f"Modelled: the IPU would wait {share:.0%} of the time for the host{for_data}. {verdict}. Times of "
            "the IPU are modelled, times of the host were measured on this machine; the first run is left out."
        )


def host_share(traces: TraceSet) -> HostShare | None:
    """The shares of a set of traces; None if it has no modelled activity of a device."""
    events = traces.events
    process = np.array([row.process for row in traces.rows], np.int64)
    device = np.array([row.thread.kind == "device" for row in traces.rows], bool)
    if not device.any():
        return None
    numbers = {text: at for at, text in enumerate(traces.texts)}
    of_process, of_device = process[events.thread], device[events.thread]
    calls, device_us, host_us, data_us = 0, 0.0, 0.0, 0.0
    for each in range(len(traces.files)):
        mine = of_process == each
        modelled = mine & of_device & (events.depth == 0)
        runs = _spans(traces, mine & ~of_device, numbers, RUN)
        spent = np.sort(events.start_us[modelled])
        length = events.end_us[modelled] - events.start_us[modelled]
        calls += len(spent)
        # the first run has no time before it
        device_us += float(
            length.sum() - (length[np.argmin(events.start_us[modelled])] if len(length) else 0)
        )
        if len(runs[0]) < 2:
            continue
        starts, ends = _union(*runs)
        gaps = _without((ends[:-1], starts[1:]), _union(*_spans(traces, mine & ~of_device, numbers, COMPILE)))
        host_us += float((gaps[1] - gaps[0]).sum())
        waits = _union(*_spans(traces, mine & ~of_device, numbers, DATA_WAIT))
        data_us += float((_covered(gaps, waits[1]) - _covered(gaps, waits[0])).sum())
    return HostShare(calls, device_us, host_us, data_us)


def _spans(
    traces: TraceSet, mine: NDArray[np.bool_], numbers: Mapping[str, int], label: str
) -> tuple[Floats, Floats]:
    chosen = mine & (traces.events.label == numbers.get(label, -1))
    return traces.events.start_us[chosen], traces.events.end_us[chosen]


def _union(start: Floats, end: Floats) -> tuple[Floats, Floats]:
    """The same time as spans that do not touch, in order."""
    if not len(start):
        return start, end
    order = np.argsort(start, kind="stable")
    start, reached = start[order], np.maximum.accumulate(end[order])
    new = np.concatenate([[True], start[1:] > reached[:-1]])
    return start[new], reached[np.append(np.flatnonzero(new)[1:] - 1, len(start) - 1)]


def _covered(spans: tuple[Floats, Floats], until: Floats) -> Floats:
    """How much of the spans, which are in order and apart, lies before each moment."""
    start, end = spans
    before = np.concatenate([[0.0], np.cumsum(end - start)])
    at = np.searchsorted(start, until, side="right")
    beyond = np.where(at > 0, np.maximum(0.0, end[np.maximum(at - 1, 0)] - until) if len(end) else 0.0, 0.0)
    return before[at] - beyond


def _without(spans: tuple[Floats, Floats], others: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """The spans in which nothing of the others lies."""
    start, end = spans
    keep = (
        (_covered(others, end) - _covered(others, start)) <= 0.0
        if len(others[0])
        else np.ones(len(start), bool)
    )
    return start[keep], end[keep]
