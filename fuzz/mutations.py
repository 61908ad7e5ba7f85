"""Mutations of bytes, texts, JSON data and zip archives. All draw from the generator that they are given."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from typing import Any

#: values that break assumptions: signs, sizes, kinds, text that a terminal or a shell would act on
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        7,
        255,
        65536,
        2**31 - 1,
        2**31,
        2**47,
        2**63 - 1,
        2**63,
        -(2**63),
        10**30,
    ),
    *(
        0.0,
        -0.5,
        1e308,
        "",
        "x",
        "\x1b[2J\x1b]0;title\x07",
        "../../outside",
        "/outside",
        "\u202eright to left",
    ),
    *(
        "a" * 5000,
        [],
        {},
        [[]],
        ["x"],
        {"x": 1},
        {"tuple": []},
        {"node": 0},
        {"enum": ["ConnectionType", "Never"]},
    ),
)


def flip_bytes(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, a part cut out, doubled or overwritten, or the end cut off."""
    changed = bytearray(data)
    kind = rng.randrange(6)
    place = rng.randrange(len(changed)) if changed else 0
    length = min(rng.choice((1, 2, 4, 8, 64, 1024)), len(changed) - place)
    if kind == 0:
        for _ in range(rng.randint(1, 8)):
            if changed:
                changed[rng.randrange(len(changed))] = rng.randrange(256)
    elif kind == 1:
        del changed[place:]
    elif kind == 2:
        del changed[place : place + length]
    elif kind == 3:
        changed[place:place] = changed[place : place + length]
    elif kind == 4:
        changed[place : place + length] = rng.randbytes(length)
    else:
        changed[place : place + length] = rng.choice((b"\xff", b"\x00", b"\x7f", b"\x80")) * length
    return bytes(changed)


def change_data(data: Any, rng: random.Random, times: int | None = None) -> Any:
    """JSON data with values replaced, removed, doubled, renamed or swapped with others, in random places."""
    data = json.loads(json.dumps(data))
    for _ in range(times or rng.choice((1, 1, 1, 2, 4))):
        owners = [owner for owner in _containers(data) if owner]
        if not owners:
            return rng.choice(VALUES)
        owner = rng.choice(owners)
        key = rng.choice(list(owner) if isinstance(owner, dict) else range(len(owner)))
        _change(owner, key, owners, rng)
    return data


def _change(owner: Any, key: Any, owners: list[Any], rng: random.Random) -> None:
    kind = rng.randrange(8)
    value = owner[key]
    if kind <= 2:
        owner[key] = rng.choice(VALUES)
    elif kind == 3 and isinstance(value, int | float) and not isinstance(value, bool):
        owner[key] = rng.choice((value + 1, value - 1, -value, value * 1000, value // 2 if value else 1))
    elif kind == 4:
        del owner[key]
    elif kind == 5 and isinstance(owner, list):
        owner.insert(key, value)
    elif kind == 5:
        owner[rng.choice(("x", "__class__", key + "_"))] = value
    elif kind == 6:
        other = rng.choice(owners)
        owner[key] = copy_of(rng.choice(list(other.values() if isinstance(other, dict) else other)))
    else:
        for _ in range(rng.choice((3, 100, 3000))):
            value = [value]
        owner[key] = value


def copy_of(data: Any) -> Any:
    """A copy, or the depth at which it ends."""
    try:
        return json.loads(json.dumps(data))
    except RecursionError:
        return None


def _containers(data: Any) -> list[Any]:
    found, waiting = [], [data]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            found.append(each)
            waiting.extend(each.values() if isinstance(each, dict) else each)
    return found


def change_json(data: bytes, rng: random.Random) -> bytes:
    """A JSON document, changed as data or as text."""
    if rng.random() < 0.2:
        return flip_bytes(data, rng)
    return dumped(change_data(json.loads(data), rng))


def dumped(data: Any) -> bytes:
    """As JSON, however deep."""
    try:
        return json.dumps(data, separators=(",", ":")).encode()
    except RecursionError:
        return b"[" * 20_000 + b"]" * 20_000


def change_lines(data: bytes, rng: random.Random) -> bytes:
    """A text whose lines are each a JSON document."""
    lines = data.splitlines()
    place = rng.randrange(len(lines))
    lines[place] = change_json(lines[place], rng) if rng.random() < 0.8 else rng.randbytes(rng.randrange(200))
    return b"\n".join(lines) + b"\n" * rng.randrange(2)


def change_zip(
    data: bytes, rng: random.Random, change: dict[str, Callable[[bytes, random.Random], bytes]]
) -> bytes:
    """An archive whose entries are changed (`change`: by the end of their name), or its outside."""
    if rng.random() < 0.15:
        return flip_bytes(data, rng)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        kind = archive.infolist()[0].compress_type
        entries = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(entries))
    what = rng.random()
    if what < 0.85:
        known = next((each for end, each in change.items() if name.endswith(end)), flip_bytes)
        entries[name] = known(entries[name], rng)
    elif what < 0.9:
        del entries[name]
    elif what < 0.95:
        entries[rng.choice(("../outside", "/outside", "x", name.upper(), "a" * 300))] = entries[name]
    else:
        kind = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return out.getvalue()


def change_text(data: bytes, rng: random.Random) -> bytes:
    """A text in which words and lines are exchanged, deepened, or turned into syntax."""
    if rng.random() < 0.3:
        return flip_bytes(data, rng)
    lines = data.decode(errors="replace").splitlines()
    place = rng.randrange(len(lines))
    key, colon, value = lines[place].partition(":")
    kind = rng.randrange(7)
    if kind == 0:
        lines[place] = f"{key}{colon} {json.dumps(rng.choice(VALUES))}"
    elif kind == 1:
        del lines[place]
    elif kind == 2:
        lines.insert(place, rng.choice(lines))
    elif kind == 3:
        lines[place] = f"{key}{colon} {'[' * 5000}"
    elif kind == 4:
        lines[place] = (
            f"{key}{colon} {rng.choice(('!!python/object/apply:os.system [x]', '&a [*a, *a]', '!!binary x'))}"
        )
    elif kind == 5:
        lines[place] = "  " * rng.randrange(5) + lines[place].strip()
    else:
        lines[place] = f"{key}{rng.choice(('', '  '))}{colon} {value.strip()}\x1b[31m"
    return "\n".join(lines).encode() + b"\n"
