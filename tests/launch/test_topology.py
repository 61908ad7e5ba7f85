"""The topology table in the layout of the real launcher's logs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.launch.hosts import Host
from tremula.launch.placement import Layout
from tremula.launch.topology import table


def drawn(instances: int, replicas: int, *hosts: str, domains: int = 1) -> list[str]:
    names = tuple(Host(name) for name in hosts or ("localhost",))
    return table(Layout(names, instances, replicas, 1, domains)).splitlines()


def test_one_instance_leaves_room_for_nothing_but_numbers() -> None:
    assert drawn(1, 1) == [
        " ===============",
        "| poprun top... |",
        "|===============|",
        "| hosts     | . |",
        "|-----------|---|",
        "| ILDs      | 0 |",
        "|-----------|---|",
        "| instances | 0 |",
        "|-----------|---|",
        "| replicas  | 0 |",
        " ---------------",
        "[0]: localhost",
    ]


def test_a_name_that_does_not_fit_stands_below() -> None:
    assert drawn(2, 2) == [
        " ===================",
        "|  poprun topology  |",
        "|===================|",
        "| hosts     |  [0]  |",
        "|-----------|-------|",
        "| ILDs      |   0   |",
        "|-----------|-------|",
        "| instances | 0 | 1 |",
        "|-----------|-------|",
        "| replicas  | 0 | 1 |",
        " -------------------",
        "[0]: localhost",
    ]


def test_an_instance_spreads_over_its_replicas() -> None:
    assert drawn(1, 4, "gc-poplar-02")[3:11] == [
        "| hosts     | gc-poplar-02  |",
        "|-----------|---------------|",
        "| ILDs      |       0       |",
        "|-----------|---------------|",
        "| instances |       0       |",
        "|-----------|---------------|",
        "| replicas  | 0 | 1 | 2 | 3 |",
        " ---------------------------",
    ]
    assert drawn(2, 8)[7] == "| instances |       0       |       1       |"


def test_cells_are_as_wide_as_the_largest_number() -> None:
    lines = drawn(16, 16)
    assert lines[1] == f"|{'poprun topology':^91}|"
    assert lines[9].startswith("| replicas  | 0  | 1  | 2  |")
    assert lines[9].endswith("| 14 | 15 |")


def test_several_hosts_and_domains() -> None:
    lines = drawn(4, 8, "host0", "host1", domains=2)
    assert lines[3] == "| hosts     |     host0     |     host1     |"
    assert lines[5] == "| ILDs      |       0       |       1       |"
    assert lines[7] == "| instances |   0   |   1   |   2   |   3   |"
    lines = drawn(4, 4, "a-long-name", "b", domains=2)
    assert lines[3] == "| hosts     |  [0]  |  [1]  |"
    assert lines[-2:] == ["[0]: a-long-name", "[1]: b"]


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4), st.integers(1, 30))
def test_every_line_is_as_long_as_the_others(hosts: int, each: int, replicas: int, length: int) -> None:
    instances = hosts * each
    names = [f"{number}{'x' * length}" for number in range(hosts)]
    lines = drawn(instances, instances * replicas, *names, domains=min(3, instances))
    framed = [line for line in lines if line.startswith("|")]
    assert len({len(line) for line in framed}) == 1


@pytest.mark.parametrize("replicas", [1, 2, 4, 8, 64])
def test_all_replicas_are_shown(replicas: int) -> None:
    assert drawn(1, replicas)[9].replace("|", " ").split() == ["replicas", *map(str, range(replicas))]
