"""gcipuinfo: the attributes of IPUs as monitoring programs ask for them, also from inside a program that trains."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gcipuinfo
from tremula.machine.attach import Attachment
from tremula.settings import VARIABLES


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in VARIABLES:
        monkeypatch.delenv(variable.name, raising=False)
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("TREMULA_SYSTEM", "bow2000")
    return tmp_path


def test_devices() -> None:
    found = gcipuinfo.gcipuinfo().getDevices()
    assert [device["id"] for device in found] == ["0", "1", "2", "3"]
    assert int(found[0]["clock"][:-3]) == 1850
    assert all(isinstance(value, str) for device in found for value in device.values())


def test_named_attributes() -> None:
    info = gcipuinfo.gcipuinfo(gcipuinfo.DiscoverActivePartitionIPUs)
    powers = info.getNamedAttributeForAll(gcipuinfo.IpuPower)
    assert [float(power[:-1]) for power in powers] == [46.15] * 4
    assert info.getNamedAttributeForDevice(2, gcipuinfo.BoardType) == "M2000"
    assert info.getNamedAttributeForDevice(2, "no such thing") == "N/A"
    assert info.getNamedAttributeForDevice(99, gcipuinfo.Clock) == "N/A"
    assert info.getAttributesForDevice(1)["id"] == "1"
    assert info.getNumDevices() == 4
    assert gcipuinfo.gcipuinfo.AverageDieTemp == gcipuinfo.AverageDieTemp == "average die temp"
    assert json.loads(info.getDevicesAsJSON())["devices"] == info.getDevices()
    assert json.loads(info.getAttributesForDeviceAsJSON(0))["id"] == "0"


def test_every_attribute_of_a_device_has_a_constant() -> None:
    labels = {
        value for name, value in vars(gcipuinfo).items() if name[0].isupper() and isinstance(value, str)
    }
    ours = {"virtual", "remote buffers"}
    assert set(gcipuinfo.gcipuinfo().getDevices()[0]) - ours <= labels
    assert all(hasattr(gcipuinfo, name) for name in gcipuinfo.__all__)


def test_data_is_kept_until_it_is_updated() -> None:
    kept, fresh = gcipuinfo.gcipuinfo(), gcipuinfo.gcipuinfo()
    fresh.setUpdateMode(True)
    held = Attachment(1, hardware=True)
    held.attach()
    try:
        me = str(os.getpid())
        assert "user process id" not in kept.getDevices()[0]
        assert fresh.getDevices()[0]["user process id"] == me
        assert kept.updateData() is True
        assert kept.getNamedAttributeForDevice(0, gcipuinfo.UserProcessId) == me
    finally:
        held.detach()
    assert "user process id" not in fresh.getDevices()[0]


def test_looking_does_not_let_go_of_the_device() -> None:
    """POSIX locks are dropped when any descriptor of their file is closed; looking must not open one."""
    held = Attachment(1, device_id=0, hardware=True)
    held.attach()
    try:
        info = gcipuinfo.gcipuinfo()
        info.setUpdateMode(True)
        for _ in range(3):
            assert len(info.getDevices()) == 4
        info.checkHealthOfDevices()
        script = "import gcipuinfo; print(gcipuinfo.gcipuinfo().getDevices()[0]['user process id'])"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == str(os.getpid())
    finally:
        held.detach()


def test_health(monkeypatch: pytest.MonkeyPatch) -> None:
    from tremula.errors import RecoverableError
    from tremula.machine import faults

    info = gcipuinfo.gcipuinfo()
    assert info.checkHealthOfDevices() == "{}"
    monkeypatch.setenv(
        "GCDA_OPTIONS", '{"simulateSOCError.errorList": "IPUSOFTERR", "simulateSOCError.triggerCount": 1}'
    )
    injector = faults.injector()
    assert injector is not None
    with pytest.raises(RecoverableError):
        injector.on_use([2])
    assert json.loads(info.checkHealthOfDevices()) == {
        "hosts": {"192.0.2.1": [{"error": "device", "id": "2", "board ipu index": "1", "partition": "p4"}]}
    }
    assert info.getNamedAttributeForDevice(2, gcipuinfo.IpuErrorState) == "IPUSOFTERR"


def test_the_last_event(machine: Path) -> None:
    info = gcipuinfo.gcipuinfo()
    assert info.getLastAppEventRecord() == {}
    (machine / "app_event_record.json").write_text('{"severity": "error", "description": "x\\u001b[2J"}')
    assert info.getLastAppEventRecord(str(machine)) == {"severity": "error", "description": "x·[2J"}
    assert json.loads(info.getLastAppEventRecordAsJSON(str(machine)))[info.keySeverity] == "error"


def test_all_partitions_and_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from tremula.machine import partitions, systems

    system = systems.current()
    assert system is not None
    partitions.create(system, "a", 2)
    partitions.create(system, "b", 1)
    assert gcipuinfo.gcipuinfo().updateData() is False  # which one?
    assert gcipuinfo.gcipuinfo().getDevices() == []
    assert "IPUOF_VIPU_API_PARTITION_ID" in gcipuinfo.gcipuinfo().checkHealthOfDevices()
    assert len(gcipuinfo.gcipuinfo(gcipuinfo.DiscoverAllPartitionIPUs).getDevices()) == 3
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "0")
    none = gcipuinfo.gcipuinfo()
    assert none.updateData() is True
    assert none.getDevices() == []


def test_it_is_quick_to_import() -> None:
    script = "import sys, gcipuinfo\nassert not {'torch', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
