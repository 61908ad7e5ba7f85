"""What is told of each virtual IPU: the known keys, honest values, and who uses it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tremula import __version__
from tremula.machine import inventory
from tremula.machine.counters import Usage

Holder = Callable[..., "subprocess.Popen[str]"]

KEYS = (
    "id", "target", "average board temp", "average die temp", "board ipu index", "board serial number", "board type",
    "clock", "config domain", "driver version", "firmware major version", "firmware minor version",
    "firmware patch version", "firmware version", "gateway software version", "graph streaming",
    "hexoatt active size (bytes)", "hexoatt total size (bytes)", "hexopt active size (bytes)",
    "hexopt total size (bytes)", "host link correctable error count", "ipu architecture", "ipu error state",
    "ipu power", "ipu utilisation", "ipu utilisation (session)", "ipuof host", "ipuof partition id",
    "ipuof routing id", "ipuof routing type", "ipuof server version", "link correctable error count", "link speed",
    "link width", "number of replicas", "partition sync type", "pci id", "pcie physical slot",
    "reconfigurable partition", "remote buffers supported", "total board power",
)  # fmt: skip


def all_ipus() -> list[dict[str, str]]:
    return list(inventory.all_attributes(inventory.rooms()))


@pytest.mark.usefixtures("machine")
def test_all_known_keys_are_there() -> None:
    first = all_ipus()[0]
    assert set(KEYS) <= set(first)
    assert all(isinstance(value, str) and value for value in first.values())
    assert not [key for key in first if key.startswith("user")]


@pytest.mark.usefixtures("machine")
def test_it_is_plain_that_they_are_virtual() -> None:
    ipus = all_ipus()
    assert {ipu["virtual"] for ipu in ipus} == {"true"}
    assert {ipu["driver version"] for ipu in ipus} == {f"virtual, tremula {__version__}"}
    assert {ipu["ipuof host"] for ipu in ipus} == {"192.0.2.1"}  # an address that nobody has
    serials = [ipu["board serial number"] for ipu in ipus]
    assert all(re.fullmatch(r"\d{4}\.\d{4}\.\d{7}", serial) for serial in serials)
    assert len(set(serials)) == 2
    assert [ipu["board ipu index"] for ipu in ipus] == ["3", "2", "1", "0"]


@pytest.mark.usefixtures("machine")
def test_units_are_written_as_the_tools_do() -> None:
    first = all_ipus()[0]
    assert re.fullmatch(r"\d+\.\d\dW", first["ipu power"])
    assert re.fullmatch(r"\d+\.\d W", first["total board power"])
    assert re.fullmatch(r"\d+\.\d C", first["average die temp"])
    assert first["clock"] == "1850MHz"
    assert first["ipu utilisation"] == "0.00%"


@pytest.mark.usefixtures("machine")
def test_who_uses_it(holder: Holder) -> None:
    process = holder(ipus=2)
    assert process.stdout is not None
    process.stdout.readline()
    ipus = all_ipus()
    assert [ipu.get("user process id") for ipu in ipus] == [str(process.pid), str(process.pid), None, None]
    assert re.fullmatch(r"\d{8}T\d{6}Z", ipus[0]["process start time"])
    assert ipus[0]["user executable"] == "python"
    process.kill()
    process.wait()
    assert "user process id" not in all_ipus()[0]


@pytest.mark.usefixtures("machine")
def test_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_SYSTEM", "pod16")
    assert len(all_ipus()) == 16
    assert {ipu["ipuof host"] for ipu in all_ipus()} == {f"192.0.2.{n}" for n in (1, 2, 3, 4)}
    monkeypatch.setenv("TREMULA_SYSTEM", "c600")
    (card,) = all_ipus()
    assert (card["target"], card["board type"], card["pci id"]) == ("PCIe", "C600", "0000:1a:00.0")
    assert "ipuof host" not in card
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "0")
    assert all_ipus() == []


def test_programs_as_a_list_of_processes_shows_them() -> None:
    shown = {"train.py --lr 1": "python train.py --lr 1", "gc-powertest -d 0": "gc-powertest -d 0", "": ""}
    for command, text in shown.items():
        assert inventory.program(Usage(command=command)) == text


def test_labels() -> None:
    assert inventory.label("ipu power") == "IpuPower"
    assert inventory.label("ipu utilisation (session)") == "IpuUtilisationSession"
    assert inventory.label("hexopt total size (bytes)") == "HexoptTotalSizeBytes"


@pytest.mark.usefixtures("machine")
def test_neighbours_in_another_partition_warm_the_board(machine: Path, holder: Holder) -> None:
    from tremula.machine import partitions, systems
    from tremula.machine.occupancy import current_occupancy

    system = systems.current()
    assert system is not None
    for name in ("a", "b"):
        partitions.create(system, name, 1)
    process = holder(IPUOF_VIPU_API_PARTITION_ID="a")
    assert process.stdout is not None
    process.stdout.readline()
    busy, idle = current_occupancy("a"), current_occupancy("b")
    assert busy is not None
    assert idle is not None
    (one,), (other,) = inventory.records(busy), inventory.records(idle)
    assert one.board == other.board
    assert (one.usage is None, other.usage is None) == (False, True)
