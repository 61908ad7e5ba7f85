"""How long instances wait, which address they use, and what they call each other."""

from __future__ import annotations

import os
import socket

import pytest

from tremula.distributed import network_interface, rendezvous
from tremula.distributed.instances import sync_timeout
from tremula.distributed.missing_ranks import named
from tremula.errors import Error


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("POPDIST_", "OMPI_", "MASTER_", "LOCAL_WORLD", "WORLD_", "GLOO_")):
            monkeypatch.delenv(name)


def test_instances_wait_five_minutes_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sync_timeout() == 300.0
    assert sync_timeout({"target.hostSyncTimeout": "20"}) == 20.0
    monkeypatch.setenv("POPLAR_RUNTIME_OPTIONS", '{"target.hostSyncTimeout": "2.5"}')
    assert sync_timeout({"target.hostSyncTimeout": "20"}) == 2.5
    monkeypatch.setenv("POPLAR_RUNTIME_OPTIONS", '{"target.hostSyncTimeout": 0}')
    assert sync_timeout() > 1e7


@pytest.mark.parametrize("value", ['"soon"', "-1", "null", '"inf"'])
def test_a_time_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("POPLAR_RUNTIME_OPTIONS", f'{{"target.hostSyncTimeout": {value}}}')
    with pytest.raises(Error, match=r"target\.hostSyncTimeout is set to"):
        sync_timeout()


def test_instances_of_one_host_use_the_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    monkeypatch.setenv("MASTER_ADDR", "a-host-that-nobody-knows.invalid")
    assert network_interface.own_address() == "127.0.0.1"


def test_others_use_the_address_from_which_the_meeting_point_is_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("MASTER_ADDR", "10.1.2.3")
    monkeypatch.setenv("MASTER_PORT", "29500")

    class Probe(socket.socket):
        def connect(self, target):
            assert target == ("10.1.2.3", 29500)

        def getsockname(self):
            return ("10.1.2.9", 40000)

    monkeypatch.setattr("socket.socket", Probe)
    assert network_interface.own_address() == "10.1.2.9"


def test_a_loopback_of_a_run_on_several_hosts_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "29500")
    assert network_interface.own_address() is None


@pytest.mark.parametrize(
    ("instances", "text"),
    [([1], "instance 1"), ([1, 2], "instances 1 and 2"), ([0, 2, 5], "instances 0, 2 and 5")],
)
def test_instances_are_named_in_words(instances: list[int], text: str) -> None:
    assert named(instances) == text


def test_a_note_that_nobody_can_hear_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPDIST_NUM_TOTAL_REPLICAS", "2")
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    with socket.socket() as listener:  # a port at which nobody answers
        listener.bind(("127.0.0.1", 0))
        monkeypatch.setenv("MASTER_PORT", str(listener.getsockname()[1]))
        monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
        monkeypatch.setattr(rendezvous, "_NOTE_SECONDS", 0.3)
        rendezvous.write_note("popdist")
    rendezvous.disconnect()
