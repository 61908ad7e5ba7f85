"""A folder with several reports, and the JSON that a framework and an application leave beside a profile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tremula.errors import Error
from tremula.profile import Profile, ProfileWriter
from tremula.profile.application import read_application, write_framework
from tremula.profile.directory import reports


def _profile(folder: Path) -> Path:
    with ProfileWriter(folder / "profile.pop"):
        pass
    return folder / "profile.pop"


def test_each_engine_has_a_report(tmp_path: Path) -> None:
    training, inference = _profile(tmp_path / "training"), _profile(tmp_path / "inference")
    (tmp_path / "training" / "host.pvti").write_bytes(b"")
    (tmp_path / "only.pvti").write_bytes(b"")
    _profile(tmp_path / ".hidden")
    (tmp_path / "link").symlink_to(tmp_path / "training")
    found = reports(tmp_path)
    assert [(each.name, each.profile) for each in found] == [
        ("inference", inference), (tmp_path.name, None), ("training", training)
    ]  # fmt: skip
    assert [trace.name for trace in found[2].traces] == ["host.pvti"]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(Error, match="cannot be read"):
        reports(tmp_path / "nowhere")


def test_the_application_says_what_it_likes(tmp_path: Path) -> None:
    path = _profile(tmp_path)
    with Profile(path) as profile:
        assert profile.application == {}
    write_framework(tmp_path, {"name": "poptorch", "options": {"replicas": 4}})
    (tmp_path / "app.json").write_text('["</script>", null, 1.5]')
    with Profile(path) as profile:
        assert profile.application == {
            "framework": {"name": "poptorch", "options": {"replicas": 4}}, "app": ["</script>", None, 1.5]
        }  # fmt: skip


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "app.json")
    with pytest.raises(Error, match="not a regular file"):
        read_application(tmp_path)
    os.mkfifo(tmp_path / "profile.pop")
    with pytest.raises(Error, match="not a regular file"):
        Profile(tmp_path / "profile.pop")


@pytest.mark.parametrize(
    "content",
    [b"{", b"\xff\xfe", b"NaN", b"[" * 100_000, b"[" * 40 + b"]" * 40, b'"' + b"x" * 2**21, b'"\\ud800"'],
)
def test_what_is_no_json_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "app.json").write_bytes(content)
    with pytest.raises(Error, match=r"app\.json cannot be read"):
        read_application(tmp_path)
