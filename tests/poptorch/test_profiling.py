"""Channels do nothing without libpvti, and hand everything to it otherwise."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

import poptorch.profiling as profiling


@pytest.fixture
def reload(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def load(options: str | None, library: Any) -> types.ModuleType:
        if options is None:
            monkeypatch.delenv("PVTI_OPTIONS", raising=False)
        else:
            monkeypatch.setenv("PVTI_OPTIONS", options)
        monkeypatch.setitem(sys.modules, "libpvti", library)
        return importlib.reload(profiling)

    yield load
    monkeypatch.undo()
    importlib.reload(profiling)


class FakeLibrary(types.ModuleType):
    def __init__(self) -> None:
        super().__init__("libpvti")
        self.calls: list[Any] = []

    def createTraceChannel(self, name: str) -> str:
        self.calls.append(("channel", name))
        return f"<{name}>"

    def instrument(self, obj: Any, methods: tuple[str, ...], channel: str) -> None:
        self.calls.append(("instrument", methods, channel))

    def Tracepoint(self, channel: str, name: str) -> str:
        self.calls.append(("tracepoint", channel, name))
        return name


@pytest.mark.parametrize(("options", "library"), [(None, FakeLibrary()), ('{"enable":"true"}', None)])
def test_without_options_or_library_nothing_happens(reload: Any, options: Any, library: Any) -> None:
    channel = reload(options, library).Channel("App")
    thing = object()
    assert channel.instrument(thing, "method") is thing
    with channel.tracepoint("work"):
        pass
    assert library is None or library.calls == []


def test_with_the_library_marks_are_made(reload: Any) -> None:
    library = FakeLibrary()
    module = reload('{"enable":"true"}', library)
    thing = object()
    assert module.Channel("App").instrument(thing, "a", "b") is thing
    assert module.Channel("App").tracepoint("work") == "App.work"
    assert library.calls == [
        ("channel", "App"),
        ("instrument", ("a", "b"), "<App>"),
        ("tracepoint", "<App>", "App.work"),
    ]
