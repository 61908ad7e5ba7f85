"""The tools that test a device: they take it, do real work, tell measured from modelled, and can fail."""

from __future__ import annotations

import importlib
import json
import re
import socket
import subprocess
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tremula.tools import (
    exchange_test,
    host_sync,
    host_traffic,
    link_peer,
    link_traffic,
    links,
    memory_test,
    power_test,
)

Capture = pytest.CaptureFixture[str]
Holder = Callable[..., "subprocess.Popen[str]"]

#: each tool with options that make it short
SHORT: dict[str, list[str]] = {
    "exchange_test:main": ["--iterations", "2"],
    "exchange_test:main_write": ["--iterations", "2"],
    "flops:main": ["--size", "32", "--seconds", "0.01"],
    "host_sync:main": ["--mark-count", "10"],
    "host_traffic:main": ["--iterations", "10"],
    "link_traffic:main": ["--iterations", "4"],
    "memory_test:main": ["--tiles", "8"],
    "power_test:main": ["--count", "1", "--interval", "0.01"],
}
FAULT = json.dumps({"simulateSOCError.errorList": "IPUSOFTERR", "simulateSOCError.triggerCount": 1})


def main_of(name: str) -> Callable[[list[str]], int]:
    module, function = name.split(":")
    found: Callable[[list[str]], int] = getattr(importlib.import_module(f"tremula.tools.{module}"), function)
    return found


