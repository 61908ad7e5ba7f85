"""Nothing that another user could have planted is used: real second users, links, pipes and devices."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tremula import log, private_files
from tremula.errors import Error
from tremula.machine.attach import Attachment
from tremula.machine.systems import current, folder_of
from tremula.private_files import Untrusted
from tremula.profile import ProfileWriter
from tremula.settings.directories import state_folder, state_subfolder
from tremula.telemetry import ledger

if not hasattr(os, "getuid"):
    pytest.skip("no owners and modes here", allow_module_level=True)

ANOTHER = 65533
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can act as a second user")


def another_user(*command: str | Path, code: int = 0) -> str:
    """Run a command as a second user."""
    done = subprocess.run(
        [str(word) for word in command],
        user=ANOTHER, group=ANOTHER, extra_groups=[], capture_output=True, text=True, check=False, cwd="/",
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that everybody can enter, which those of pytest are not."""
    path = Path(tempfile.mkdtemp(prefix="tremula-test-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file that must not change."""
    path = tmp_path / "victim"
    path.write_text("important")
    return path


@pytest.fixture
def state(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder that the user named, as sticky as /tmp."""
    path = shared / "state"
    path.mkdir()
    path.chmod(0o1777)
    monkeypatch.setenv("TREMULA_STATE_DIR", str(path))
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "4")
    return path


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts of warnings."""
    texts: list[str] = []
    log.forget_once()
    monkeypatch.setattr(log, "warn_once", lambda key, text: texts.append(text))
    return texts


def attach() -> None:
    attachment = Attachment(1, hardware=True)
    attachment.attach()
    attachment.detach()


# -- the folder of the virtual IPUs -----------------------------------------------------------------------


@as_root
@pytest.mark.parametrize("name", ["counters", "holds"])
def test_a_link_that_another_user_planted_is_not_followed(name: str, state: Path, victim: Path) -> None:
    folder = folder_of(current())
    for place in (folder, *folder.parents[:2]):  # as a careless administrator would leave them
        place.chmod(0o777)
    another_user("ln", "-s", victim, folder / name)
    with pytest.raises(Error) as refused:
        attach()
    assert victim.read_text() == "important"
    assert str(folder / name) in refused.value.message
    assert f"a link, not a file (owner uid {ANOTHER}" in refused.value.message
    assert "remove it" in refused.value.message
    assert "TREMULA_STATE_DIR" in refused.value.message
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700, "nobody plants another one"


@as_root
def test_a_state_folder_that_everybody_can_write_to_is_refused(state: Path) -> None:
    state.chmod(0o777)
    another_user("mkdir", state / "machine")
    with pytest.raises(Error) as refused:
        attach()
    assert f"everybody can write to {state} (owner root (uid 0), mode 0777)" in refused.value.message
    assert f"chmod go-w {state}" in refused.value.message
    assert list((state / "machine").iterdir()) == []


@as_root
def test_a_folder_that_another_user_made_in_a_sticky_one_is_refused(state: Path, victim: Path) -> None:
    folder = folder_of(current())
    shutil.rmtree(state / "machine")
    another_user("mkdir", "-p", folder)
    another_user("ln", "-s", victim, folder / "counters")
    with pytest.raises(Error) as refused:
        attach()
    assert (
        f"{state / 'machine'} belongs to another user (owner uid {ANOTHER}, mode 0755)"
        in refused.value.message
    )
    assert "TREMULA_STATE_DIR" in refused.value.message
    assert victim.read_text() == "important"


@as_root
def test_a_link_to_a_folder_is_not_followed_either(state: Path, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    another_user("ln", "-s", tmp_path / "private", state / "machine")
    with pytest.raises(Error, match="is a link, not a folder"):
        attach()
    assert list((tmp_path / "private").iterdir()) == []


@as_root
def test_a_state_folder_behind_a_link_of_another_user_is_refused(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.chmod(0o777)  # not sticky: there, the kernel itself may refuse such a link
    (tmp_path / "private").mkdir()
    another_user("ln", "-s", tmp_path / "private", shared / "state")
    monkeypatch.setenv("TREMULA_STATE_DIR", str(shared / "state"))
    with pytest.raises(Error, match=f"is a link of another user .owner uid {ANOTHER}"):
        attach()
    assert list((tmp_path / "private").iterdir()) == []


@as_root
def test_a_state_folder_of_another_user_is_refused(state: Path) -> None:
    os.chown(state, ANOTHER, ANOTHER)
    with pytest.raises(Error, match=f"belongs to another user .owner uid {ANOTHER}, mode 1777"):
        attach()


@as_root
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_users_of_a_sticky_folder_keep_apart(
    state: Path, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(shared))
    child = os.fork()
    if child == 0:  # the files of Python may be root's alone, so another program cannot be started
        code = 1
        try:
            os.setgroups([])
            os.setgid(ANOTHER)
            os.setuid(ANOTHER)
            attach()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert (state / "machine").stat().st_uid == ANOTHER
    with pytest.raises(Error, match="TREMULA_STATE_DIR"):
        attach()


def test_a_link_of_ones_own_leads_to_the_state_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "state").symlink_to(tmp_path / "scratch")
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "state"))
    attach()
    assert list((tmp_path / "scratch").glob("machine/*/*/holds"))


def test_folders_of_the_virtual_ipus_are_the_users_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "a" / "state"))
    before = os.umask(0o002)
    try:
        attach()
    finally:
        os.umask(before)
    made = [tmp_path / "a", *(tmp_path / "a").rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in made if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in made if path.is_file()} == {0o600}


