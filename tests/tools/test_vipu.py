"""vipu: partitions are made, listed and removed, in the tables that its users know."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tremula.tools import vipu

Capture = pytest.CaptureFixture[str]
Holder = Callable[..., "subprocess.Popen[str]"]


def run(capsys: Capture, line: str, code: int = 0) -> str:
    assert vipu.main(line.split()) == code
    shown = capsys.readouterr()
    return shown.out if code == 0 else shown.err


def test_an_undivided_system(capsys: Capture) -> None:
    assert run(capsys, "list partitions").splitlines() == [
        " Partition | Cluster | ILDs | GW Routing | ILD Routing | Size | GCDs | State",
        "------------------------------------------------------------------------------",
        " p4        | bow2000 | 1    | DEFAULT    | DNC         | 4    | 1    | ACTIVE",
        "------------------------------------------------------------------------------",
    ]


def test_create_list_get_remove(capsys: Capture) -> None:
    made = run(capsys, "create partition p1 --size 2 --allocation a --reconfigurable")
    assert made == "create partition (p1): success.\n"
    assert " p1        | bow2000 | 1 " in run(capsys, "list partition")
    shown = run(capsys, "get partition p1")
    assert "Reconfigurable     | true" in shown
    assert "PS_ACTIVE" in shown
    assert run(capsys, "reset partition p1") == "reset partition (p1): success.\n"
    assert run(capsys, "remove partition p1") == "remove partition (p1): success.\n"
    assert " p4 " in run(capsys, "list partitions")


def test_the_file_for_programs(capsys: Capture, machine: Path) -> None:
    run(capsys, "create partition two --size 4 --num-gcds 2")
    found = json.loads(run(capsys, "get partition two --gcd 1 --ipuof-configs"))
    assert found["attributes"]["GCD Id"] == "1"
    assert len(found["devices"]) == 2
    files = sorted(path.name for path in (machine / "state").rglob("*_ipuof.conf"))
    assert files == ["two_gcd0_ipuof.conf", "two_gcd1_ipuof.conf"]
    assert "no number 2" in run(capsys, "get partition two --gcd 2 --ipuof-configs", 1)
    run(capsys, "remove partition two")
    assert not list((machine / "state").rglob("*_ipuof.conf"))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("create partition a --size 3", "power of two"),
        ("create partition a --size 8", "has 4 IPUs"),
        ("create partition ../a --size 1", "is not a valid partition name"),
        ("create partition a --size 2 --num-gcds 4", "graph compile domains"),
        ("create partition a --size 2 --reconfigurable --sync-type pod-native", "c2-compatible"),
        ("remove partition none", "There is no partition"),
        ("remove partition p4", "undivided"),
        ("get partition none", "There is no partition"),
    ],
)
def test_refusals(line: str, says: str, capsys: Capture) -> None:
    assert says in run(capsys, line, 1)


def test_wrong_command_lines(capsys: Capture) -> None:
    assert "usage" in run(capsys, "", 2)
    assert "usage" in run(capsys, "list nothing", 2)
    assert "usage" in run(capsys, "create partition a", 2)


def test_a_partition_in_use_stays(capsys: Capture, holder: Holder, monkeypatch: pytest.MonkeyPatch) -> None:
    run(capsys, "create partition busy --size 2 --reconfigurable")
    monkeypatch.setenv("IPUOF_VIPU_API_PARTITION_ID", "busy")
    process = holder()
    assert f"process {process.pid}" in run(capsys, "remove partition busy", 1)
    assert str(process.pid) in run(capsys, "get partition busy")
    assert f"process {process.pid}" in run(capsys, "reset partition busy", 1)
    assert run(capsys, "remove partition busy --force") == "remove partition (busy): success.\n"


def test_allocations_and_attributes(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_SYSTEM", "bow-pod16")
    lines = run(capsys, "list allocations").splitlines()
    assert lines[1] == " Allocation ID | Agents"
    assert lines[3] == " c16           | ag0 ag1 ag2 ag3"
    lines = run(capsys, "list ipu-attrs").splitlines()
    assert lines[2].split("|")[:3] == [" ag0   ", " 3   ", " board ipu index          "]
    assert sum("board type" in line for line in lines) == 16


def test_a_server_that_is_not_there(capsys: Capture) -> None:
    assert run(capsys, "--server-version").startswith("version: ")
    assert vipu.main(["list", "partitions", "-H", "10.1.3.101"]) == 0
    assert "--api-host has no effect here" in capsys.readouterr().err
