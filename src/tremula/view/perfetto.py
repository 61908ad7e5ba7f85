"""A profile as a trace that ui.perfetto.dev and chrome://tracing open: JSON trace events, written one by one.

The times are modelled and the picture is schematic. Each IPU runs one micro-batch op by op, then its part of the
update; a process of its own shows the whole step in parts, and the first turns of a pipeline. One micro-batch is
shown as it passes the IPUs one after the other; how micro-batches overlap is in the pipeline's tracks.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TextIO

from tremula.profile import Profile
from tremula.profile.model import Op, Superstep
from tremula.view.pipeline import turns

Event = dict[str, Any]

_STEP, _FIRST_IPU = 1, 10
#: threads of an IPU
_PROGRAM, _EXCHANGE, _SYNC, _COMPUTE = 1, 2, 3, 4
#: events beyond which supersteps are not drawn one by one, and beyond which the trace ends
DETAILED_OPS = 60_000
_MOST_EVENTS = 1_000_000
#: turns of the pipeline that are drawn
_TURNS = 48


def write_trace(profile: Profile, file: TextIO) -> int:
    """Write the trace; gives the number of events."""
    written = 0
    file.write('{"displayTimeUnit":"ns","otherData":{"note":"modelled, not measured"},"traceEvents":[')
    for event in _events(profile):
        file.write(",\n" if written else "\n")
        json.dump(event, file, separators=(",", ":"))
        written += 1
        if written >= _MOST_EVENTS:
            break
    file.write("\n]}\n")
    return written


def _events(profile: Profile) -> Iterator[Event]:
    to_us = 1e6 / profile.target.clock_hz

    def slice_(pid: int, tid: int, name: str, start: float, spent: float, **args: Any) -> Event:
        # both ends on whole nanoseconds, so that what follows or lies inside does so in the viewer as well
        begin, end = round(start * to_us, 3), round((start + spent) * to_us, 3)
        event: Event = {
            "ph": "X", "pid": pid, "tid": tid, "name": name[:200], "ts": begin, "dur": round(end - begin, 3)
        }  # fmt: skip
        if args:
            event["args"] = args
        return event

    yield from _names(profile)
    yield from _overview(profile, slice_)
    yield from _pipeline(profile, slice_)
    yield from _micro_batch(profile, slice_, to_us)


_Slice = Callable[..., Event]


def _names(profile: Profile) -> Iterator[Event]:
    def name(kind: str, pid: int, tid: int, text: str) -> Event:
        return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": text}}

    yield name("process_name", _STEP, 0, "One step (modelled)")
    yield name("thread_name", _STEP, 1, "parts of the step")
    for ipu in _ipus(profile):
        yield name("thread_name", _STEP, 100 + ipu, f"pipeline, IPU {ipu}")
        yield name("process_name", _FIRST_IPU + ipu, 0, f"IPU {ipu}: one micro-batch (modelled)")
        for tid, text in (
            (_PROGRAM, "program"),
            (_EXCHANGE, "exchange"),
            (_SYNC, "sync"),
            (_COMPUTE, "compute"),
        ):
            yield name("thread_name", _FIRST_IPU + ipu, tid, text)


def _ipus(profile: Profile) -> list[int]:
    return sorted({*(op.ipu for op in profile.ops), *(row.ipu for row in profile.ipus)})


def _overview(profile: Profile, slice_: _Slice) -> Iterator[Event]:
    parts = profile.breakdown
    total = sum(parts.values())
    if not total:
        return
    yield slice_(_STEP, 1, "step", 0.0, total)
    start = 0.0
    for name, cycles in parts.items():
        if cycles > 0:
            yield slice_(_STEP, 1, name.replace("_", " "), start, cycles, cycles=cycles)
            start += cycles


def _pipeline(profile: Profile, slice_: _Slice) -> Iterator[Event]:
    for turn in turns(profile, _TURNS):
        for work in turn.work:
            yield slice_(
                _STEP,
                100 + work.ipu,
                f"stage {work.stage}, micro-batch {work.micro_batch}",
                turn.start + work.start,
                work.cycles,
                turn=turn.number,
            )


def _micro_batch(profile: Profile, slice_: _Slice, to_us: float) -> Iterator[Event]:
    numbers, again = profile.program_steps
    ops = profile.ops
    live = {ipu: profile.live_bytes(ipu) for ipu in _ipus(profile)}

    @functools.cache
    def plan(number: int) -> str:
        return profile.reason(profile.plans[number]).plan[:300] if number >= 0 else ""

    detailed = len(numbers) <= DETAILED_OPS
    clock = 0.0
    update_clocks: dict[int, float] = {}
    for position, number in enumerate(numbers.tolist()):
        if number < 0:
            continue
        op = ops[number]
        pid = _FIRST_IPU + op.ipu
        cycles = _one_run(profile, op)
        if op.phase == "update":  # all IPUs at once, after everything else
            start = update_clocks.setdefault(op.ipu, clock)
            update_clocks[op.ipu] = start + cycles
        else:
            start, clock = clock, clock + cycles
        name = f"{op.name} (again)" if again[position] else op.name
        yield slice_(pid, _PROGRAM, name, start, cycles, **_arguments(op, plan(op.plan_id)))
        if detailed and op.plan_id >= 0:
            yield from _supersteps(profile.supersteps.get(op.plan_id, ()), slice_, pid, start)
        tensors, temporaries = live[op.ipu]
        if position < len(tensors):
            yield {
                "ph": "C", "pid": pid, "tid": 0, "name": "not always live bytes", "ts": start * to_us,
                "args": {"tensors": int(tensors[position]), "temporaries": int(temporaries[position])},
            }  # fmt: skip


def _one_run(profile: Profile, op: Op) -> float:
    if op.plan_id >= 0:
        return max(0.0, profile.plans[op.plan_id].cycles)
    return max(0.0, op.cycles / max(1, op.runs))


def _arguments(op: Op, plan: str) -> Mapping[str, Any]:
    return {
        "module": op.module[:300],
        "target": op.target[:100],
        "phase": op.phase[:40],
        "source": op.source[:300],
        "runs": op.runs,
        "plan": plan,
    }


def _supersteps(steps: tuple[Superstep, ...], slice_: _Slice, pid: int, start: float) -> Iterator[Event]:
    for step in steps:
        for tid, cycles in (
            (_EXCHANGE, step.exchange_cycles), (_SYNC, step.sync_cycles), (_COMPUTE, step.slowest_tile_cycles)
        ):  # fmt: skip
            spent = max(0.0, cycles * step.repeats)
            if spent:
                tiles = {"tiles": step.active_tiles} if tid == _COMPUTE else {}
                yield slice_(pid, tid, step.name, start, spent, repeats=step.repeats, **tiles)
                start += spent