def test_a_state_folder_that_a_group_can_write_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import grp

    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o2775)
    monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group(("lab", "x", gid, ["ada"])))
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "state"))
    with pytest.raises(Error, match=r"the group lab can write to .*mode 2775.*chmod g-w"):
        attach()
    (tmp_path / "state").chmod(0o3775)  # sticky
    attach()


# -- files ------------------------------------------------------------------------------------------------


def _a_pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def _a_device(path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make a device")
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("devices cannot be made here")


def _a_folder(path: Path) -> None:
    path.mkdir()


def _a_dangling_link(path: Path) -> None:
    path.symlink_to(path.parent / "made")


def _a_second_name(path: Path) -> None:
    (path.parent / "important").write_text("important")
    os.link(path.parent / "important", path)


@pytest.mark.parametrize("plant", [_a_pipe, _a_device, _a_folder, _a_dangling_link, _a_second_name])
@pytest.mark.parametrize("name", ["counters", "holds"])
def test_only_regular_files_with_one_name_are_written(
    name: str, plant: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path))
    folder = folder_of(current())
    plant(folder / name)
    before = {path.name: path.lstat().st_size for path in folder.iterdir()}
    with pytest.raises(Error, match="TREMULA_STATE_DIR") as refused:
        attach()
    assert str(folder / name) in refused.value.message
    after = {path.name: path.lstat().st_size for path in folder.iterdir()}
    assert {each: after[each] for each in before} == before
    assert "made" not in after


@as_root
def test_a_file_of_another_user_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("theirs")
    os.chown(path, ANOTHER, ANOTHER)
    with pytest.raises(Untrusted, match=f"owned by another user .owner uid {ANOTHER}, mode 0644"):
        private_files.open_to_update(path)
    with pytest.raises(Untrusted, match="owned by another user"):
        private_files.read(path, 100)
    assert private_files.read(path, 100, of_anybody=True) == b"theirs"


