"""Entries of the executable cache: a changed one is never used, and listing it does no harm."""

from __future__ import annotations

import random
from pathlib import Path

from fuzz.mutations import change_json, flip_bytes
from fuzz.target import Target
from tremula.cache.store import Store

_KEY = "ab" * 32
_BLOBS = {"turn.so": b"code" * 100}


def make(folder: Path) -> list[Path]:
    """One entry, signed."""
    root = folder.resolve().parent / "home" / "cache" / "entries"
    store = Store(root)
    assert store.put(_KEY, {"about": "fuzz"}, _BLOBS), "nothing can be stored here"
    path = folder / "entry"
    path.write_bytes(store._path(_KEY).read_bytes())
    return [path]


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Bytes, or the header as data."""
    start = data.find(b"{")
    end = data.find(b"}", data.rfind(b"turn.so", 0, 2000)) + 1
    if rng.random() < 0.5 or start < 0:
        return flip_bytes(data, rng)
    try:
        return data[:start] + change_json(data[start:end], rng) + data[end:]
    except ValueError:
        return flip_bytes(data, rng)


def read(path: Path) -> None:
    """Put it in place of the sound one; look it up, verify and list."""
    store = Store(path.resolve().parent / "home" / "cache" / "entries")
    place = store._path(_KEY)
    place.write_bytes(path.read_bytes())
    place.chmod(0o600)
    entry = store.get(_KEY).entry
    assert entry is None or dict(entry.blobs) == _BLOBS, "a changed entry was used"
    list(store.entries())
    store.verify()


def refusals() -> tuple[type[BaseException], ...]:
    """None: an entry that is not sound is passed over."""
    return ()


CACHE = Target("cache", make, mutate, read, refusals, names_file=False)
