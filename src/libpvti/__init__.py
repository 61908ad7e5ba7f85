"""Marks of your own in a trace of the host: see docs/libpvti.md.

The names are those of the original library. PVTI_OPTIONS switches recording on; without it, nothing is written and a
tracepoint does nothing.
"""

from libpvti._channels import (
    checkTraceChannel,
    createTraceChannel,
    disableTraceChannel,
    enableTraceChannel,
    listTraceChannel,
    traceDrivers,
    traceFramework,
    tracePoplar,
)
from libpvti._measures import Graph, HeatmapDouble, HeatmapFloat, HeatmapInt, Series, decodeHeatmapData
from libpvti._tracepoints import (
    ThreadName,
    Tracepoint,
    closeTrace,
    createJsonMetadata,
    getCurrentTraceFilename,
    instrument,
    instrument_fn,
)
from tremula.trace.channels import Channel as TraceChannel

__all__ = [
    "Graph", "HeatmapDouble", "HeatmapFloat", "HeatmapInt", "Series", "ThreadName", "TraceChannel", "Tracepoint",
    "checkTraceChannel", "closeTrace", "createJsonMetadata", "createTraceChannel", "decodeHeatmapData",
    "disableTraceChannel", "enableTraceChannel", "getCurrentTraceFilename", "instrument", "instrument_fn",
    "listTraceChannel", "traceDrivers", "traceFramework", "tracePoplar",
]  # fmt: skip
