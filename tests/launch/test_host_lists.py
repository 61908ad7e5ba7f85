"""Hosts as `--host` and host files write them."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tremula.launch.hosts import (
    BadHostsError,
    Host,
    address_towards,
    is_here,
    is_known,
    parse_list,
    read_file,
)


def names(text: str) -> list[str]:
    return [host.name for host in parse_list(text)]


def test_lists() -> None:
    assert names("host0") == ["host0"]
    assert names("host0,host1") == ["host0", "host1"]
    assert names("host[0-2,4]") == ["host0", "host1", "host2", "host4"]
    assert names("a[08-10]b,c") == ["a08b", "a09b", "a10b", "c"]
    assert names("r[0-1]n[0-1]") == ["r0n0", "r0n1", "r1n0", "r1n1"]
    assert names("10.1.3.101, gc-poplar-02.cluster") == ["10.1.3.101", "gc-poplar-02.cluster"]


@pytest.mark.parametrize(
    "text",
    ["a,,b", "a,", "a[0-", "a]", "a[2-1]", "a[x]", "a[0-99999]", "a b", "-oProxyCommand=x", "a,b,a", "$(x)"],
)
def test_lists_that_are_none(text: str) -> None:
    with pytest.raises(BadHostsError):
        parse_list(text)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("# ours\nhost0 slots=4\n\nhost1  # the other\nhost[2-3] slots=2 max_slots=8\n")
    assert read_file(path) == [Host("host0", 4), Host("host1"), Host("host2", 2), Host("host3", 2)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no host"),
        ("a slots=0", "line 1"),
        ("a\nb sluts=2", "line 2"),
        ("a\n\nb,c", "line 3"),
        ("a\na", "more than once"),
        ("\xff", "line 1"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "hosts"
    path.write_text(text)
    with pytest.raises(BadHostsError, match=said):
        read_file(path)
    with pytest.raises(BadHostsError, match="cannot be read"):
        read_file(tmp_path / "none")


def test_this_machine_is_found_under_all_its_names() -> None:
    assert is_here("localhost")
    assert is_here("127.0.0.1")
    assert is_here(socket.gethostname())
    assert not is_here("192.0.2.1")
    assert not is_here("no-such-host.invalid")
    assert not is_known("no-such-host.invalid")
    assert is_known("localhost")


def test_a_loopback_address_is_of_no_use_to_other_hosts() -> None:
    assert address_towards(["127.0.0.1"], None) is None
