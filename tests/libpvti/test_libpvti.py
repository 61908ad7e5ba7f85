"""The names of the original library, and what they do."""

from __future__ import annotations

import datetime
import os
import pickle
import re
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import libpvti as pvti
from tremula.errors import Error
from tremula.settings.values import TraceOptions
from tremula.trace import writer
from tremula.trace.reader import TraceFile


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    writer.restart(TraceOptions(directory=str(tmp_path)))
    yield tmp_path
    writer.close()


def trace(folder: Path) -> TraceFile:
    pvti.closeTrace()
    (path,) = folder.glob("*.pvti")
    return TraceFile(path)


def labels(found: TraceFile) -> list[str]:
    return [found.texts[label] for label in found.events.label]


def test_the_file_is_named_as_the_original_names_it(folder: Path) -> None:
    name = pvti.getCurrentTraceFilename()
    assert Path(name).parent == folder
    assert re.fullmatch(
        rf"[A-Z][a-z]{{2}}_[A-Z][a-z]{{2}}_\d\d_\d\d:\d\d:\d\d_\d{{4}}_[A-Za-z0-9+-]+_{os.getpid()}\.pvti",
        Path(name).name,
    )
    pvti.closeTrace()
    assert pvti.getCurrentTraceFilename() == ""


def test_three_channels_are_always_there() -> None:
    assert [name for name, _ in pvti.listTraceChannel()][:3] == ["Drivers", "Poplar", "Framework"]
    assert (pvti.traceDrivers.name, pvti.tracePoplar.name) == ("Drivers", "Poplar")


def test_channels_are_switched_on_and_off(folder: Path) -> None:
    channel = pvti.createTraceChannel("own")
    assert pvti.createTraceChannel("own") is channel
    assert pvti.checkTraceChannel(channel)
    pvti.disableTraceChannel(channel)
    assert not pvti.checkTraceChannel(channel)
    assert ["own", False] in pvti.listTraceChannel()
    with pvti.Tracepoint(channel, "not recorded"):
        pvti.enableTraceChannel(channel)
    with pvti.Tracepoint(channel, "recorded"):
        pass
    assert labels(trace(folder)) == ["recorded"]
    assert not pvti.checkTraceChannel(channel), "nothing is recorded any more"
    with pytest.raises(TypeError, match="trace channel"):
        pvti.enableTraceChannel("own")


def test_tracepoints_with_metadata(folder: Path) -> None:
    channel = pvti.createTraceChannel("own")
    with pvti.Tracepoint(channel, "context", pvti.createJsonMetadata({"epoch": 3})):
        pvti.Tracepoint.event(channel, "event", pvti.createJsonMetadata('{"a": 1}'))
        pvti.Tracepoint.begin(channel, "manual", pvti.createJsonMetadata("plain"))
        pvti.Tracepoint.end(channel, "manual")
    found = trace(folder)
    assert labels(found) == ["context", "manual"]
    assert [found.metadata(each) for each in found.events.metadata] == ['{"epoch": 3}', '"plain"']
    assert found.metadata(found.instants.metadata[0]) == '{"a": 1}'


def test_instrumented_functions_and_methods(folder: Path) -> None:
    channel = pvti.createTraceChannel("own")

    @pvti.instrument_fn(channel)
    def function(value: int, *, more: int = 0) -> int:
        """What it does."""
        return value + more

    @pvti.instrument_fn(channel)
    async def later() -> int:
        return 7

    class Model:
        def __init__(self) -> None:
            self.calls = 0

        def forward(self, value: int) -> int:
            self.calls += 1
            return value * 2

        @staticmethod
        def static() -> str:
            return "s"

        @classmethod
        def of_class(cls) -> str:
            return cls.__name__

    assert (function(1, more=2), function.__doc__) == (3, "What it does.")
    import asyncio

    assert asyncio.run(later()) == 7
    one = Model()
    pvti.instrument(one, ["forward"], channel)
    assert (one.forward(4), one.calls) == (8, 1)
    pvti.instrument(Model, ("static", "of_class"), channel)
    assert (Model.static(), Model().of_class()) == ("s", "Model")
    assert Model().forward(1) == 2, "another object is as it was"
    names = [name.rpartition(">.")[2] for name in labels(trace(folder))]
    assert names == ["function", "later", "Model.forward", "Model.static", "Model.of_class"]


