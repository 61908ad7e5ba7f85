"""Marks of the user's own in a PopVision system trace.

Marks are recorded through `libpvti`, if that can be imported and PVTI_OPTIONS is set; else a `Channel` does
nothing at all.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from ._logging import logger

_pvti: Any = None
if os.environ.get("PVTI_OPTIONS") is not None:
    try:
        import libpvti as _pvti
    except ImportError as error:
        logger.info("PVTI_OPTIONS is set, but tracepoints are disabled: no libpvti (%s)", error)

#: channels by name: libpvti wants one object per name
_channels: dict[str, Any] = {}


def enabled() -> bool:
    """Whether marks are recorded."""
    return _pvti is not None


class Channel:
    """A named row of marks in the trace.

    Args:
        name: name of the row, and prefix of its marks.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._channel: Any = None
        if _pvti is not None:
            if name not in _channels:
                _channels[name] = _pvti.createTraceChannel(name)
            self._channel = _channels[name]

    def instrument(self, obj: Any, *methods: str) -> Any:
        """Mark each call of the named methods of `obj`. Returns `obj`."""
        if _pvti is not None:
            _pvti.instrument(obj, methods, self._channel)
        return obj

    def tracepoint(self, name: str) -> contextlib.AbstractContextManager[Any]:
        """A context whose duration is marked as `<channel>.<name>`."""
        if _pvti is None:
            return contextlib.nullcontext()
        marked: contextlib.AbstractContextManager[Any] = _pvti.Tracepoint(
            self._channel, f"{self._name}.{name}"
        )
        return marked
