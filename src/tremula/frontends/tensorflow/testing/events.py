"""The trace of device events: asking for it, and reading its messages."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from tremula.frontends.tensorflow.config.messages import IpuTraceEvent

_TITLES = {
    IpuTraceEvent.COMPILE_BEGIN: ("Compile begin", "compile_begin", "module_name"),
    IpuTraceEvent.COMPILE_END: ("Compile end", "compile_end", "module_name"),
    IpuTraceEvent.HOST_TO_DEVICE_TRANSFER: ("Host to device", "data_transfer", "data_transfer"),
    IpuTraceEvent.DEVICE_TO_HOST_TRANSFER: ("Device to host", "data_transfer", "data_transfer"),
    IpuTraceEvent.LOAD_ENGINE: ("Load engine", "load_engine", "module_name"),
    IpuTraceEvent.EXECUTE: ("Execute", "execute", "module_name"),
}


def enable_ipu_events(ipu_config: Any) -> None:
    """Ask for the trace in the message that this configuration makes of itself."""
    original = ipu_config._create_protobuf

    def with_events() -> Any:
        message = original()
        message.profiling.enable_ipu_trace_events = True
        message.profiling.enable_compilation_trace = True
        message.profiling.enable_io_trace = True
        return message

    object.__setattr__(ipu_config, "_create_protobuf", with_events)


def extract_all_events(events: Iterable[bytes]) -> list[Any]:
    """The events of a trace as messages."""
    return [IpuTraceEvent.FromString(event) for event in events]


def extract_all_types_from_event_trace(events: Iterable[bytes]) -> list[int]:
    """The type of each event of a trace."""
    return [event.type for event in extract_all_events(events)]


def extract_all_strings_from_event_trace(events: Iterable[bytes]) -> str:
    """A trace as text for a reader."""
    lines = []
    for event in extract_all_events(events):
        title, message, field = _TITLES[event.type]
        moment = time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(event.timestamp))
        said = getattr(getattr(event, message), field).decode("utf-8", "replace")
        lines += ["-" * 70, f"{moment}  {title}: {said}"]
    return "".join(f"{line}\n" for line in lines)
