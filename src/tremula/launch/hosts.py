"""The hosts of a run: parses `--host` and host files, and finds out which host is this machine."""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import re
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tremula.formatting import plain

_MAX_HOSTS = 4096
_MAX_FILE_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.:-]*[A-Za-z0-9_])?")
_ADDRESS_OF_INTERFACE = 0x8915  # SIOCGIFADDR

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class BadHostsError(ValueError):
    """An invalid list of hosts. The text says why."""


@dataclass(frozen=True)
class Host:
    """A host, and the number of instances that its line in a host file allows (None: no limit)."""

    name: str
    slots: int | None = None


def parse_list(text: str) -> list[Host]:
    """Hosts as in `host0,host1` or `host[0-2,4]`, in that order. Raises BadHostsError for other text."""
    hosts = [Host(name) for part in _split(text) for name in _expand(part)]
    _check(hosts)
    return hosts


def read_file(path: Path) -> list[Host]:
    """Hosts of a file with one host per line: a name, then optionally `slots=N`. `#` starts a comment.

    Raises BadHostsError if the file cannot be read or parsed.
    """
    shown = plain(str(path), 200, lines=False)
    try:
        with open(path, "rb") as file:
            text = file.read(_MAX_FILE_BYTES).decode()
    except OSError as problem:
        raise BadHostsError(f"{shown} cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise BadHostsError(f"{shown} is not a text file") from None
    hosts = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        slots = None
        for word in words[1:]:
            key, _, value = word.partition("=")
            if key not in ("slots", "max_slots", "max-slots") or not value.isdecimal() or int(value) < 1:
                raise BadHostsError(f"line {number} of {shown}: {plain(word, 60)!r} should be slots=N")
            if key == "slots":
                slots = int(value)
        try:
            hosts += [Host(name, slots) for name in _expand(words[0])]
        except BadHostsError as problem:
            raise BadHostsError(f"line {number} of {shown}: {problem}") from None
    _check(hosts)
    return hosts


def is_here(name: str) -> bool:
    """Whether a host is this machine."""
    if name == "localhost" or name in (socket.gethostname(), socket.gethostname().partition(".")[0]):
        return True
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        return False
    for family, kind, protocol, _, address in found:
        # only an address of our own can be bound
        with contextlib.suppress(OSError), socket.socket(family, kind, protocol) as probe:
            probe.bind(address)
            return True
    return False


def is_known(name: str) -> bool:
    """Whether a host's name has an address."""
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True


def address_towards(names: list[str], network: Network | None) -> str | None:
    """The address of this machine at which the hosts reach it: in `network`, or on the way to the first of them."""
    if network is not None:
        return next((each for each in own_addresses() if ipaddress.ip_address(each) in network), None)
    for name in names:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(name, 9, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind, protocol) as probe:
                probe.connect(address)  # nothing is sent: the system only chooses a way
                found = str(probe.getsockname()[0])
        except (OSError, UnicodeError):
            continue
        if not ipaddress.ip_address(found.partition("%")[0]).is_loopback:
            return found
    return None


def own_addresses() -> Iterator[str]:
    """The IPv4 addresses of this machine's network interfaces."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            with contextlib.suppress(OSError):
                answer = fcntl.ioctl(probe.fileno(), _ADDRESS_OF_INTERFACE, request)
                yield socket.inet_ntoa(answer[20:24])


def _split(text: str) -> list[str]:
    """Parts between commas outside of brackets."""
    parts, depth, part = [], 0, ""
    for letter in text:
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if depth not in (0, 1):
            raise BadHostsError(f"{plain(text, 100)!r} has unbalanced brackets")
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    if depth:
        raise BadHostsError(f"{plain(text, 100)!r} has unbalanced brackets")
    parts.append(part.strip())
    if not all(parts):
        raise BadHostsError(f"{plain(text, 100)!r} has an empty name")
    return parts


def _expand(text: str) -> list[str]:
    """Expand `node[0-1,4]` to node0, node1 and node4. A leading zero pads all numbers to its width."""
    head, bracket, rest = text.partition("[")
    if not bracket:
        if not _NAME.fullmatch(text):
            raise BadHostsError(f"{plain(text, 100)!r} is not a host name")
        return [text]
    inside, bracket, tail = rest.partition("]")
    if not bracket:
        raise BadHostsError(f"{plain(text, 100)!r} has unbalanced brackets")
    numbers: list[str] = []
    for part in inside.split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last) < int(first) + _MAX_HOSTS):
            raise BadHostsError(f"{plain(part, 60)!r} in {plain(text, 100)!r} is not a range such as 0-3")
        width = len(first) if first.startswith("0") else 0
        numbers += [str(number).zfill(width) for number in range(int(first), int(last) + 1)]
    expanded = [each for number in numbers for each in _expand(f"{head}{number}{tail}")]
    if len(expanded) > _MAX_HOSTS:
        raise BadHostsError(f"{plain(text, 100)!r} expands to more than {_MAX_HOSTS} hosts")
    return expanded


def _check(hosts: list[Host]) -> None:
    if not hosts:
        raise BadHostsError("it contains no host")
    if len(hosts) > _MAX_HOSTS:
        raise BadHostsError(f"it contains more than {_MAX_HOSTS} hosts")
    names = [host.name for host in hosts]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadHostsError(f"{', '.join(twice)} appears more than once")