def test_an_error_passes_through(folder: Path) -> None:
    channel = pvti.createTraceChannel("own")
    with pytest.raises(ZeroDivisionError), pvti.Tracepoint(channel, "fails"):
        1 / 0
    assert labels(trace(folder)) == ["fails"]


def test_graphs(folder: Path) -> None:
    graph = pvti.Graph("Accuracy", "%")
    series = graph.addSeries("Training")
    series.add(1)
    series.add(0.5, datetime.datetime.now() - datetime.timedelta(seconds=100))
    pvti.Graph("off", enable=False).addSeries("x").add(3)
    (found,) = trace(folder).counters
    assert (found.graph, found.unit, found.series) == ("Accuracy", "%", "Training")
    assert found.value.tolist() == [0.5, 1.0], "in order of time"
    assert found.time_us[1] - found.time_us[0] == pytest.approx(100e6, rel=0.01)


def test_heat_maps(folder: Path) -> None:
    heat = pvti.HeatmapDouble("weights", [-1.0, 0.0, 1.0], "2^x")
    heat.add([-0.5, 0.5, 0.6])
    heat.add(value for value in (0.1,))
    with pytest.raises(Error, match="edges"):
        pvti.HeatmapDouble("bad", [1.0, 0.0], "")
    (found,) = trace(folder).heatmaps
    assert found.counts.tolist() == [[1, 2], [0, 1]]
    assert pvti.decodeHeatmapData(struct.pack("<3I", 1, 2, 2**32 - 1)) == [1, 2, 2**32 - 1]
    with pytest.raises(ValueError, match="four bytes"):
        pvti.decodeHeatmapData(b"abc")


def test_threads_are_named(folder: Path) -> None:
    channel = pvti.createTraceChannel("own")

    def work() -> None:
        pvti.ThreadName("the worker")
        pvti.Tracepoint.event(channel, "here")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [each.name for each in trace(folder).threads] == ["the worker"]


PROGRAM = """
import libpvti as pvti
channel = pvti.createTraceChannel("own")
with pvti.Tracepoint(channel, "x"): pass
with pvti.Tracepoint(pvti.traceDrivers, "y"): pass
"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (None, None),
        ('{"enable": "false"}', None),
        ('{"enable": false}', None),
        ("{}", ["x", "y"]),
        ('{"enable": true}', ["x", "y"]),
        ("this is not JSON", ["x", "y"]),
        ('{"channels": ["own"]}', ["x"]),
        ('{"channels": []}', ["x", "y"]),
        ('{"channels": 5}', ["x", "y"]),
    ],
)
def test_options_of_the_environment(tmp_path: Path, options: str | None, expected: list[str] | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PVTI_OPTIONS"}
    if options is not None:
        environment["PVTI_OPTIONS"] = options
    subprocess.run([sys.executable, "-c", PROGRAM], env=environment, cwd=tmp_path, check=True)
    found = [labels(TraceFile(path)) for path in tmp_path.iterdir()]
    assert found == ([] if expected is None else [expected])


class Data:
    def __init__(self) -> None:
        self.size = 5

    def load(self, index: int) -> int:
        return self.size + index


def test_an_instrumented_object_can_be_sent_to_another_process(folder: Path) -> None:
    channel = pvti.createTraceChannel("own")
    data = Data()
    pvti.instrument(data, ["load"], channel)
    arrived = pickle.loads(pickle.dumps(data))  # noqa: S301 - made here
    assert (data.load(1), arrived.load(2)) == (6, 7)
    assert labels(trace(folder)) == ["Data.load", "Data.load"]
