"""Where code may come from: nothing that anybody else could have put there or can exchange."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tremula import private_files
from tremula.cache import Store, secret, trust
from tremula.cache.secret import BadKey
from tremula.private_files import Untrusted

from .conftest import KEY

if not hasattr(os, "getuid"):
    pytest.skip("no owners and modes here", allow_module_level=True)

import grp
import pwd

GiveAway = Callable[[Path], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "mine" / "cache"
    path.mkdir(parents=True, mode=0o755)
    return path


def reason(path: Path) -> str:
    found = private_files.code_distrust(path)
    return "" if found is None else str(found)


def test_a_folder_of_ones_own_is_trusted_and_so_is_one_that_can_be_made_there(folder: Path) -> None:
    assert reason(folder) == ""
    assert reason(folder / "not" / "there" / "yet") == ""


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o722])
@pytest.mark.parametrize("above", [False, True])
def test_one_that_everybody_can_write_to_is_not(folder: Path, mode: int, above: bool) -> None:
    place = folder.parent if above else folder
    place.chmod(mode)
    owner = private_files.owners.owner_and_mode(place.stat())
    assert f"everybody can write to {place} ({owner}); run: chmod go-w {place}" in reason(folder)
    assert owner.endswith(f", mode {mode:04o}")


def group_of_folder(monkeypatch: pytest.MonkeyPatch, name: str, primary: bool, members: list[str]) -> None:
    """Let the folder's group be called `name`; the user is called me."""
    gid = os.getgid()
    monkeypatch.setattr(
        pwd, "getpwuid", lambda uid: SimpleNamespace(pw_name="me", pw_gid=gid + (not primary))
    )
    group = SimpleNamespace(gr_name=name, gr_gid=gid, gr_mem=members)
    monkeypatch.setattr(grp, "getgrgid", lambda gid: group)


@pytest.mark.parametrize(
    ("name", "primary", "members"), [("staff", True, []), ("me", False, []), ("me", True, ["me", "you"])]
)
def test_one_that_a_group_can_write_to_is_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, primary: bool, members: list[str]
) -> None:
    group_of_folder(monkeypatch, name, primary, members)
    folder.chmod(0o775)
    assert f"the group {name} can write to {folder} (owner me (uid {os.getuid()}), mode 0775); " in reason(
        folder
    )
    assert f"run: chmod g-w {folder}" in reason(folder)


@pytest.mark.parametrize("members", [[], ["me"]])
def test_a_group_that_holds_only_the_user_is_nobody_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch, members: list[str]
) -> None:
    group_of_folder(monkeypatch, "me", True, members)
    folder.chmod(0o775)
    assert reason(folder) == ""
    monkeypatch.setattr(os, "listxattr", lambda path: ["system.posix_acl_access"], raising=False)
    assert "can write to" in reason(folder)  # the bits stand for a list that may name anybody


