"""The store of a run on one host: it behaves as torch's stores do, for instances that know its token."""

from __future__ import annotations

import datetime
import json
import os
import socket
import threading
from collections.abc import Iterator

import pytest
import torch
from torch._C._distributed_c10d import HashStore, PrefixStore, ProcessGroupGloo, Store

from tremula.distributed import local_store
from tremula.distributed.local_store import LocalStore
from tremula.distributed.local_store_server import LocalStoreServer


@pytest.fixture
def server() -> Iterator[LocalStoreServer]:
    found = LocalStoreServer()
    yield found
    found.close()


def story(of: Store) -> list[object]:
    """What a store answers to a number of requests."""
    store = PrefixStore("story", of)
    store.set("text", "déjà\nvu")
    return [
        store.get("text"),
        store.compare_set("place", "", "first"),
        store.compare_set("place", "", "second"),
        store.compare_set("place", "first", "third"),
        store.add("number", 3),
        store.add("number", -1),
        store.check(["text", "number"]),
        store.check(["text", "nothing"]),
        store.delete_key("text"),
        store.delete_key("text"),
        store.check(["text"]),
    ]


def test_it_answers_as_torchs_stores_do(server: LocalStoreServer) -> None:
    assert story(LocalStore(server.address, 10.0)) == story(HashStore())
    assert LocalStore(server.address, 10.0).num_keys() == 2
    assert server.peek("story/place") == b"third"


def test_a_value_that_is_not_there_is_waited_for(server: LocalStoreServer) -> None:
    one, other = LocalStore(server.address, 60.0), LocalStore(server.address, 60.0)
    threading.Timer(0.1, other.set, ("late", b"\x00\xff")).start()
    assert one.get("late") == b"\x00\xff"


def test_the_wait_has_an_end(server: LocalStoreServer) -> None:
    whole = LocalStore(server.address, 60.0)
    store = PrefixStore("run", whole)
    store.set_timeout(datetime.timedelta(seconds=0.05))
    with pytest.raises(RuntimeError, match=r"no value of run/never within 0\.05 s"):
        store.get("never")


def test_gloo_meets_in_it(server: LocalStoreServer) -> None:
    stores = [LocalStore(server.address, 60.0) for _ in range(2)]
    tensors = [torch.tensor([1.0]), torch.tensor([2.0])]

    def talk(rank: int) -> None:
        options = ProcessGroupGloo._Options()
        options._devices = [ProcessGroupGloo.create_device(hostname="127.0.0.1")]
        group = ProcessGroupGloo(PrefixStore("gloo", stores[rank]), rank, 2, options)
        group.allreduce([tensors[rank]]).wait()

    threads = [threading.Thread(target=talk, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tensors == [torch.tensor([3.0])] * 2


def test_without_the_token_nobody_is_answered(server: LocalStoreServer) -> None:
    port = server.address.partition(":")[0]
    with pytest.raises(RuntimeError, match="does not answer"):
        LocalStore(f"{port}:{'0' * 32}", 10.0)
    with pytest.raises(RuntimeError, match="does not answer"):
        LocalStore(f"{port}:", 10.0)


@pytest.mark.parametrize(
    "line",
    [b"no JSON\n", b'["format"]\n', b'["set"]\n', b"7\n", b'["set", 1, 2]\n', b"[" * 100_000 + b"\n", b""],
)
def test_what_is_no_request_ends_the_connection_and_nothing_else(
    server: LocalStoreServer, line: bytes
) -> None:
    port, token = server.address.split(":")
    with socket.create_connection(("127.0.0.1", int(port)), timeout=30) as client:
        client.sendall(json.dumps(token).encode() + b"\n" + line)
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
    LocalStore(server.address, 10.0).set("still", "here")
    assert server.peek("still") == b"here"


def test_an_interrupted_request_does_not_shift_the_answers(
    server: LocalStoreServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(server.address, 10.0)
    store.set("key", "value")
    asked = store._connect

    class Interrupted:
        def readline(self) -> bytes:
            raise KeyboardInterrupt

        def close(self) -> None:
            pass

    with monkeypatch.context() as patch:
        patch.setattr(store, "_connect", lambda: (asked()[0], Interrupted()))
        with pytest.raises(KeyboardInterrupt):
            store.add("number", 5)
    assert store.get("key") == b"value"


def test_a_launcher_that_is_gone_is_an_error(server: LocalStoreServer) -> None:
    with pytest.raises(RuntimeError, match="does not answer"):
        LocalStore("1:token", 1.0)
    with pytest.raises(RuntimeError, match="does not answer"):
        LocalStore("no address", 1.0)


def test_a_forked_process_has_a_connection_of_its_own(server: LocalStoreServer) -> None:
    store = LocalStore(server.address, 10.0)
    store.set("key", "value")
    before = store._connect()[0]
    # what a child finds: a connection that another process made
    assert store._connection is not None
    store._connection = (os.getpid() + 1, *store._connection[1:])
    assert store._connect()[0] is not before
    assert store.get("key") == b"value"


def test_a_value_that_is_too_long_is_refused(
    server: LocalStoreServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_store, "LONGEST_REQUEST", 100)
    with pytest.raises(RuntimeError, match="too many"):
        LocalStore(server.address, 10.0).set("key", "x" * 100)
