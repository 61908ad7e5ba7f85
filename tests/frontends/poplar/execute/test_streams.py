"""Streams, remote buffers and tensors with handles: what crosses between host and device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tremula.frontends.poplar.errors import (
    ApplicationRuntimeError,
    NoSuchStream,
    StreamConnectionError,
    TensorIOStateError,
)
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program import programs as p
from tremula.frontends.poplar.program.copies import make_copy
from tremula.frontends.poplar.program.endpoints import DataStream, RemoteBuffer
from tremula.frontends.poplar.target import TargetFacts, TargetKind
from tremula.frontends.poplar.types import FLOAT, HALF, INT, UNSIGNED_INT

from ..conftest import placed, started, value_of


def as_bytes(array: np.ndarray) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8))


def echo(graph: Graph, type: Any = INT, elements: int = 4, *, replicated: bool = True) -> p.Program:
    """A program that sends what it gets back."""
    data = placed(graph, type, (elements,), "data")
    to = graph.add_stream(DataStream("in", type, elements, True, replicated))
    back = graph.add_stream(DataStream("out", type, elements, False))
    return p.Sequence_(make_copy(to, data), make_copy(data, back))


def test_a_circular_buffer_goes_on_from_run_to_run(graph: Graph) -> None:
    engine = started(graph, p.Repeat(2, echo(graph)))
    source, found = np.arange(14, dtype=np.int32), np.zeros(8, np.int32)
    engine.connect_ring("in", as_bytes(source))
    engine.connect_ring("out", as_bytes(found))
    engine.run()
    assert found.tolist() == list(range(8))
    engine.run()  # the last two elements are not a whole transfer
    assert found.tolist() == [8, 9, 10, 11, 0, 1, 2, 3]
    source += 100  # a connected buffer is not copied
    engine.run()
    assert found.tolist() == list(range(104, 112))


@pytest.mark.parametrize("accurate", [False, True])
def test_half_is_half_at_the_host(accurate: bool) -> None:
    graph = Graph(TargetFacts(TargetKind.IPU_MODEL, tiles_per_ipu=2, accurate_half=accurate))
    engine = started(graph, echo(graph, HALF))
    source, found = np.array([1, 0.1, 3, 65504], np.float16), np.zeros(4, np.float16)
    engine.connect_ring("in", as_bytes(source))
    engine.connect_ring("out", as_bytes(found))
    engine.run()
    assert found.tolist() == source.tolist()


def test_a_stream_that_is_not_connected_is_named(graph: Graph) -> None:
    engine = started(graph, echo(graph))
    with pytest.raises(
        StreamConnectionError, match=r"stream 'in', used by the copy at test_streams.py:[0-9]+, is not"
    ):
        engine.run()
    with pytest.raises(NoSuchStream, match="there is no stream 'inn'; those of the graph: in, out"):
        engine.connect_ring("inn", memoryview(b""))
    with pytest.raises(StreamConnectionError, match="carries 16 bytes in each transfer"):
        engine.connect_ring("in", memoryview(b"too short"))
    with pytest.raises(StreamConnectionError, match="cannot be written"):
        engine.connect_ring("out", memoryview(bytes(16)))


class Recorder:
    """A callback that says what it is asked."""

    def __init__(self, ahead: int) -> None:
        self.said: list[str] = []
        self.ahead = ahead
        self.next = 0

    def _fill(self, buffer: memoryview) -> None:
        np.frombuffer(buffer, np.int32)[...] = self.next
        self.next += 1

    def fetch(self, buffer: memoryview) -> None:
        self.said.append("fetch")
        self._fill(buffer)

    def complete(self) -> None:
        self.said.append("complete")

    def prefetch(self, buffer: memoryview) -> bool:
        self.said.append("prefetch")
        if not self.ahead:
            return False
        self.ahead -= 1
        self._fill(buffer)
        return True

    def invalidate(self) -> None:
        self.said.append("invalidate")


def test_callbacks_fetch_ahead_when_they_can(graph: Graph) -> None:
    engine = started(graph, echo(graph))
    found = np.zeros(4, np.int32)
    engine.connect_ring("out", as_bytes(found))
    callback = Recorder(ahead=2)
    engine.connect_callback("in", callback)
    seen = []
    for _ in range(4):
        engine.run()
        seen.append(int(found[0]))
    assert seen == [0, 1, 2, 3]
    ahead, asked = ["complete", "prefetch"], ["fetch", "complete", "prefetch"]
    assert callback.said == [*asked, *ahead, *ahead, *asked]
    callback.ahead = 1
    engine.run()
    engine.connect_callback("in", Recorder(ahead=0))
    assert callback.said[-1] == "invalidate"


def test_prefetching_can_be_turned_off(graph: Graph) -> None:
    engine = started(graph, echo(graph), options={"exchange.enablePrefetch": "false"})
    engine.connect_ring("out", as_bytes(np.zeros(4, np.int32)))
    callback = Recorder(ahead=5)
    engine.connect_callback("in", callback)
    engine.run()
    assert callback.said == ["fetch", "complete"]


@pytest.mark.parametrize("replicated", [True, False])
def test_replicas_have_streams_of_their_own_or_share_one(replicated: bool) -> None:
    graph = Graph(TargetFacts(TargetKind.IPU_MODEL, ipus=3, tiles_per_ipu=2), 3)
    engine = started(graph, echo(graph, elements=1, replicated=replicated))
    source, found = np.arange(6, dtype=np.int32), np.zeros(3, np.int32)
    engine.connect_ring("in", as_bytes(source))
    engine.connect_ring("out", as_bytes(found))
    engine.run()
    engine.run()
    assert found.tolist() == ([3, 4, 5] if replicated else [1, 1, 1])
    apart = [np.full(1, 10 + replica, np.int32) for replica in range(3)]
    for replica, each in enumerate(apart):
        engine.connect_ring("in", as_bytes(each), replica)
    engine.run()
    assert found.tolist() == ([10, 11, 12] if replicated else [10, 10, 10])
    with pytest.raises(StreamConnectionError, match="for replica 3: there are 3"):
        engine.connect_ring("in", as_bytes(apart[0]), 3)


def test_rows_of_remote_buffers_are_chosen_by_a_tensor(graph: Graph) -> None:
    buffer = graph.add_remote_buffer(RemoteBuffer("rows", FLOAT, 3, 5))
    rows, data = placed(graph, UNSIGNED_INT, (2,), "rows"), placed(graph, FLOAT, (2, 3), "data")
    graph.set_initial_value(rows, [4, 1])
    first = placed(graph, FLOAT, (3,))
    engine = started(
        graph, make_copy(buffer, data, [rows]), make_copy(data, buffer, [rows]), make_copy(buffer, first)
    )
    for row in range(5):
        engine.copy_to_remote_buffer("rows", as_bytes(np.full(3, row, np.float32)), row)
    engine.run(0)
    assert value_of(engine, data).tolist() == [[4, 4, 4], [1, 1, 1]]
    engine.run(2)
    assert value_of(engine, first).tolist() == [0, 0, 0]
    graph.set_initial_value(rows, [0, 7])
    engine.load(engine._device)  # buffers outlive a load
    out = np.zeros(3, np.float32)
    engine.copy_from_remote_buffer("rows", as_bytes(out), 3)
    assert out.tolist() == [3, 3, 3]
    engine = started(graph, make_copy(buffer, data, [rows]))
    with pytest.raises(
        ApplicationRuntimeError, match=r"names row 7 of remote buffer 'rows', which\s+has 5 rows"
    ):
        engine.run()
    with pytest.raises(StreamConnectionError, match="has 5 rows, so none with number 5"):
        engine.copy_from_remote_buffer("rows", as_bytes(out), 5)


def test_tensors_with_handles_are_written_and_read(graph: Graph) -> None:
    matrix = placed(graph, FLOAT, (2, 3), "matrix")
    graph.create_host_write("w", matrix.transpose())
    graph.create_host_read("r", matrix)
    engine = started(graph, p.Program())
    engine.write_tensor("w", np.arange(6, dtype=np.float32))
    out = np.zeros((2, 3), np.float32)
    engine.read_tensor("r", out)
    np.testing.assert_array_equal(out, np.arange(6).reshape(3, 2).T)
    with pytest.raises(
        NoSuchStream, match="no tensor has the handle 'x': call createHostWrite; handles so far: w"
    ):
        engine.write_tensor("x", out)
    with pytest.raises(
        TensorIOStateError, match=r"has 24 bytes \(6 elements of type float\); the host's data have 8"
    ):
        engine.write_tensor("w", np.zeros(2, np.float32))


def test_replicas_get_tensors_of_their_own() -> None:
    graph = Graph(TargetFacts(TargetKind.IPU_MODEL, ipus=2, tiles_per_ipu=2), 2)
    data = placed(graph, INT, (2,))
    graph.create_host_write("data", data)
    graph.create_host_read("data", data)
    engine = started(graph, p.Program())
    found = np.zeros(4, np.int32)
    engine.write_tensor("data", np.array([1, 2], np.int32))
    engine.read_tensor("data", found)
    assert found.tolist() == [1, 2, 1, 2]
    engine.write_tensor("data", np.arange(4, dtype=np.int32))
    engine.read_tensor("data", found)
    assert found.tolist() == [0, 1, 2, 3]
    first = np.zeros(2, np.int32)
    engine.read_tensor("data", first)
    assert first.tolist() == [0, 1]
