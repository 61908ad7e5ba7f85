"""Device events for tests."""

from tremula.frontends.tensorflow.testing.events import (
    enable_ipu_events,
    extract_all_events,
    extract_all_strings_from_event_trace,
    extract_all_types_from_event_trace,
)

__all__ = [
    "enable_ipu_events",
    "extract_all_events",
    "extract_all_strings_from_event_trace",
    "extract_all_types_from_event_trace",
]
