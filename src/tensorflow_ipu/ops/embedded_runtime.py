"""The embedded application runtime."""

from tremula.frontends.tensorflow.executables.runtime import (
    RuntimeContext,
    embedded_runtime_call,
    embedded_runtime_start,
    embedded_runtime_start_and_call,
    embedded_runtime_stop,
)
from tremula.frontends.tensorflow.executables.runtime import find_opaque_blob as _find_opaque_blob

__all__ = [
    "RuntimeContext",
    "_find_opaque_blob",
    "embedded_runtime_call",
    "embedded_runtime_start",
    "embedded_runtime_start_and_call",
    "embedded_runtime_stop",
]