def result(capsys: Capture, name: str, *more: str, code: int = 0) -> dict[str, Any]:
    assert main_of(name)([*SHORT[name], "-j", *more]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("name", SHORT)
def test_they_tell_measured_from_modelled(name: str, capsys: Capture) -> None:
    assert main_of(name)(SHORT[name]) == 0
    shown = capsys.readouterr()
    assert "odelled" in shown.out + shown.err or "measured" in shown.out
    assert "\x1b" not in shown.out
    found = result(capsys, name)
    found = found.get("tile_to_tile", found)
    assert found["virtual"] is True
    assert "modelled" in found


@pytest.mark.parametrize("name", SHORT)
def test_a_device_in_use_is_not_tested(name: str, capsys: Capture, holder: Holder) -> None:
    process = holder()
    assert main_of(name)(SHORT[name]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert f"process {process.pid}" in told.err


@pytest.mark.parametrize("name", SHORT)
def test_a_simulated_fault_makes_them_fail(
    name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GCDA_OPTIONS", FAULT)
    assert main_of(name)(SHORT[name]) == 1
    told = capsys.readouterr().err
    assert "CIUERRVR.IPUSOFTERR error on IPU 0" in told
    assert "Traceback" not in told
    assert main_of(name)(SHORT[name]) == 0  # the next use resets the device


def test_memory(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    found = result(capsys, "memory_test:main", "-d", "4")
    assert (found["result"], found["tiles"]) == ("pass", 8)
    assert found["failing_tiles"] == {"0": [], "1": []}
    wrong = memory_test._wrong

    def forgetful(part: Any, expected: Any) -> list[int]:
        part[3, 5] ^= type(part[3, 5])(1 << 17)
        return wrong(part, expected)

    monkeypatch.setattr(memory_test, "_wrong", forgetful)
    assert result(capsys, "memory_test:main", code=1)["failing_tiles"] == {"0": [3]}
    assert memory_test.main(["--tiles", "8"]) == 1
    assert "failing tiles: 3" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["exchange_test:main", "exchange_test:main_write"])
def test_exchange(name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    found = result(capsys, name)
    assert found["result"] == "pass"
    assert found["modelled"]["GB/s"]["value"] == pytest.approx(1472 * 4 * 1.85, rel=0.01)
    wrong = exchange_test._wrong

    def lossy(received: Any, first: Any) -> list[int]:
        received[7] = 0
        return wrong(received, first)

    monkeypatch.setattr(exchange_test, "_wrong", lossy)
    assert result(capsys, name, code=1)["failing_tiles"] == {"0": [7]}


def test_power(capsys: Capture) -> None:
    assert power_test.main(["--count", "2", "--interval", "0.01", "-d", "1"]) == 0
    head, rule, names, again, *rows = capsys.readouterr().out.splitlines()
    assert head.split("|")[1].strip() == "CARD LEVEL"
    assert [cell.split() for cell in names.strip(" |").split("|")] == [
        ["XDPE132G5C"],
        ["B_COL0:1", "B_COL1:1", "B_IN:1", "B_MID:1", "B_OUT:1"],
        ["1:PVT0", "1:PVT1", "1:PVT2", "1:PVTE", "CLOCK"],
    ]
    assert len({len(line) for line in (head, rule, names, again, *rows)}) == 1
    watts, board, die = r"\d{3}\.\d\dW", r"(\d{3}C {5}){5}", r"(\d{3}\.\dC {4}){4}"
    pattern = rf" \| 000\d: {watts}  {watts}  T{watts}  \| {board}\| {die}1850MHz  \|"
    assert all(re.fullmatch(pattern, row) for row in rows)
    assert rows[0].split()[2:5] == ["046.15W", "143.50W", "T189.65W"]  # the neighbour is idle


def test_host_traffic(capsys: Capture) -> None:
    found = result(capsys, "host_traffic:main", "-d", "6")
    assert found["configuration"] == {
        "number_of_ipus": 4,
        "tile_transfers_enabled": True,
        "host_transfers_enabled": True,
        "tiles_per_ipu": 32,
        "transfer_size_64byte_blocks": 4,
        "iterations": 10,
    }
    ways = found["repeat_0"]
    assert set(ways) == set(host_traffic._WAYS)
    for values in ways.values():
        assert values["host_data_transferred_bytes"] == 4 * 32 * 4 * 64 * 10
        assert values["host_transfer_speed_gbps"] > 0
        assert values["tile_transfer_speed_gbps"] > 0
    assert host_traffic.main(["--transfer-size", "99999999"]) == 1


def test_ipu_traffic(capsys: Capture) -> None:
    found = result(capsys, "link_traffic:main", "--device0", "2", "--device1", "3")["tile_to_tile"]
    assert (found["device0"], found["device1"], found["errors"]) == (2, 3, 0)
    assert found["kbytes_transferred"] == 2 * 4 * 64
    assert found["gbps"] == pytest.approx(found["measured"]["Gbit/s, both directions"])
    (board,) = found["boards"].values()
    assert board["device_ids"] == [2, 3]
    assert link_traffic.main(["--all-links", "--iterations", "1"]) == 0
    assert capsys.readouterr().out.count("Result: Pass") == 4
    assert link_traffic.main(["--single-ipu", "--iterations", "1"]) == 0


def test_links_between_racks(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert link_traffic.main_gateway(["--iterations", "1"]) == 1
    assert "one rack" in capsys.readouterr().err
    monkeypatch.setenv("TREMULA_SYSTEM", "bow-pod128")
    assert link_traffic.main_gateway(["--iterations", "1", "-j"]) == 0
    found = json.loads(capsys.readouterr().out)["gw_links"]
    assert (found["device0"], found["device1"], found["errors"]) == (0, 64, 0)


def test_a_block_that_changes_on_its_way_is_noticed() -> None:
    here, there = socket.socketpair()

    def liar() -> None:
        head = memoryview(bytearray(link_peer.HEAD.size))
        link_peer.receive_into(there, head)
        size, count = link_peer.HEAD.unpack(head)
        block = memoryview(bytearray(size))
        for number in range(count):
            link_peer.receive_into(there, block)
            reply = bytearray(link_peer.block_of(number, size, 2))
            reply[-1] ^= number & 1
            there.sendall(reply)
        there.sendall(link_peer.VERDICT.pack(0))

    thread = threading.Thread(target=liar)
    thread.start()
    assert link_peer.exchange(here, 5, 1024) == 2
    thread.join()
    here.close()
    there.close()


def test_a_peer_that_ends_is_an_explained_failure(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> int:
        raise ConnectionError("the other end of the link ended at block 3")

    monkeypatch.setattr(link_traffic, "exchange", gone)
    assert link_traffic.main([]) == 1
    assert capsys.readouterr().err == "gc-iputraffictest: the other end of the link ended at block 3\n"


def test_sync_latency(capsys: Capture) -> None:
    found = result(capsys, "host_sync:main")
    assert found["result"] == "pass"
    assert found["time_to_sync_us"] > 0
    assert {"ipu_id", "sync_mode", "hsp", "delay_cycles", "num_delays", "iterations"} <= set(found)
    assert host_sync.main(["--mark-count", "10", "--hsp", "both"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[0] == "o Using device Id - 0"
    assert shown.out.splitlines()[-1] == "o Result - Pass"
    assert "--hsp both has no effect here" in shown.err
    assert host_sync.main(["--delay-cycles", "21"]) == 2


def test_links(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert links.main(["-j"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["num ipus"], found["overall result"], found["training fails"]) == (4, "passed", 0)
    pairs = {(each["from pcie id"], each["to pcie id"]): each["channels"] for each in found["ipu to ipu"]}
    assert {pair: len(channels) for pair, channels in pairs.items()} == {
        (0, 1): 2, (2, 3): 2, (0, 2): 2, (1, 3): 2,
    }  # fmt: skip
    assert pairs[0, 1][0]["channel"] == {
        "from": "NLC_E_0A", "to": "NLC_W_1A", "status": "passed", "gen": 4, "lanes": 8,
    }  # fmt: skip
    monkeypatch.setenv(
        "GCDA_OPTIONS", '{"simulateSOCError.errorList": "HOST_LINK_DOWN", "simulateSOCError.triggerCount": 3}'
    )
    assert links.main(["-j"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["overall result"], found["training fails"]) == ("failed", 1)
    assert links.main([]) == 0


def test_links_are_tried_when_nobody_uses_them(capsys: Capture, holder: Holder) -> None:
    process = holder()
    assert links.main([]) == 1
    assert f"process {process.pid}" in capsys.readouterr().err


def test_flops(capsys: Capture) -> None:
    found = result(capsys, "flops:main", "--precision", "single")
    assert found["precision"] == "fp32"
    assert found["flops"] == pytest.approx(1e9 * found["measured"]["GFLOP/s"])
    assert found["modelled"]["GFLOP/s"]["value"] == pytest.approx(87_100, rel=0.01)
