"""`tremula cache`: shows what is there, says what is wrong, removes only what it was asked to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tremula.cache import Store, key_of
from tremula.cli.main import main
from tremula.settings import VARIABLES


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable.name, raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Three entries, the first one used longest ago, in the folder that the environment names."""
    made = Store(tmp_path / "cache")
    monkeypatch.setenv("POPTORCH_CACHE_DIR", str(made.root))
    for n in range(3):
        key = key_of({"n": n})
        made.put(key, {"about": f"training of Net{n}", "torch": "2.13.0"}, {"model.so": bytes(5000)})
        os.utime(made.root / f"{key}.popef", (1_000_000 + n, 1_000_000 + n))
    return made


def key(n: int) -> str:
    return key_of({"n": n})


def damage(store: Store, n: int) -> None:
    path = store.root / f"{key(n)}.popef"
    path.write_bytes(path.read_bytes()[:-1])


Capture = pytest.CaptureFixture[str]


def test_ls_lists_the_most_recent_first(store: Store, capsys: Capture) -> None:
    assert main(["cache", "ls"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == [key(n)[:12] for n in (2, 1, 0)]
    assert "5.2 KiB" in lines[1]
    assert lines[1].rstrip().endswith("training of Net2")
    assert lines[-1].startswith("3 entries, 15.")
    assert str(store.root) in lines[-1]


def test_ls_of_another_folder_and_of_none(store: Store, tmp_path: Path, capsys: Capture) -> None:
    assert main(["cache", "ls", "--dir", str(tmp_path / "none")]) == 0
    assert capsys.readouterr().out.startswith("0 entries, 0 B in ")
    (tmp_path / "file").write_text("")
    assert main(["cache", "ls", "--dir", str(tmp_path / "file")]) == 1
    assert "cannot be read" in capsys.readouterr().err


def test_without_a_name_it_is_the_users_own_folder(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tremula.cli.cache.default_root", lambda: tmp_path / "own")
    assert main(["cache", "ls"]) == 0
    assert str(tmp_path / "own") in capsys.readouterr().out


def test_ls_for_scripts(store: Store, capsys: Capture) -> None:
    damage(store, 0)
    assert main(["cache", "ls", "--json"]) == 0
    rows = {row["key"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows[key(1)]["metadata"]["about"] == "training of Net1"
    assert rows[key(1)]["blobs"] == {"model.so": 5000}
    assert rows[key(1)]["last_used"] == 1_000_001
    assert rows[key(0)]["problem"].startswith("corrupt")


def test_info_of_one_entry(store: Store, capsys: Capture) -> None:
    assert main(["cache", "info", key(1)[:8].upper()]) == 0
    out = capsys.readouterr().out
    assert all(text in out for text in (key(1), "training of Net1", "2.13.0", "model.so, 4.9 KiB", "sound"))
    damage(store, 1)
    assert main(["cache", "info", key(1), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["problem"] == "corrupt: cut short"


def test_info_needs_one_entry(store: Store, capsys: Capture) -> None:
    assert main(["cache", "info", "xyz"]) == 1
    assert "no entry" in capsys.readouterr().err
    assert main(["cache", "info", ""]) == 1
    assert "3 entries" in capsys.readouterr().err


def test_prune_by_size_and_age(store: Store, capsys: Capture) -> None:
    assert main(["cache", "prune", "--max-size", "12K"]) == 0
    assert capsys.readouterr().out.startswith("Removed 1 entry (5.2 KiB).")
    assert not (store.root / f"{key(0)}.popef").exists()
    os.utime(store.root / f"{key(1)}.popef")
    assert main(["cache", "prune", "--older-than", "30d"]) == 0
    assert [path.name for path in store.root.iterdir()] == [f"{key(1)}.popef"]
    assert main(["cache", "prune", "--max-size", "much"]) == 2
    assert "500M" in capsys.readouterr().err


def test_clear_asks_first(store: Store, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert main(["cache", "clear"]) == 1
    assert "--yes" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: "n")
    assert main(["cache", "clear"]) == 1
    assert len(list(store.root.iterdir())) == 3
    monkeypatch.setattr("builtins.input", lambda prompt: "y")
    assert main(["cache", "clear"]) == 0
    assert list(store.root.iterdir()) == []


def test_clear_leaves_other_files(store: Store, capsys: Capture) -> None:
    (store.root / "notes.txt").write_text("mine")
    assert main(["cache", "clear", "--yes"]) == 0
    assert capsys.readouterr().out.startswith("Removed 3 entries")
    assert [path.name for path in store.root.iterdir()] == ["notes.txt"]


def test_verify_decides_the_exit_code(store: Store, capsys: Capture) -> None:
    assert main(["cache", "verify"]) == 0
    assert "3 of 3 entries sound" in capsys.readouterr().out
    damage(store, 1)
    assert main(["cache", "verify"]) == 1
    out = capsys.readouterr().out
    assert key(1)[:12] in out
    assert "cut short" in out
    assert "2 of 3 entries sound" in out
    assert main(["cache", "verify", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["problem"] is None
    assert sum(row["problem"] is None for row in report["files"]) == 2


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no modes here")
def test_a_folder_that_programs_do_not_use_is_pointed_out_and_no_other_is_touched(
    store: Store, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Store(tmp_path / "own")
    own.put(key(7), {}, {})
    monkeypatch.setattr("tremula.cli.cache.default_root", lambda: own.root)
    store.root.chmod(0o777)
    assert main(["cache", "verify"]) == 1
    assert "chmod go-w" in capsys.readouterr().err
    assert main(["cache", "clear", "--yes"]) == 0
    assert list(store.root.iterdir()) == []
    assert own.get(key(7)).reason == "hit"


def test_nothing_from_disk_steers_the_terminal(store: Store, capsys: Capture) -> None:
    store.put(key(9), {"about": "\x1b[2J[bold]x\x07", "\x1b[31m": "\x9b5m"}, {"\x1b]0;so\x07": b"x"})
    for command in (["ls"], ["info", key(9)], ["ls", "--json"], ["verify"], ["info", key(9), "--json"]):
        assert main(["cache", *command]) == 0
        out = capsys.readouterr().out
        assert all(char.isprintable() or char == "\n" for char in out)
    assert main(["cache", "ls"]) == 0
    assert r"\x1b[2J[bold]x\x07" in capsys.readouterr().out


def test_the_command_does_not_load_torch(store: Store) -> None:
    script = (
        "import sys; from tremula.cli.main import main; code = main(['cache', 'verify']); "
        "sys.exit(code or 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
