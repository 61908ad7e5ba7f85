"""Times of several contestants in one process, taken in turns, so that what else the machine does hits them alike.

Times are what a clock shows; the processor time of the process is measured beside it, because on a busy machine it
tells a slow program from a waiting one.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

#: calls are timed in blocks of about this length
BLOCK_SECONDS = 0.03

#: one call of a contestant
Call = Callable[[], Any]


@dataclass
class Times:
    """Seconds per call, one entry per round."""

    clock: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


def interleaved(runners: dict[str, Call], seconds: float, rounds: int) -> dict[str, Times]:
    """Blocks of calls, taken in turns; who begins changes from round to round."""
    gc.collect()
    calls = {name: _calls_per_block(run) for name, run in runners.items()}
    times = {name: Times() for name in runners}
    order = list(runners)
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop or len(times[order[0]].clock) < rounds:
        for name in order:
            run, count = runners[name], calls[name]
            started, busy = time.perf_counter(), time.process_time()
            for _ in range(count):
                run()
            times[name].processor.append((time.process_time() - busy) / count)
            times[name].clock.append((time.perf_counter() - started) / count)
        order.append(order.pop(0))
    return times


def _calls_per_block(run: Call) -> int:
    """How many calls fill a block, after some to warm up."""
    fastest = min(timed(run) for _ in range(3))
    if fastest < BLOCK_SECONDS / 10:
        fastest = min(fastest, *(timed(run) for _ in range(20)))
    return max(1, math.ceil(BLOCK_SECONDS / fastest))


def ratio(times: list[float], others: list[float]) -> float:
    """Median over rounds: both times of a round were taken side by side."""
    return statistics.median(mine / other for mine, other in zip(times, others, strict=True))


def timed(run: Call) -> float:
    """Seconds of one call by the clock."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
