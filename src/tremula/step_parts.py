"""The parts of the time of a step: their names and colours in all reports, plots and pages.

The host has three of them: what a call costs in any case, transfers that the device waits for, and waiting for batches
that are not ready. The last is known only where the rate of loading is (`tremula scale`); no estimate has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class StepPart:
    """One part, as `Cycles` of the schedule has it."""

    key: str
    title: str
    #: where there is little room
    short: str
    #: distinguishable with colour blindness too
    colour: str


#: in the order of reports
STEP_PARTS = (
    StepPart("compute", "compute", "compute", "#4a5fc1"),
    StepPart("exchange", "exchange between tiles", "exchange", "#88ccee"),
    StepPart("sync", "sync", "sync", "#44aa99"),
    StepPart("inter_ipu", "copies between IPUs", "between IPUs", "#228833"),
    StepPart("collectives", "collectives between replicas", "collectives", "#999933"),
    StepPart("streaming", "streaming memory", "streaming memory", "#ddcc77"),
    StepPart("pipeline_idle", "pipeline fill and drain", "pipeline fill/drain", "#bbbfc6"),
    StepPart("host_call", "host call overhead", "host call", "#cc6677"),
    StepPart("host_transfer", "transfers with the host", "host transfer", "#ee99aa"),
)
#: what a step waits where the host has its next batch not ready
DATA = StepPart("data", "waiting for data", "waiting for data", "#aa3377")
BY_KEY = {part.key: part for part in (*STEP_PARTS, DATA)}

#: what the host takes of an estimate
HOST_PARTS = ("host_call", "host_transfer")
#: the one part that earlier versions had for calls and transfers, and what they took for each call
_HOST, _CALL_SECONDS = "host", 3.0e-3


def part_title(key: str, *, short: bool = False) -> str:
    """The name of a part in reports; a part that is not known keeps its own."""
    if key not in BY_KEY:
        return key.replace("_", " ")
    return BY_KEY[key].short if short else BY_KEY[key].title


def with_host_parts(parts: Mapping[str, float], step_seconds: float, iterations: int) -> Mapping[str, float]:
    """`parts` of a step, in any unit, with the host's in two where an earlier version wrote them as one."""
    if _HOST not in parts:
        return parts
    host, total = parts[_HOST], sum(parts.values())
    call = min(host, total * _CALL_SECONDS / iterations / step_seconds) if step_seconds > 0 else host
    rest = {key: value for key, value in parts.items() if key != _HOST}
    return {**rest, **dict(zip(HOST_PARTS, (call, host - call), strict=True))}
