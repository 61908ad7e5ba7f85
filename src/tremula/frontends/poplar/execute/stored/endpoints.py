"""Streams, remote buffers, host functions and handles of a graph as plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tremula.checked_json import BadValue
from tremula.frontends.poplar.execute.stored.columns import entries, flag, record, text, whole
from tremula.frontends.poplar.execute.stored.views import ViewTable
from tremula.frontends.poplar.graph.graph import Contents, Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.program.endpoints import DataStream, HostFunction, RemoteBuffer
from tremula.frontends.poplar.types import BY_NAME, Type

_STREAM = ("handle", "type", "elements", "to_device", "replicated", "options")
_BUFFER = ("handle", "type", "elements", "rows", "rearrange_on_host", "optimise_memory")
_MOST = 1 << 40


def encoded(contents: Contents, views: ViewTable) -> dict[str, Any]:
    """All endpoints of a graph."""
    return {
        "streams": [
            {
                **{name: getattr(each, name) for name in _STREAM},
                "type": each.type.name,
                "options": _texts(each.options),
            }
            for each in contents.streams.values()
        ],
        "buffers": [
            {**{name: getattr(each, name) for name in _BUFFER}, "type": each.type.name}
            for each in contents.remote_buffers.values()
        ],
        "functions": [
            {
                "handle": each.handle,
                "inputs": [[kind.name, count] for kind, count in each.inputs],
                "outputs": [[kind.name, count] for kind, count in each.outputs],
            }
            for each in contents.host_functions.values()
        ],
        "writes": [[handle, views.number(view)] for handle, view in contents.host_writes.items()],
        "reads": [[handle, views.number(view)] for handle, view in contents.host_reads.items()],
    }


def _texts(options: dict[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in options.items()}


def decoded(graph: Graph, value: Any, view: Callable[[Any], View]) -> None:
    """Add all endpoints to a graph."""
    given = record(value, "the endpoints", ("streams", "buffers", "functions", "writes", "reads"))
    for each in entries(given["streams"], "streams"):
        stream = record(each, "a stream", _STREAM)
        if type(stream["options"]) is not dict:
            raise BadValue("the options of a stream are not an object")
        graph.add_stream(
            DataStream(
                text(stream["handle"], "a handle"),
                _type(stream["type"]),
                whole(stream["elements"], "elements of a stream", 0, _MOST),
                flag(stream["to_device"], "the way of a stream"),
                flag(stream["replicated"], "a truth value"),
                {str(name): text(option, "an option") for name, option in stream["options"].items()},
            )
        )
    for each in entries(given["buffers"], "remote buffers"):
        buffer = record(each, "a remote buffer", _BUFFER)
        graph.add_remote_buffer(
            RemoteBuffer(
                text(buffer["handle"], "a handle"),
                _type(buffer["type"]),
                whole(buffer["elements"], "elements of a remote buffer", 0, _MOST),
                whole(buffer["rows"], "rows of a remote buffer", 0, _MOST),
                flag(buffer["rearrange_on_host"], "a truth value"),
                flag(buffer["optimise_memory"], "a truth value"),
            )
        )
    for each in entries(given["functions"], "host functions"):
        function = record(each, "a host function", ("handle", "inputs", "outputs"))
        handle = text(function["handle"], "a handle")
        sides = [
            tuple(_operand(one) for one in entries(function[side], side)) for side in ("inputs", "outputs")
        ]
        graph.contents.host_functions[handle] = HostFunction(handle, *sides)
    for key, known in (("writes", graph.contents.host_writes), ("reads", graph.contents.host_reads)):
        for each in entries(given[key], "handles"):
            handle, number = _pair(each)
            known[text(handle, "a handle")] = view(number)


def _operand(value: Any) -> tuple[Type, int]:
    kind, count = _pair(value)
    return _type(kind), whole(count, "elements of an operand", 0, _MOST)


def _pair(value: Any) -> tuple[Any, Any]:
    if type(value) is not list or len(value) != 2:
        raise BadValue("a pair is none")
    return value[0], value[1]


def _type(value: Any) -> Type:
    if type(value) is not str or value not in BY_NAME:
        raise BadValue(f"there is no type {str(value)[:40]!r}")
    return BY_NAME[value]