def test_a_folder_is_checked_when_a_file_is_opened_in_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(Untrusted, match="everybody can write"):
        private_files.open_to_update(tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_ones_own_becomes_private(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    path.chmod(0o666)
    os.close(private_files.open_to_update(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_links_and_owners_files_are_opened_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("getuid", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY", "fchmod", "listxattr"):
        monkeypatch.delattr(os, name)
    monkeypatch.setattr(os, "supports_dir_fd", set())
    folder = private_files.make_directory(tmp_path / "a", "b")
    for _ in range(2):
        os.close(private_files.open_to_update(folder / "file"))
    (folder / "link").symlink_to(folder / "file")
    with pytest.raises(Untrusted, match="a link, not a file"):
        private_files.open_to_update(folder / "link")


# -- the usual state folder -------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the platform's usual state folder is."""
    monkeypatch.delenv("TREMULA_STATE_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    (tmp_path / "temporary").mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_the_usual_folder_is_closed_to_others(home: Path) -> None:
    (home / "tremula" / "machine").mkdir(parents=True)
    for path in (home / "tremula", home / "tremula" / "machine"):
        path.chmod(0o777)
    assert state_folder().problem == ""
    assert state_subfolder("machine") == home / "tremula" / "machine"
    for path in (home / "tremula", home / "tremula" / "machine"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


@as_root
def test_a_usual_folder_of_another_user_gives_way_to_a_temporary_one(home: Path, tmp_path: Path) -> None:
    (home / "tremula").mkdir()
    os.chown(home / "tremula", ANOTHER, ANOTHER)
    found = state_folder()
    assert found.path.parent == tmp_path / "temporary"
    assert f"{home / 'tremula'} belongs to another user (owner uid {ANOTHER}" in found.warning


def test_a_home_below_a_folder_of_a_group_will_do(home: Path) -> None:
    home.chmod(0o2775)
    assert state_folder().problem == ""
    assert state_subfolder("machine") == home / "tremula" / "machine"


# -- records of runs and reports --------------------------------------------------------------------------


def a_run() -> ledger.Run:
    return ledger.Run("train.py", 1, 2.0)


def test_the_record_of_runs_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "state"))
    ledger.append(a_run())
    (tmp_path / "state" / "runs.jsonl").chmod(0o644)  # as earlier versions left it
    ledger.append(a_run())
    assert len(ledger.read()) == 2
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "state").iterdir()} == {0o600}


@as_root
def test_a_planted_record_of_runs_is_not_read_and_gives_way(
    state: Path, victim: Path, said: list[str]
) -> None:
    another_user("ln", "-s", victim, state / "runs.jsonl")
    assert ledger.read() == []
    (text,) = said
    assert f"{state / 'runs.jsonl'}, cannot be read: it is a link, not a file (owner uid {ANOTHER})" in text
    ledger.append(a_run())
    assert len(ledger.read()) == 1
    assert victim.read_text() == "important"


@as_root
def test_a_planted_lock_is_not_opened(state: Path, victim: Path) -> None:
    another_user("ln", "-s", victim, state / "runs.lock")
    with pytest.raises(Untrusted, match=r"runs.lock is a link, not a file"):
        ledger.append(a_run())
    assert victim.read_text() == "important"


@as_root
def test_a_program_ends_well_without_a_record_of_its_run(
    state: Path, victim: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    another_user("ln", "-s", victim, state / "runs.lock")
    run = ledger.Run("train.py", os.getpid(), 2.0)
    ledger._at_exit(run)
    (text,) = [each for each in said if "record of this run" in each]
    assert str(state / "runs.jsonl") in text
    assert "a link, not a file" in text
    assert victim.read_text() == "important"


@as_root
@pytest.mark.parametrize("trap", ["folder", "link"])
def test_no_report_is_written_into_what_another_user_planted(trap: str, shared: Path, tmp_path: Path) -> None:
    shared.chmod(0o1777)
    target = tmp_path / "private"
    target.mkdir()
    (target / "profile.pop").write_text("important")
    if trap == "folder":
        another_user("mkdir", shared / "training")
    else:
        another_user("ln", "-s", target, shared / "training")
    with (
        pytest.raises(Error, match=f"another user .owner uid {ANOTHER}"),
        ProfileWriter(shared / "training" / "profile.pop"),
    ):
        pass
    assert (target / "profile.pop").read_text() == "important"
    assert [path.name for path in (shared / "training").iterdir()] == (
        [] if trap == "folder" else ["profile.pop"]
    )


def test_report_folders_are_readable_and_nobody_else_can_write_to_them(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        with ProfileWriter(tmp_path / "reports" / "training" / "profile.pop"):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "reports" / "training").stat().st_mode) == 0o755
