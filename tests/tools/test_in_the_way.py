"""No tool crashes: no IPUs, several partitions, a folder that cannot be used, files that make no sense."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tremula.tools import tool, vipu

Capture = pytest.CaptureFixture[str]
#: every tool that needs a device, with a command that asks for one
TOOLS: dict[str, list[str]] = {
    "device_list:main": [],
    "exchange_test:main": [],
    "exchange_test:main_write": [],
    "flops:main": [],
    "host_sync:main": [],
    "host_traffic:main": [],
    "info:main": ["-l"],
    "link_traffic:main": [],
    "link_traffic:main_gateway": [],
    "links:main": [],
    "memory_test:main": [],
    "monitor:main": [],
    "power_test:main": [],
    "reset:main": ["-d", "0"],
    "vipu:main": ["list", "ipu-attrs"],
}


def fails(name: str, capsys: Capture) -> str:
    """Run the tool, which must fail with an explanation; gives what it says."""
    module, function = name.split(":")
    main: Callable[[list[str]], int] = getattr(importlib.import_module(f"tremula.tools.{module}"), function)
    assert main(TOOLS[name]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Traceback" not in shown.err
    assert 1 <= len(shown.err.splitlines()) <= 2
    return shown.err


@pytest.mark.parametrize("name", TOOLS)
def test_no_ipus(name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "0")
    assert "no IPUs" in fails(name, capsys)


@pytest.mark.parametrize("name", [each for each in TOOLS if each != "vipu:main"])
def test_several_partitions_and_none_is_named(name: str, capsys: Capture) -> None:
    vipu.main(["create", "partition", "a", "--size", "1"])
    vipu.main(["create", "partition", "b", "--size", "1"])
    capsys.readouterr()
    assert "IPUOF_VIPU_API_PARTITION_ID" in fails(name, capsys)


@pytest.mark.parametrize("name", TOOLS)
def test_a_list_of_partitions_that_is_none(name: str, capsys: Capture, machine: Path) -> None:
    vipu.main(["create", "partition", "a", "--size", "1"])
    capsys.readouterr()
    (path,) = (machine / "state").rglob("partitions.json")
    path.write_bytes(b'{"partitions": [{"name": "\xff\x00')
    assert "partitions" in fails(name, capsys)


@pytest.mark.parametrize("name", TOOLS)
def test_a_state_folder_that_is_a_file(name: str, capsys: Capture, machine: Path) -> None:
    (machine / "state").write_text("")
    assert "TREMULA_STATE_DIR" in fails(name, capsys)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_state_folder_that_may_not_be_written(capsys: Capture, machine: Path) -> None:
    (machine / "state").mkdir(mode=0o500)
    assert "TREMULA_STATE_DIR" in fails("monitor:main", capsys)


@pytest.mark.parametrize("name", ["monitor:main", "info:main"])
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TREMULA_SYSTEM", "no-such-system"),
        ("TREMULA_VIRTUAL_IPUS", "many"),
        ("TREMULA_VIRTUAL_IPUS", "100000"),
    ],
)
def test_a_wrong_environment(
    name: str, variable: str, value: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    assert fails(name, capsys)


def test_counters_and_faults_that_make_no_sense(capsys: Capture, machine: Path) -> None:
    monitor = importlib.import_module("tremula.tools.monitor")
    assert monitor.main([]) == 0
    (counters,) = (machine / "state").rglob("counters")
    counters.write_bytes(os.urandom(counters.stat().st_size))
    (counters.parent / "faults.json").write_text('{"errors": [], "ipus": ["x"]}')
    capsys.readouterr()
    assert monitor.main([]) == 0
    assert "No attached processes" in capsys.readouterr().out


def test_variables_without_effect_are_told_once(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = importlib.import_module("tremula.tools.monitor")
    monkeypatch.setenv("VIPU_CLI_API_HOST", "10.1.3.101")
    monkeypatch.setenv("GCDA_HSP_POSTED", "1")
    assert monitor.main([]) == 0
    told = capsys.readouterr().err
    assert "VIPU_CLI_API_HOST has no effect here" in told
    assert "GCDA_HSP_POSTED has no effect here" in told
    assert monitor.main([]) == 0
    assert "has no effect" not in capsys.readouterr().err


def test_a_mistake_of_our_own_is_told_in_two_lines(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_given: object) -> int:
        raise ZeroDivisionError("division by zero")

    made = tool.parser("gc-x", "x")
    assert tool.run("gc-x", made, broken, []) == 1
    assert capsys.readouterr().err.splitlines()[0] == "gc-x: ZeroDivisionError: division by zero"
    monkeypatch.setenv("TREMULA_LOG_LEVEL", "DEBUG")
    with pytest.raises(ZeroDivisionError):
        tool.run("gc-x", made, broken, [])
