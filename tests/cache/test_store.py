"""The store: one file per entry, a miss for anything that is not exactly what was put, no errors for bad luck."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tremula.cache import Store, default_root, entry_file, eviction, key_of
from tremula.cache import store as store_module

from .conftest import KEY

BLOBS = {"model.so": b"\x7fELF" * 500, "program.json": b"{}"}


def file_of(store: Store, key: str = KEY) -> Path:
    return store.root / f"{key}.popef"


def test_what_was_put_is_there_in_one_file_and_nothing_else(store: Store) -> None:
    assert store.get(KEY).reason == "not in the cache"
    assert not store.root.exists()
    assert store.put(KEY, {"about": "Net"}, BLOBS)
    assert os.listdir(store.root) == [f"{KEY}.popef"]
    assert file_of(store).stat().st_mode & 0o777 == 0o600
    assert store.root.stat().st_mode & 0o777 == 0o700
    found = store.get(KEY)
    assert found.reason == "hit"
    assert found.entry is not None
    assert found.entry.metadata == {"about": "Net"}
    assert found.entry.blobs == BLOBS


def test_another_object_for_the_same_folder_finds_it(store: Store, tmp_path: Path) -> None:
    store.put(KEY, {}, BLOBS)
    other = Store(str(store.root), private_dir=tmp_path / "private")
    assert other.get(KEY).reason == "hit"


def test_the_newest_put_wins(store: Store) -> None:
    store.put(KEY, {"n": 1}, BLOBS)
    store.put(KEY, {"n": 2}, {})
    entry = store.get(KEY).entry
    assert entry is not None
    assert (entry.metadata, entry.blobs) == ({"n": 2}, {})


def test_an_odd_umask_does_not_make_unreadable_entries(store: Store) -> None:
    before = os.umask(0o277)
    try:
        store.root.mkdir(mode=0o700)
        store.root.chmod(0o700)
        (store.root.parent / "private").mkdir()
        (store.root.parent / "private").chmod(0o700)
        assert store.put(KEY, {}, BLOBS)
    finally:
        os.umask(before)
    assert file_of(store).stat().st_mode & 0o777 == 0o600


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 350), st.integers(0, 350), st.binary(max_size=20))
def test_a_mutated_file_is_a_miss_and_is_replaced_by_the_next_put(
    store: Store, place: int, length: int, other: bytes
) -> None:
    store.put(KEY, {"about": "Net"}, {"so": b"code" * 20})
    good = file_of(store).read_bytes()
    bad = good[:place] + other + good[place + length :]
    file_of(store).write_bytes(bad)
    found = store.get(KEY)
    assert (found.entry is not None) == (bad == good)
    assert store.put(KEY, {"about": "Net"}, {"so": b"code" * 20})
    assert store.get(KEY).reason == "hit"


def test_a_bad_file_is_mentioned_once(store: Store, said: list[str]) -> None:
    store.put(KEY, {}, BLOBS)
    file_of(store).write_bytes(file_of(store).read_bytes()[:-1])
    for _ in range(3):
        assert store.get(KEY).reason == "corrupt: cut short"
    [line] = said
    assert str(file_of(store)) in line


def test_an_entry_under_another_name_is_a_miss(store: Store) -> None:
    store.put(KEY, {}, BLOBS)
    other = key_of({"model": "another"})
    file_of(store).rename(file_of(store, other))
    assert "was renamed" in store.get(other).reason


def test_an_entry_of_another_format_version_is_a_miss(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(entry_file, "FORMAT_VERSION", 0)
        store.put(KEY, {}, BLOBS)
    assert store.get(KEY).reason.startswith("of another version")


def test_a_file_too_large_for_memory_is_not_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(KEY, {}, BLOBS)
    monkeypatch.setattr(entry_file, "MAX_FILE", 100)
    assert store.get(KEY).reason.startswith("too large")


def test_a_hit_opens_the_one_file_and_lists_no_folder(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(KEY, {}, BLOBS)

    def refuse(*args: Any) -> Any:
        raise AssertionError("the folder was listed")

    opened = []
    real_open = os.open

    def note(path: Any, *args: Any, **options: Any) -> int:
        opened.append(Path(path).name)
        return real_open(path, *args, **options)

    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(os, "listdir", refuse)
    monkeypatch.setattr(os, "open", note)
    assert store.get(KEY).reason == "hit"
    assert opened == [f"{KEY}.popef", "signing.key"]


@pytest.mark.parametrize("function", ["fsync", "replace", "open"])
def test_a_full_or_broken_disk_is_one_warning_and_loses_nothing(
    store: Store, said: list[str], monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    store.put(KEY, {"n": 1}, BLOBS)
    real = getattr(os, function)

    def fail(*args: Any, **options: Any) -> Any:
        if function == "open" and not args[1] & os.O_CREAT:
            return real(*args, **options)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        assert not store.put(KEY, {"n": 2}, BLOBS)
        assert not store.put(key_of({"n": 3}), {"n": 3}, BLOBS)
    [line] = said
    assert "No space left" in line
    assert os.listdir(store.root) == [f"{KEY}.popef"]
    entry = store.get(KEY).entry
    assert entry is not None
    assert entry.metadata == {"n": 1}


def test_an_interrupt_during_put_leaves_nothing_half_written(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    store.put(KEY, {"n": 1}, BLOBS)
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.put(KEY, {"n": 2}, BLOBS)
    assert os.listdir(store.root) == [f"{KEY}.popef"]
    assert store.get(KEY).reason == "hit"


def test_a_folder_that_cannot_be_made_is_one_warning(tmp_path: Path, said: list[str]) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "cache", private_dir=tmp_path / "private")
    assert store.get(KEY).entry is None
    assert not store.put(KEY, {}, BLOBS)
    assert len(said) == 1


def test_metadata_that_is_not_json_is_the_callers_mistake(store: Store) -> None:
    with pytest.raises(TypeError):
        store.put(KEY, {"model": object()}, BLOBS)
    assert not store.root.exists()
    with pytest.raises(ValueError, match="64 lowercase"):
        store.get("../../etc/passwd")


def fill(store: Store, count: int, size: int = 1000) -> list[str]:
    """Entries of about the same size, the first one used longest ago."""
    keys = [key_of({"n": n}) for n in range(count)]
    for n, key in enumerate(keys):
        assert store.put(key, {"n": n}, {"so": bytes(size)})
        os.utime(file_of(store, key), (1_000_000 + n, 1_000_000 + n))
    return keys


def present(store: Store, keys: list[str]) -> list[bool]:
    return [file_of(store, key).exists() for key in keys]


def test_the_least_recently_used_entries_go_first(store: Store) -> None:
    keys = fill(store, 4)
    size = file_of(store, keys[0]).stat().st_size
    assert store.get(keys[0]).reason == "hit"  # now the most recent one
    store.limit_bytes = 3 * size + 10
    new = key_of({"n": "new"})
    store.put(new, {"n": 9}, {"so": bytes(1000)})
    assert present(store, [*keys, new]) == [True, False, False, True, True]


def test_a_new_entry_is_not_evicted_by_itself_even_if_its_clock_is_wrong(store: Store) -> None:
    keys = fill(store, 3)
    size = file_of(store, keys[0]).stat().st_size
    for key in keys:
        os.utime(file_of(store, key), (4e9, 4e9))
    store.limit_bytes = size + 10
    new = key_of({"n": "new"})
    assert store.put(new, {"n": 9}, {"so": bytes(1000)})
    assert present(store, [*keys, new]) == [False, False, False, True]


def test_an_entry_larger_than_the_limit_is_not_kept(store: Store, said: list[str]) -> None:
    store.limit_bytes = 1000
    assert not store.put(KEY, {}, {"so": bytes(1000)})
    assert not store.root.exists()
    assert "limit" in said[0]


def test_what_is_no_entry_is_left_alone_and_mentioned_once(store: Store, said: list[str]) -> None:
    store.root.mkdir(mode=0o700)
    strangers = ["1234567890.popef", "notes.txt", ".hidden", f"{KEY}.popef.bak", ".x.part"]
    for name in strangers:
        (store.root / name).write_text("x" * 5000)
    store.limit_bytes = 4000
    fill(store, 5)
    store.clear()
    assert sorted(os.listdir(store.root)) == sorted(strangers)
    assert len(said) == 1
    assert "not changed" in said[0]


def test_prune_by_size_and_by_age(store: Store) -> None:
    keys = fill(store, 4)
    os.utime(file_of(store, keys[3]))
    size = file_of(store, keys[0]).stat().st_size
    removed = store.prune(limit_bytes=3 * size)
    assert (removed.entries, removed.bytes) == (1, size)
    assert present(store, keys) == [False, True, True, True]
    assert store.prune(older_than=86400).entries == 2
    assert present(store, keys) == [False, False, False, True]
    assert store.prune().entries == 0
    assert store.clear().entries == 1
    assert os.listdir(store.root) == []


def test_files_of_other_users_do_not_go(store: Store, give_away: Callable[[Path], None]) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a file away")
    keys = fill(store, 2)
    give_away(file_of(store, keys[0]))
    assert store.clear().entries == 1
    assert present(store, keys) == [True, False]


def test_an_entry_that_was_renewed_meanwhile_stays(store: Store) -> None:
    keys = fill(store, 2)
    listing = eviction.list_folder(store.root)
    assert store.get(keys[0]).reason == "hit"
    file_of(store, keys[1]).unlink()
    assert eviction.evict(listing, limit_bytes=0).entries == 0
    assert present(store, keys) == [True, False]


def draft(store: Store, age: float) -> Path:
    store.root.mkdir(exist_ok=True, mode=0o700)
    path = store.root / f".{KEY}.popef.0123.part"
    path.write_bytes(b"half")
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_drafts_of_dead_writers_go_with_the_next_put(store: Store) -> None:
    old = draft(store, age=eviction.GRACE + 1)
    store.put(KEY, {}, BLOBS)
    assert not old.exists()
    assert os.listdir(store.root) == [f"{KEY}.popef"]


def test_a_draft_that_is_being_written_stays(store: Store) -> None:
    fresh = draft(store, age=0)
    assert store.prune().drafts == 0
    assert fresh.exists()
    os.utime(fresh, (1, 1))
    with open(fresh, "rb") as file:
        assert eviction.lock_draft(file.fileno())
        assert store.prune().drafts == 0
    assert store.prune().drafts == 1


def test_where_files_cannot_be_locked_only_age_counts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eviction, "lock_draft", lambda descriptor: None)
    draft(store, age=eviction.GRACE + 1)
    assert store.prune().drafts == 0
    draft(store, age=eviction.ABANDONED + 1)
    assert store.prune().drafts == 1


def test_entries_are_listed_by_last_use_with_what_their_headers_say(store: Store) -> None:
    keys = fill(store, 3)
    file_of(store, keys[1]).write_bytes(b"junk")
    os.utime(file_of(store, keys[1]), (2, 2))
    first, second, third = store.entries()
    assert [first.key, second.key, third.key] == [keys[2], keys[0], keys[1]]
    assert first.metadata == {"n": 2}
    assert first.blobs == {"so": 1000}
    assert abs(first.created - time.time()) < 3600
    assert first.last_used == 1_000_002
    assert first.problem is None
    assert third.problem == "not a cache entry"
    assert not list(Store(store.root / "none").entries())


def test_verify_reads_every_entry(store: Store) -> None:
    keys = fill(store, 3)
    path = file_of(store, keys[1])
    data = bytearray(path.read_bytes())
    data[-40] ^= 1
    path.write_bytes(bytes(data))
    result = dict(store.verify())
    assert len(result) == 3
    assert result.pop(path) == "corrupt: checksum of 'so' does not match"
    assert set(result.values()) == {None}
    assert store.check(keys[1]) == "corrupt: checksum of 'so' does not match"
    assert store.check(KEY) == "not in the cache"


def test_remove(store: Store) -> None:
    store.put(KEY, {}, BLOBS)
    assert store.remove(KEY)
    assert not store.remove(KEY)
    assert os.listdir(store.root) == []


def test_a_hit_that_cannot_be_noted_is_a_hit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(KEY, {}, BLOBS)

    def fail(*args: Any, **options: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "utime", fail)
    assert store.get(KEY).reason == "hit"


def test_the_default_folder_and_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TREMULA_CACHE_DIR", raising=False)
    monkeypatch.delenv("TREMULA_CACHE_LIMIT", raising=False)
    assert default_root().parts[-2:] == ("tremula", "executables")
    assert Store(tmp_path).limit_bytes == 4 << 30
    monkeypatch.setenv("TREMULA_CACHE_DIR", str(tmp_path / "mine"))
    monkeypatch.setenv("TREMULA_CACHE_LIMIT", "5")
    assert default_root() == tmp_path / "mine"
    assert store_module.default_limit() == 5
