"""The summary at the end of a run: one line per model, and the parts of the time for longer runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from tremula.telemetry.run_record import Entry, Run

#: a run shorter than this gets one line for each model
_LONG_SECONDS = 10.0
_INDENT = 4
_COLUMN = 15


def summary(run: Run, failed: bool = False) -> Iterator[tuple[int, str]]:
    """What to say about `run`: pairs of log level and text.

    If the program `failed`, a model that never ran is expected.
    """
    long = run.ended - run.started >= _LONG_SECONDS
    merged = run.merged()
    for entry in merged.models:
        name = f"{entry.kind} {entry.model}"
        if entry.calls:
            yield logging.INFO, _executed(name, entry) + ("" if long else _briefly(entry))
            if long:
                for title, text in _details(entry):
                    yield logging.INFO, f"{'':{_INDENT}}{title:<{_COLUMN}}{text}"
        elif entry.compiles:
            yield logging.INFO, f"{name} was compiled in {_seconds(entry.compile_seconds)} and not executed"
        elif entry.failures:
            yield (
                logging.INFO,
                f"{name} could not be compiled: {_count(entry.failures, 'call')} ended with an error",
            )
        elif not failed and entry.never_ran:
            yield logging.WARNING, f"{entry.model} {entry.never_ran}"
        elif not failed:
            yield (
                logging.WARNING,
                f"{name} was wrapped but never executed: all results of this model came from plain PyTorch on the "
                f"host. Call the object that {entry.kind} returned{_instead(entry)}",
            )
    if long and merged.calls and run.items:
        share = run.data_wait / (run.ended - run.started)
        yield (
            logging.INFO,
            f"data loaders: {_count(run.items, 'item')}, waited for {_seconds(run.data_wait)} "
            f"({share:.0%} of the run)",
        )


def _instead(entry: Entry) -> str:
    """What the program may have called instead of the executor."""
    if not entry.returned_module:
        return ""
    return f", not what {entry.returned_module} returned: that is the plain module"


def _executed(name: str, entry: Entry) -> str:
    samples = f" ({_count(entry.samples, 'sample')})" if entry.samples else ""
    place = f"{_count(entry.ipus, 'virtual IPU')} (host CPU)"
    return f"{name} executed {_count(entry.calls, 'call')}{samples} on {place}"


def _briefly(entry: Entry) -> str:
    """The end of the only line about a model."""
    if not entry.seconds:
        return ""
    parts = []
    if entry.first_calls:
        parts.append(f"first call {_seconds(entry.first_seconds / entry.first_calls)}")
    rate = _rate(entry)
    if rate:
        form = "quick form" if not entry.compiled_from else f"compiled from call {entry.compiled_from:,} on"
        parts.append(rate if entry.never_ran else f"then {rate} ({form})")
    return ": " + ", ".join(parts) if parts else ""


def _details(entry: Entry) -> Iterator[tuple[str, str]]:
    """Where the time of a model went: pairs of title and text."""
    if not entry.seconds:
        return
    if entry.capture_seconds:
        yield "capture", _seconds(entry.capture_seconds)
    if entry.first_calls:
        times = "" if entry.first_calls == 1 else f" for {entry.first_calls:,} compilations"
        yield "first call", f"{_seconds(entry.first_seconds)}{times}"
    if not entry.never_ran:  # PyTorch's programs have two forms
        yield "compiled code", _compiled_code(entry)
    calls, _, seconds = entry.steady
    if calls:
        yield "steady state", f"{_count(calls, 'call')} in {_seconds(seconds)}, {_rate(entry)}"
    if entry.modelled:
        yield "on hardware", entry.modelled


def _compiled_code(entry: Entry) -> str:
    # what the cache said is a sentence about the cache, but for a hit and for what is wrong with a file
    cache = entry.cache if "cache" in entry.cache else f"cache: {entry.cache}" if entry.cache else ""
    if entry.compiler_seconds:
        made = f"compiler {_seconds(entry.compiler_seconds)}" + (f" ({cache})" if cache else "")
    else:
        made = "from the cache" if entry.cache == "hit" else cache
    if entry.compiled_from:
        used = f"in use from call {entry.compiled_from:,} on, {entry.speedup:.2f} times as fast as the quick form"
    elif entry.why_quick:
        used = f"not used: {entry.why_quick}"
    else:
        used = "not used: the program ended before it was ready"
    return "; ".join(part for part in (made, used) if part)


def _rate(entry: Entry) -> str:
    """Samples a second in steady state, or calls where samples are not known."""
    calls, samples, seconds = entry.steady
    if not calls or seconds <= 0.0:
        return ""
    number, unit = (samples, "samples") if samples else (calls, "calls")
    rate = number / seconds
    return f"{rate:,.0f} {unit}/s" if rate >= 10 else f"{rate:.2g} {unit}/s"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:,.1f} s"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
