"""Tracepoints: spans and moments of the calling thread."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable
from typing import Any

from tremula.trace import points, writer
from tremula.trace.channels import Channel


class Tracepoint(points.Span):
    """A span of time: `with Tracepoint(channel, label[, metadata]):`."""

    __slots__ = ()

    begin = staticmethod(points.begin)
    end = staticmethod(points.end)
    event = staticmethod(points.moment)


class ThreadName:
    """Names the calling thread in the trace."""

    def __init__(self, name: str) -> None:
        points.name_thread(str(name))


def createJsonMetadata(content: Any = None, **items: Any) -> str:
    """Metadata for a tracepoint: the argument as JSON. A text that is JSON is used unchanged."""
    if items:
        content = {**(content or {}), **items}
    if isinstance(content, str):
        try:
            json.loads(content)
            return content
        except ValueError:
            return json.dumps(content)
    return json.dumps({} if content is None else content, default=str)


def instrument_fn(channel: Channel) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: each call of the function is a span with its name."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        return _instrumented(function, channel, getattr(function, "__qualname__", repr(function)))

    return decorate


def instrument(obj: Any, methods: Iterable[str], channel: Channel) -> None:
    """Make each call of the named methods of an object, or of a class, a span."""
    owner = obj.__name__ if isinstance(obj, type) else type(obj).__name__
    for name in [methods] if isinstance(methods, str) else methods:
        method, label = getattr(obj, name), f"{owner}.{name}"
        wrapped: Any
        if isinstance(obj, type) or inspect.iscoroutinefunction(method):
            wrapped = _instrumented(method, channel, label)
            if type(inspect.getattr_static(obj, name)) in (staticmethod, classmethod):
                wrapped = staticmethod(wrapped)  # what a class gives is bound to it already
        else:
            wrapped = points.InstrumentedMethod(method, channel, label)
        setattr(obj, name, wrapped)


def _instrumented(function: Callable[..., Any], channel: Channel, label: str) -> Callable[..., Any]:
    if not inspect.iscoroutinefunction(function):
        return points.instrumented(function, channel, label)

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        with points.Span(channel, label):
            return await function(*args, **kwargs)

    return call


def getCurrentTraceFilename() -> str:
    """The file that this process writes; an empty text if it writes none."""
    return writer.current_file()


def closeTrace() -> None:
    """Complete the file; nothing is recorded afterwards."""
    writer.close()
