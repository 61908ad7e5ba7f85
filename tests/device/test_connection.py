"""Which device a program gets, when it holds it and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tremula import log
from tremula.device.connection import DeviceConnection
from tremula.device.settings import Connection, DeviceSettings, DeviceWords
from tremula.errors import Error

WORDS = DeviceWords()


def connection(**settings: object) -> DeviceConnection:
    return DeviceConnection(DeviceSettings("numpyModel", "Scale", **settings), WORDS)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def talkative() -> Iterator[None]:
    with log.levels_restored():
        log.set_level("tremula", "DEBUG")
        yield


@pytest.mark.parametrize(("kind", "at_once"), [(Connection.ALWAYS, True), (Connection.ON_DEMAND, False)])
def test_when_the_device_is_taken(kind: Connection, at_once: bool, capfd: pytest.CaptureFixture[str]) -> None:
    held = connection(connection=kind)
    held.acquire(1)
    assert held.attached is at_once
    held.attach()
    assert held.attached
    assert held.meter is not None
    err = capfd.readouterr().err
    assert "Acquired 1 IPU(s): running on device Id 0." in err
    assert err.count("Attached to device 0") == 1
    held.detach()
    held.detach()
    assert not held.attached


def test_never_taken() -> None:
    held = connection(connection=Connection.NEVER, replicas=64)
    held.acquire(2)
    assert held.ipus_used == 128
    assert not held.attached
    with pytest.raises(Error, match="never attached"):
        held.attach()


def test_a_model_holds_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    held = connection(use_model=True, replicas=3)
    held.acquire(1)
    assert held.attached
    assert held.meter is None
    err = capfd.readouterr().err
    assert "Ipu model: Enabled" in err
    assert "Acquired 3 IPU(s): running on an IPU model" in err


def test_cycles_are_not_counted_on_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Error, match="IPU hardware only"):
        connection(use_model=True, count_cycles=True).acquire(1)
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "0")
    with pytest.raises(Error, match="IPU hardware only"):
        connection(count_cycles=True).acquire(1)
    connection(count_cycles=True, connection=Connection.NEVER).acquire(1)


def test_powers_of_two() -> None:
    with pytest.raises(Error, match="minimum of 4"):
        connection(replicas=3).acquire(1)
    held = connection(replicas=3, round_up=True)
    held.acquire(1)
    assert held.ipus_used == 3
    held.detach()


def test_the_device_that_the_user_named_and_one_that_is_taken() -> None:
    first, second = connection(device_id=2), connection(device_id=2)
    first.acquire(1)
    assert first.meter is not None
    assert first.meter.usage.device_id == 2
    with pytest.raises(Error, match="device 2 is in use"):
        second.acquire(1)
    assert not second.attached
    del first
    second.acquire(1)
    assert second.attached
