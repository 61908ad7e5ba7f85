"""gc-info, gc-inventory and gc-reset: devices, their attributes, and a device as if it was new."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from tremula.machine.attach import Attachment
from tremula.machine.occupancy import current_occupancy
from tremula.tools import device_list, info, reset, vipu

Capture = pytest.CaptureFixture[str]
Holder = Callable[..., "subprocess.Popen[str]"]


def out(capsys: Capture, *arguments: str) -> str:
    assert info.main(list(arguments)) == 0
    return capsys.readouterr().out


def test_the_list_of_devices(capsys: Capture) -> None:
    assert out(capsys, "-l").splitlines() == [
        "Graphcore device listing:",
        "Partition: p4 [active]",
        "-+- Id: [0], target: [Fabric], IPU-M host: [192.0.2.1], IPU#: [3]",
        "-+- Id: [1], target: [Fabric], IPU-M host: [192.0.2.1], IPU#: [2]",
        "-+- Id: [2], target: [Fabric], IPU-M host: [192.0.2.1], IPU#: [1]",
        "-+- Id: [3], target: [Fabric], IPU-M host: [192.0.2.1], IPU#: [0]",
        "-+- Id: [4], target: [Multi IPU]",
        " |--- Id: [0], DNC Id: [0], IPU-M host: [192.0.2.1], IPU#: [3]",
        " |--- Id: [1], DNC Id: [1], IPU-M host: [192.0.2.1], IPU#: [2]",
        "-+- Id: [5], target: [Multi IPU]",
        " |--- Id: [2], DNC Id: [0], IPU-M host: [192.0.2.1], IPU#: [1]",
        " |--- Id: [3], DNC Id: [1], IPU-M host: [192.0.2.1], IPU#: [0]",
        "-+- Id: [6], target: [Multi IPU]",
        " |--- Id: [0], DNC Id: [0], IPU-M host: [192.0.2.1], IPU#: [3]",
        " |--- Id: [1], DNC Id: [1], IPU-M host: [192.0.2.1], IPU#: [2]",
        " |--- Id: [2], DNC Id: [2], IPU-M host: [192.0.2.1], IPU#: [1]",
        " |--- Id: [3], DNC Id: [3], IPU-M host: [192.0.2.1], IPU#: [0]",
    ]


def test_cards_are_listed_by_their_slot(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_SYSTEM", "c2")
    lines = out(capsys, "--list-devices").splitlines()
    assert lines[2] == "-+- Id: [0], type: [PCIe], PCI Domain: [0000:1a:00.0]"
    assert lines[5] == " |--- PCIe Id: [0], DNC Id: [0], PCI Domain: [0000:1a:00.0]"


def test_what_cannot_be_taken_is_not_listed(capsys: Capture) -> None:
    vipu.main(["create", "partition", "whole", "--size", "2"])
    capsys.readouterr()
    lines = out(capsys, "-l", "--all-partitions").splitlines()
    assert [line for line in lines if line.startswith("-+-")] == ["-+- Id: [2], target: [Multi IPU]"]


def test_device_info_while_it_is_in_use(capsys: Capture, holder: Holder) -> None:
    process = holder()
    lines = out(capsys, "--device-info", "-d", "0").splitlines()
    assert lines[:3] == ["Device Info:", "  id: 0", "  target: Fabric"]
    shown = dict(line.strip().split(": ", 1) for line in lines[1:])
    assert shown["user process id"] == str(process.pid)
    assert shown["user executable"] == "python"
    assert shown["clock"] == "1850MHz"
    assert shown["remote buffers supported"] == "1"
    assert shown["virtual"] == "true"
    assert json.loads(out(capsys, "-i", "-d", "0", "-j"))["user process id"] == str(process.pid)


def test_a_device_of_two(capsys: Capture) -> None:
    lines = out(capsys, "-i", "-d", "5").splitlines()
    assert lines[1:4] == ["  id: 5", "  target: Multi IPU", "  number of ipus: 2"]
    assert [line for line in lines if line.startswith("IPU ")] == ["IPU 2:", "IPU 3:"]
    assert [ipu["id"] for ipu in json.loads(out(capsys, "-i", "-d", "5", "-j"))["ipus"]] == ["2", "3"]


@pytest.mark.parametrize(
    ("option", "answer"), [("--ipu-arch", "ipu2"), ("--tile-clock-speed", "1850MHz"), ("--ipu-count", "4")]
)
def test_short_answers(option: str, answer: str, capsys: Capture) -> None:
    assert out(capsys, option, "-d", "6") == f"{answer}\n"


def test_the_overview_of_tiles(capsys: Capture, holder: Holder) -> None:
    lines = out(capsys, "-d", "0", "--tile-overview").splitlines()
    assert len(lines) == 2 + 1472 // 4 // 16
    assert lines[2] == "  0 " + " ".join(["...."] * 16)
    holder()
    lines = out(capsys, "-d", "0", "--tile-overview").splitlines()
    assert set(lines[2][4:]) <= set("x: ")
    assert lines[-1] == "fullest tile: 300,000 of 638,976 bytes (47%), modelled"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--dump-mem", "0", "0x4c000", "64"],
        ["--tile-status", "-", "--context", "SU", "--register", "PC"],
        ["--xb-status"],
        ["--gsp-status"],
        ["--pci-status"],
    ],
)
def test_what_a_virtual_ipu_cannot_show(arguments: list[str], capsys: Capture) -> None:
    assert info.main(["-d", "0", *arguments]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "virtual IPU" in told.err


def test_a_device_that_is_not_there(capsys: Capture) -> None:
    assert info.main(["-i", "-d", "7"]) == 1
    assert "There is no device 7" in capsys.readouterr().err
    assert info.main(["-i"]) == 1
    assert "-d" in capsys.readouterr().err


def test_inventory(capsys: Capture, holder: Holder) -> None:
    process = holder()
    assert device_list.main(["-j"]) == 0
    devices = json.loads(capsys.readouterr().out)["devices"]
    assert len(devices) == 4
    assert devices[0]["remote buffers"] == "1"
    assert devices[0]["user process id"] == str(process.pid)
    assert all(isinstance(value, str) for device in devices for value in device.values())
    assert device_list.main([]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["Device 0:", "  id: 0"]


def test_a_reset_clears_the_counters(capsys: Capture) -> None:
    held = Attachment(1, device_id=0, hardware=True)
    held.attach()
    assert held.meter is not None
    held.meter.called(0.1, samples=1)
    held.detach()
    occupancy = current_occupancy()
    assert occupancy is not None
    before = occupancy.counters.read(0)
    assert before is not None
    assert before.calls == 1
    assert reset.main(["-d", "0"]) == 0
    assert capsys.readouterr().out == "Reset of IPU 0 done.\n"
    after = occupancy.counters.read(0)
    assert after is not None
    assert (after.calls, after.resets) == (0, before.resets + 1)


def test_a_device_in_use_is_not_reset(capsys: Capture, holder: Holder) -> None:
    process = holder(ipus=2)
    assert reset.main(["-d", "6"]) == 1
    told = capsys.readouterr().err
    assert f"process {process.pid}" in told
    assert "train.py" in told
    assert reset.main(["-d", "2"]) == 0
    assert reset.main([]) == 1
