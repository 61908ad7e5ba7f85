"""The calls of programs in the trace of the host, and beside them what the device would do: modelled spans in a row of
their own, so that one sees when the device would wait for the host.
"""

from __future__ import annotations

import threading
from time import perf_counter_ns
from typing import TYPE_CHECKING

from tremula import log
from tremula.trace import channels, points
from tremula.trace.names import MODELLED, RUN

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun

_modelled = channels.channel(MODELLED)


_row = points.NamedRow(MODELLED)
_lock = threading.Lock()
#: when the last modelled span is over
_over = 0


def call_ran(label: str, run_ns: int, modelled: ModelledRun | None, call_ns: int | None = None) -> None:
    """Record a run of a program that began at `run_ns` (`perf_counter_ns`) and is over, and the call around it."""
    now = perf_counter_ns()
    points.whole(channels.poplar, RUN, run_ns, now)
    if call_ns is not None:
        points.whole(channels.framework, f"{label} call", call_ns, now)
    if modelled is None or not _modelled.on:
        return
    found = modelled.known
    if found is None:
        log.info_once(
            "trace without a model",
            "The trace has no modelled activity of the IPU, because the chip model did not run for this program. "
            "Set TREMULA_CHIP_MODEL=compile to run it.",
        )
        return
    cycles = modelled.cycles_per_call()
    length = max(1, round(cycles / found.chip.clock_hz * 1e9))
    global _over
    with _lock:  # a span begins with its run, or when the one before it is over
        start = max(run_ns, _over)
        _over = start + length
        _row.add(_modelled, label, start, _over, f'{{"modelled cycles": {cycles}}}')
