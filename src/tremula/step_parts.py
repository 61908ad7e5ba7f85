"""The parts of the time of a step: their names and colours in all reports, plots and pages."""

from __future__ import annotations

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
    StepPart("host", "host", "host", "#cc6677"),
)
#: what a step waits where the host has its next batch not ready
DATA = StepPart("data", "waiting for data", "waiting for data", "#aa3377")
BY_KEY = {part.key: part for part in (*STEP_PARTS, DATA)}
