"""gc-monitor: the tables that people and scripts read, JSON, and what it does when something is in the way."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable

import pytest

from tremula.machine.reservation import reserve
from tremula.tools import box_table, monitor, vipu

Capture = pytest.CaptureFixture[str]
Holder = Callable[..., "subprocess.Popen[str]"]

CARD_RULE = (
    "+-------------+--------------------+--------+--------------+----------+------+----+------+-------+"
)
PROCESS_RULE = (
    "+--------+------------------------+--------+------------+----+----------+--------+--------+--------+"
)


def text(capsys: Capture, *arguments: str) -> list[str]:
    assert monitor.main(list(arguments)) == 0
    return capsys.readouterr().out.splitlines()


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_table_of_ipus(capsys: Capture) -> None:
    lines = text(capsys)
    assert lines[0] == f"+{'-' * 15}+{'-' * 80}+"
    assert lines[1] == (
        "|  gc-monitor   |            Partition: p4 (gcd:0) [active] has 4 reconfigurable IPUs            |"
    )
    assert lines[2] == lines[4] == lines[9] == CARD_RULE
    assert lines[3] == (
        "|    IPU-M    |       Serial       |IPU-M SW|Server version|  ICU FW  | Type | ID | IPU# |Routing|"
    )
    rows = [cells(line) for line in lines[5:9]]
    assert [row[6:] for row in rows] == [[str(i), str(3 - i), "DNC"] for i in range(4)]
    assert {row[0] for row in rows} == {"192.0.2.1"}
    assert all(re.fullmatch(r"0001\.000[12]\.9\d{6}", row[1]) for row in rows)
    assert [row[1].split(".")[1] for row in rows] == ["0002", "0002", "0001", "0001"]
    assert lines[10:] == [
        f"+{'-' * 96}+",
        "|                             No attached processes in partition p4                              |",
        f"+{'-' * 96}+",
    ]


def test_a_larger_system_has_a_rule_after_each_machine(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREMULA_SYSTEM", "pod16")
    lines = text(capsys)
    assert lines.count(CARD_RULE) == 2 + 4
    assert {len(line) for line in lines} == {98}
    assert "192.0.2.4" in lines[22]


def test_processes_with_board_values_once_per_board(capsys: Capture, holder: Holder) -> None:
    process = holder(ipus=4)
    lines = text(capsys, "--no-card-info")
    assert lines[0] == f"+{'-' * 55}+{'-' * 24}+{'-' * 17}+"
    assert lines[1] == (
        "|          Attached processes in partition p4           |          IPU           |      Board      |"
    )
    assert lines[2] == lines[4] == lines[7] == lines[10] == PROCESS_RULE
    assert lines[3] == (
        "|  PID   |        Command         |  Time  |    User    | ID |  Clock   |  Temp  |  Temp  | Power  |"
    )
    rows = [cells(lines[n]) for n in (5, 6, 8, 9)]
    assert [row[0] for row in rows] == [str(process.pid)] * 4
    assert all(row[1].startswith("python train.py") for row in rows)
    assert [row[4] for row in rows] == ["0", "1", "2", "3"]
    assert {row[5] for row in rows} == {"1850MHz"}
    assert all(re.fullmatch(r"\d\d\.\d C", row[6]) for row in rows)
    assert all(re.fullmatch(r"\d\d\.\d C", rows[n][7]) for n in (0, 2))
    assert all(re.fullmatch(r"\d+\.\d W", rows[n][8]) for n in (0, 2))
    assert rows[1][7:] == rows[3][7:] == ["", ""]


def test_a_killed_process_is_gone(capsys: Capture, holder: Holder) -> None:
    process = holder()
    assert any(str(process.pid) in line for line in text(capsys))
    process.kill()
    process.wait()
    assert any("No attached processes in partition p4" in line for line in text(capsys))


def test_it_is_as_wide_as_the_terminal(
    capsys: Capture, holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder()
    monkeypatch.setenv("COLUMNS", "163")
    assert {len(line) for line in text(capsys, "--no-card-info")} == {163}
    monkeypatch.setenv("COLUMNS", "80")
    assert {len(line) for line in text(capsys, "--no-card-info")} == {98}


def test_no_escape_codes(capsys: Capture, holder: Holder) -> None:
    holder()
    assert monitor.main([]) == 0
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert "modelled" in shown.err
    assert "virtual" in shown.err


def test_json(capsys: Capture, holder: Holder) -> None:
    process = holder(ipus=2)
    assert monitor.main(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["virtual"] == "true"
    assert "Board power" in found["modelled"]
    assert len(found["cards"]) == 1
    card = found["cards"][0]
    assert (card["IPU-M"], card["Type"]) == ("192.0.2.1", "M2000")
    ipus = card["ipus"]
    assert [ipu["ID"] for ipu in ipus] == ["0", "1", "2", "3"]
    assert [ipu.get("PID") for ipu in ipus] == [str(process.pid), str(process.pid), None, None]
    assert ipus[0]["IPU utilisation"].endswith("%")
    assert float(ipus[0]["IPU utilisation session"][:-1]) > 0
    assert ipus[0]["Modelled cycles"] == "1200000"
    assert ipus[3]["Board power"] == "92.3 W"
    assert ipus[3]["Board power range"] == "64.6 to 120.0 W"
    assert monitor.main(["-j"]) == 0
    assert len(json.loads(capsys.readouterr().out)["cards"]) == 1


def test_all_partitions(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert vipu.main(["create", "partition", "a", "--size", "2", "--reconfigurable"]) == 0
    assert vipu.main(["create", "partition", "b", "--size", "1"]) == 0
    capsys.readouterr()
    assert monitor.main([]) == 1
    assert "IPUOF_VIPU_API_PARTITION_ID" in capsys.readouterr().err
    lines = text(capsys, "--all-partitions")
    titles = [cells(line)[1] for line in lines if "Partition:" in line]
    assert titles == [
        "Partition: a (gcd:0) has 2 reconfigurable IPUs",
        "Partition: b (gcd:0) has 1 IPU",
    ]
    monkeypatch.setenv("IPUOF_VIPU_API_PARTITION_ID", "b")
    assert any("Partition: b (gcd:0) [active] has 1 IPU" in line for line in text(capsys))


def test_a_reservation_is_shown(capsys: Capture) -> None:
    with reserve(2) as kept:  # type: ignore[union-attr]
        rows = [cells(line) for line in text(capsys, "--no-card-info") if "poprun" in line]
        assert [(row[0], row[4]) for row in rows] == [(str(os.getpid()), "0"), (str(os.getpid()), "1")]
        assert kept is not None
    assert any("No attached processes" in line for line in text(capsys))


def test_sensors_can_be_switched_off(
    capsys: Capture, holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder()
    monkeypatch.setenv("GCDA_MONITOR", "0")
    row = next(cells(line) for line in text(capsys, "--no-card-info") if "train.py" in line)
    assert row[5:] == ["1850MHz", "N/A", "N/A", "N/A"]


def test_cards_of_an_older_kind(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_SYSTEM", "c2")
    lines = text(capsys)
    assert {len(line) for line in lines} == {98}
    assert [cells(line)[0] for line in lines if "0000:" in line] == ["0000:1a:00.0", "0000:1b:00.0"]


def test_what_a_program_calls_itself_does_not_steer_the_terminal() -> None:
    assert box_table.centred("evil\x1b[2J", 13) == "  evil·[2J   "
    assert box_table.centred("abcdefghijkl", 8) == "abcde..."
    assert box_table.cut_left("host-with-a-long-name", 13) == "...-long-name"


@pytest.mark.parametrize("option", ["--watch", "-x", "--json=1"])
def test_unknown_options_are_refused(option: str, capsys: Capture) -> None:
    assert monitor.main([option]) == 2
    assert "usage: gc-monitor" in capsys.readouterr().err
