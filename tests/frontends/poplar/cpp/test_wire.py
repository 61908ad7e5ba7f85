"""Bytes that no C++ library of ours would send: each is refused with an error of the wire, and nothing is made."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.frontends.poplar.cpp import allowed, blocks, wire
from tremula.frontends.poplar.cpp.server import Server
from tremula.frontends.poplar.cpp.session import Session
from tremula.frontends.poplar.cpp.values import Decoder, write
from tremula.frontends.poplar.errors import PoplarError


@pytest.fixture
def link() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def read(data: bytes) -> object:
    reader = wire.Reader(memoryview(data))
    found = reader.value()
    reader.end()
    return found


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(PLAIN)
def test_plain_values_come_back(value: object) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        writer = wire.Writer()
        write(Session(ours), writer, value)
    assert read(bytes(writer.data)) == value


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_an_error(data: bytes) -> None:
    with contextlib.suppress(wire.WireError):
        read(data)


def frames(seed: int) -> bytes:
    """A request with one change at a random place."""
    rng = random.Random(seed)
    writer = wire.Writer()
    writer.begin_list(5)
    for text in ("call", "main.cpp:1", "popops", "add"):
        writer.text(text)
    writer.begin_list(2)
    writer.reference("g", 1)
    writer.tensor(wire.TensorParts(1, 13, (2, 3), 0, (12, 4), None))
    data = bytearray(writer.data)
    data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_requests_are_answered_with_an_error(
    link: tuple[socket.socket, socket.socket], seed: int
) -> None:
    ours, theirs = link
    Server(ours).serve("Q", memoryview(frames(seed)))
    kind, frame = wire.receive(theirs)
    changes, name, message = read(bytes(frame))  # type: ignore[misc]
    assert (kind, changes) == ("X", [])
    assert name.endswith("error")
    assert message


def test_a_frame_of_an_impossible_size_is_refused_before_it_is_read(
    link: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = link
    theirs.sendall(struct.pack("<QB", 1 << 60, ord("Q")))
    with pytest.raises(wire.WireError, match="largest"):
        wire.receive(ours)


def test_nesting_has_an_end() -> None:
    with pytest.raises(wire.WireError, match="deep"):
        read(b"l\1\0\0\0" * 100 + b"N")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"), ("builtins", "eval"), ("subprocess", "run"), ("tremula.cli.main", "main"),
        ("poplar.os", "system"), ("popops", "_private"), ("popops", "np.load"), ("poplar", "__loader__.load_module"),
        ("popops", "no_such_function"), ("pva", "os.system"),
    ],
)  # fmt: skip
def test_only_public_functions_of_the_libraries_can_be_named(module: str, name: str) -> None:
    with pytest.raises(PoplarError):
        allowed.function(module, name)


def test_attributes_of_other_objects_and_private_ones_are_refused() -> None:
    for owner, name in (
        (object(), "__class__"),
        ("text", "format"),
        (allowed.shim().Interval(0, 1), "_begin"),
    ):
        with pytest.raises(PoplarError):
            allowed.attribute(owner, name)


def test_tensors_outside_the_memory_of_their_graph_are_refused(
    link: tuple[socket.socket, socket.socket],
) -> None:
    session = Session(link[0])
    poplar = allowed.shim()
    graph = poplar.Graph(poplar.Target.createIPUTarget(1, "ipu2"))
    number = session.add_graph(graph)
    graph.addVariable(poplar.FLOAT, [4])
    fits = wire.TensorParts(number, 13, (4,), 0, (4,), None)
    assert Decoder(session).value(fits).numElements() == 4
    addresses = np.array([0, graph.memory.size], dtype=np.int64)
    for parts in (
        wire.TensorParts(number, 13, (5,), 0, (4,), None),
        wire.TensorParts(number, 13, (2,), 0, (-4,), None),
        wire.TensorParts(number, 13, (2,), 0, (), addresses),
        wire.TensorParts(number, 200, (2,), 0, (4,), None),
        wire.TensorParts(number + 7, 13, (2,), 0, (4,), None),
    ):
        with pytest.raises(Error):
            Decoder(session).value(parts)


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_columns_outside_of_memory_and_tiles_are_refused(link: tuple[socket.socket, socket.socket]) -> None:
    session = Session(link[0])
    poplar = allowed.shim()
    graph = poplar.Graph(poplar.Target.createIPUTarget(1, "ipu2"))
    session.add_graph(graph)
    empty = {
        "variables": [ints(), ints(), ints(), ints(), [], []], "initial": [], "tiles": [ints()] * 4,
        "compute sets": [], "vertices": [], "beside vertices": [],
    }  # fmt: skip
    decoder = Decoder(session)
    blocks.apply(
        graph, {**empty, "variables": [ints(13), ints(1), ints(8), ints(0), ["v"], ["m:1"]]}, decoder
    )
    blocks.apply(graph, {**empty, "tiles": [ints(0), ints(8), ints(4), ints(3)]}, decoder)
    assert graph.tile_mapping(view(graph))[2].tolist() == [3]
    for tiles in (
        [ints(0), ints(9), ints(4), ints(0)],
        [ints(-4), ints(1), ints(4), ints(0)],
        [ints(0), ints(8), ints(4), ints(5000)],
        [ints(0), ints(1 << 60), ints(4), ints(0)],
        [ints(0), ints(8), ints(4), ints()],
    ):
        with pytest.raises(wire.WireError):
            blocks.apply(graph, {**empty, "tiles": tiles}, decoder)
    with pytest.raises(wire.WireError):
        blocks.apply(
            graph, {**empty, "variables": [ints(99), ints(0), ints(), ints(0), ["v"], [""]]}, decoder
        )


def view(graph: object) -> object:
    poplar = allowed.shim()
    return poplar.Tensor(graph, poplar.FLOAT, (8,), 0, (4,))
