"""Messages of a trace of device events."""

from tremula.frontends.tensorflow.config.messages import (
    IpuTraceCompileBeginEvent,
    IpuTraceCompileEndEvent,
    IpuTraceDataTransferEvent,
    IpuTraceEvent,
    IpuTraceExecuteEvent,
    IpuTraceLoadEngineEvent,
)

__all__ = [
    "IpuTraceCompileBeginEvent",
    "IpuTraceCompileEndEvent",
    "IpuTraceDataTransferEvent",
    "IpuTraceEvent",
    "IpuTraceExecuteEvent",
    "IpuTraceLoadEngineEvent",
]
