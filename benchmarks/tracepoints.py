"""What marks in a trace cost: against a plain call, switched off, recorded, and with all that writes the file.

    python -m benchmarks.tracepoints [--json OUT]

Run from the repository's root. Also what a large trace costs: to open, to draw at full width and zoomed in. Exits with
1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import tempfile
import timeit
from collections.abc import Callable
from time import perf_counter

import libpvti as pvti
from tremula.settings.values import TraceOptions
from tremula.trace import writer
from tremula.trace.several import TraceSet
from tremula.view.trace_answers import answer

OFF_LIMIT_US = 0.6
ON_LIMIT_US = 5.0
#: spans of the large trace
SPANS = 2_000_000
_CALLS = 100_000
_ROUNDS = 7


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 on a miss."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to a file as well")
    options = parser.parse_args(arguments)
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        _marks(figures, folder)
        _large(figures, folder)
    for name, value in figures.items():
        print(f"{name:58} {value:12,.3f}")
    met = figures["tracepoint, switched off (us)"] < OFF_LIMIT_US and all(
        figures[name] < ON_LIMIT_US for name in figures if name.endswith("recorded (us)") or "written" in name
    )
    print(f"limits: {OFF_LIMIT_US} us switched off, {ON_LIMIT_US} us recorded: {'met' if met else 'MISSED'}")
    if options.json:
        options.json.write_text(
            json.dumps({"figures": figures, "met": met}, indent=1) + "\n", encoding="utf-8"
        )
    return 0 if met else 1


def _marks(figures: dict[str, float], folder: str) -> None:
    channel = pvti.createTraceChannel("benchmark")

    def plain() -> None:
        pass

    def context() -> None:
        with pvti.Tracepoint(channel, "label"):
            pass

    def by_name() -> None:
        pvti.Tracepoint.begin(channel, "label")
        pvti.Tracepoint.end(channel, "label")

    def event() -> None:
        pvti.Tracepoint.event(channel, "label")

    decorated = pvti.instrument_fn(channel)(plain)
    series = pvti.Graph("graph").addSeries("line")
    writer.close()
    figures["plain call of a function (us)"] = _microseconds(plain)
    figures["tracepoint, switched off (us)"] = _microseconds(context)
    figures["decorated function, switched off (us)"] = _microseconds(decorated)
    cases = {
        "tracepoint": context, "tracepoint by begin and end": by_name, "instant event": event,
        "decorated function": decorated, "value of a series": lambda: series.add(1.5),
    }  # fmt: skip
    for name, case in cases.items():
        writer.restart(TraceOptions(directory=folder))
        figures[f"{name}, recorded (us)"] = _microseconds(case)
        writer.close()
    writer.restart(TraceOptions(directory=folder))
    start = perf_counter()
    for _ in range(_CALLS * 5):
        context()
    writer.close()
    figures["tracepoint until it is written to the file (us)"] = (perf_counter() - start) / (_CALLS * 5) * 1e6


def _microseconds(case: Callable[[], object]) -> float:
    return min(timeit.repeat(case, number=_CALLS, repeat=_ROUNDS)) / _CALLS * 1e6


def _large(figures: dict[str, float], folder: str) -> None:
    place = pathlib.Path(folder) / "large"
    writer.restart(TraceOptions(directory=str(place)))
    channel = pvti.createTraceChannel("benchmark")
    for step in range(SPANS // 20):
        with pvti.Tracepoint(channel, f"step {step % 1000}"):
            for _ in range(19):
                with pvti.Tracepoint(channel, "inner"):
                    pass
    writer.close()
    (path,) = place.glob("*.pvti")
    start = perf_counter()
    traces = TraceSet(path)
    opened = perf_counter() - start
    figures[f"file of {SPANS:,} spans in one loop (MB)"] = path.stat().st_size / 2**20
    figures["spans of it that were left out, as too many waited"] = SPANS - len(traces.events)
    figures["open it (s)"] = opened
    whole = {"start": "0", "end": str(traces.end_us), "pixels": "1400"}
    middle = traces.end_us / 2
    close = {"start": str(middle), "end": str(middle + 2000.0), "pixels": "1400"}
    for name, what, params in (
        ("overview (ms)", "trace_overview", {}),
        ("first picture of all (ms)", "trace_events", whole),
        ("picture of all (ms)", "trace_events", whole),
        ("picture of 2 ms in the middle (ms)", "trace_events", close),
        ("search (ms)", "trace_search", {"text": "step 77"}),
        ("table of all (ms)", "trace_selection", whole),
    ):
        start = perf_counter()
        answer(traces, what, params)
        figures[name] = (perf_counter() - start) * 1e3


if __name__ == "__main__":
    sys.exit(main())