def test_a_group_without_a_name_is_somebody_else(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(gid: int) -> None:
        raise KeyError(gid)

    monkeypatch.setattr(grp, "getgrgid", unknown)
    folder.chmod(0o775)
    assert f"the group {os.getgid()} can write to" in reason(folder)


def test_a_sticky_folder_will_do_above_but_not_as_the_cache_itself(folder: Path) -> None:
    folder.parent.chmod(0o1777)
    assert reason(folder) == ""
    folder.chmod(0o1777)
    assert "everybody can write" in reason(folder)


def test_a_folder_of_somebody_else_is_not(folder: Path, give_away: GiveAway) -> None:
    give_away(folder)
    assert "belongs to another user" in reason(folder)


def test_a_folder_below_somebody_elses_is_not(folder: Path, give_away: GiveAway) -> None:
    give_away(folder.parent)
    assert "belongs to another user" in reason(folder)


def test_a_link_is_judged_by_where_it_leads(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert reason(link) == ""
    folder.chmod(0o777)
    assert f"everybody can write to {folder}" in reason(link)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is not a folder" in reason(tmp_path / "file")
    assert "is not a folder" in reason(tmp_path / "file" / "below")


def test_folders_are_made_for_the_user_alone(tmp_path: Path) -> None:
    made = tmp_path / "a" / "b"
    private_files.make_code_directory(made)
    assert {path.stat().st_mode & 0o777 for path in (made, made.parent)} == {0o700}
    private_files.make_code_directory(made)


def test_nothing_is_made_in_a_place_that_is_not_trusted(folder: Path) -> None:
    folder.chmod(0o777)
    with pytest.raises(Untrusted, match="chmod"):
        private_files.make_code_directory(folder / "below")
    assert list(folder.iterdir()) == []


def test_a_named_folder_that_is_not_trusted_gives_way_with_one_warning(
    folder: Path, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    default = tmp_path / "default"
    monkeypatch.setattr(trust, "default_root", lambda: default)
    assert trust.usable_root(folder) == (folder, None)
    folder.chmod(0o777)
    for _ in range(2):
        root, why = trust.usable_root(str(folder))
        assert root == default
        assert why is not None
        assert why.startswith(f"everybody can write to {folder} (owner ")
    [line] = said
    assert all(text in line for text in (str(folder), f"chmod go-w {folder}", str(default)))


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system that nobody can write to")
def test_a_named_folder_that_cannot_be_written_stays_with_one_warning(said: list[str]) -> None:
    for _ in range(2):
        assert trust.usable_root("/proc/tremula") == (Path("/proc/tremula"), None)
    (line,) = said
    assert line.startswith("The cache folder /proc/tremula cannot be written (")
    assert "not kept" in line


def test_a_store_in_a_folder_that_is_not_trusted_keeps_and_gives_nothing(
    store: Store, said: list[str]
) -> None:
    assert store.put(KEY, {}, {"so": b"code"})
    store.root.chmod(0o777)
    assert store.get(KEY).entry is None
    assert not store.put(KEY, {}, {"so": b"other"})
    assert len(said) == 1
    assert "chmod" in said[0]
    store.root.chmod(0o700)
    entry = store.get(KEY).entry
    assert entry is not None
    assert entry.blobs == {"so": b"code"}


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_ignored(store: Store, said: list[str], mode: int) -> None:
    store.put(KEY, {}, {"so": b"code"})
    (store.root / f"{KEY}.popef").chmod(mode)
    assert store.get(KEY).reason.startswith("writable by other users (owner ")
    assert store.get(KEY).reason.endswith(f", mode {mode:04o})")
    assert store.get(KEY).entry is None
    assert len(said) == 1


def test_a_file_of_somebody_else_is_ignored_and_replaced(
    store: Store, said: list[str], give_away: GiveAway
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a file away")
    store.put(KEY, {}, {"so": b"code"})
    give_away(store.root / f"{KEY}.popef")
    assert "owned by another user" in store.get(KEY).reason
    assert store.put(KEY, {}, {"so": b"code"})
    assert store.get(KEY).reason == "hit"
    assert len(said) == 1


def test_a_link_is_no_entry_even_to_a_good_one(store: Store, tmp_path: Path, said: list[str]) -> None:
    store.put(KEY, {}, {"so": b"code"})
    path = store.root / f"{KEY}.popef"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert store.get(KEY).reason.startswith("a link, not a file (owner ")
    assert store.put(KEY, {}, {"so": b"code"})
    assert not path.is_symlink()
    assert (tmp_path / "elsewhere").exists()
    assert store.get(KEY).reason == "hit"


def test_a_pipe_does_not_make_a_reader_wait(store: Store) -> None:
    store.root.mkdir()
    os.mkfifo(store.root / f"{KEY}.popef", 0o600)
    assert store.get(KEY).reason == "not a regular file"


def test_a_folder_in_the_place_of_an_entry_stays(store: Store, said: list[str]) -> None:
    place = store.root / f"{KEY}.popef"
    place.mkdir(parents=True)
    assert store.get(KEY).entry is None
    assert not store.put(KEY, {}, {"so": b"code"})
    assert list(store.root.iterdir()) == [place]
    assert store.clear().entries == 0
    assert len(said) == 2


def test_an_entry_signed_with_another_key_is_ignored(store: Store, tmp_path: Path) -> None:
    Store(store.root, private_dir=tmp_path / "other").put(KEY, {}, {"so": b"evil"})
    assert "not signed with your key" in store.get(KEY).reason
    store.put(KEY, {}, {"so": b"code"})
    assert store.get(KEY).reason == "hit"


def test_the_key_is_made_once_and_for_the_user_alone(tmp_path: Path) -> None:
    private = tmp_path / "private"
    assert secret.load(private) is None
    key = secret.load(private, create=True)
    assert key is not None
    assert len(key) == 32
    assert secret.load(private, create=True) == key
    [file] = private.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert private.stat().st_mode & 0o777 == 0o700


def test_without_hard_links_the_key_is_made_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(source: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    key = secret.load(tmp_path, create=True)
    assert key == secret.load(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1


def _read_by_others(path: Path) -> None:
    path.chmod(0o640)


def _too_short(path: Path) -> None:
    path.write_bytes(b"short")


def _too_long(path: Path) -> None:
    path.write_bytes(bytes(33))


def _a_link(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


@pytest.mark.parametrize("spoil", [_read_by_others, _too_short, _too_long, _a_link])
def test_a_key_that_others_may_know_or_that_is_none_switches_the_cache_off(
    store: Store, tmp_path: Path, said: list[str], spoil: Callable[[Path], None]
) -> None:
    store.put(KEY, {}, {"so": b"code"})
    spoil(tmp_path / "private" / "signing.key")
    with pytest.raises(BadKey, match=r"signing\.key"):
        secret.load(tmp_path / "private")
    assert store.get(KEY).entry is None
    assert not store.put(KEY, {}, {"so": b"code"})
    assert len(said) == 1
    assert "rm " in said[0]


def test_a_key_of_somebody_else_switches_the_cache_off(
    store: Store, tmp_path: Path, said: list[str], give_away: GiveAway
) -> None:
    store.put(KEY, {}, {"so": b"code"})
    give_away(tmp_path / "private" / "signing.key")
    with pytest.raises(BadKey, match="another user"):
        secret.load(tmp_path / "private")


def test_a_private_folder_that_is_not_private_switches_the_cache_off(
    store: Store, tmp_path: Path, said: list[str]
) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private").chmod(0o777)
    assert not store.put(KEY, {}, {"so": b"code"})
    assert len(said) == 1
    assert not store.root.exists()


def test_systems_without_owners_do_without_these_checks(
    store: Store, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    for name in ("getuid", "O_NOFOLLOW", "O_NONBLOCK", "fchmod", "listxattr"):
        monkeypatch.delattr(os, name)
    folder.chmod(0o777)
    assert reason(folder) == ""
    assert store.put(KEY, {}, {"so": b"code"})
    assert store.get(KEY).reason == "hit"
    assert [entry.key for entry in store.entries()] == [KEY]
    path = store.root / f"{KEY}.popef"
    path.rename(folder / "elsewhere")
    path.symlink_to(folder / "elsewhere")
    assert store.get(KEY).reason == "a link, not a file"
