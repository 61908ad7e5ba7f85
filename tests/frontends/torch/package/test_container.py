"""The container: what is written comes back; what is damaged, foreign or of another version is refused."""

from __future__ import annotations

import contextlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.frontends.torch.package import container


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = str(tmp_path / "model.poptorch")
    container.write(
        path, {"manifest": {"answer": 42}, "program": [1, "two"]}, {"program": {"w": torch.arange(6.0)}}
    )
    return path


def _rewrite(path: str, **change: Any) -> None:
    """Write the container anew, with entries replaced, added, or with another compression."""
    compression = change.pop("compression", zipfile.ZIP_STORED)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    entries.update({name.replace("__", "."): data for name, data in change.items()})
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


def test_what_is_written_comes_back(file: str) -> None:
    with container.opened(file) as opened:
        assert opened.manifest["answer"] == 42
        assert opened.document("program") == [1, "two"]
        assert torch.equal(opened.tensors("program")["w"], torch.arange(6.0))
        assert opened.tensors("model") == {}
        assert not opened.has("model")


def test_equal_contents_make_equal_files(file: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other")
    container.write(
        other, {"manifest": {"answer": 42}, "program": [1, "two"]}, {"program": {"w": torch.arange(6.0)}}
    )
    assert Path(file).read_bytes() == Path(other).read_bytes()


def test_tensors_that_share_memory_are_stored_apart(tmp_path: Path) -> None:
    base = torch.arange(12.0).reshape(3, 4)
    path = str(tmp_path / "f")
    container.write(path, {"manifest": {}}, {"model": {"a": base, "b": base[1], "c": base.t()}})
    with container.opened(path) as opened:
        found = opened.tensors("model")
    assert torch.equal(found["b"], base[1])
    assert torch.equal(found["c"], base.t())


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Path(file).read_bytes()

    def full(descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Error, match="no space left"):
        container.write(file, {"manifest": {"answer": 43}}, {})
    assert Path(file).read_bytes() == before
    assert os.listdir(os.path.dirname(file)) == [os.path.basename(file)]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(Error, match=r"There is no file .*nowhere"),
        container.opened(str(tmp_path / "nowhere")),
    ):
        pass


@pytest.mark.parametrize("content", [b"", b"PK", b"\x80\x04K\x01.", b"\x00" * 5000])
def test_foreign_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(Error, match="foreign"), container.opened(str(path)):
        pass


def test_a_zip_of_something_else_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "archive.zip")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(Error, match="does not belong"), container.opened(path):
        pass


@pytest.mark.parametrize(
    "name", ["../manifest.json", "/etc/passwd", "data.pkl", "program.json/x", "manifest.JSON"]
)
def test_other_entries_are_refused(file: str, name: str) -> None:
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(name, b"x")
    with pytest.raises(Error, match="does not belong"), container.opened(file):
        pass


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_that_is_there_twice_is_refused(file: str) -> None:
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("program.json", b"{}")
    with pytest.raises(Error, match="does not belong"), container.opened(file):
        pass


def test_compressed_entries_are_refused_so_nothing_can_explode(file: str) -> None:
    _rewrite(file, program__json=b" " * 10_000_000 + b"1", compression=zipfile.ZIP_DEFLATED)
    assert os.path.getsize(file) < 100_000
    with pytest.raises(Error, match="compressed"), container.opened(file):
        pass


def test_another_format_version_is_told_apart(file: str) -> None:
    manifest = {"format": container.FORMAT, "format_version": container.FORMAT_VERSION + 1}
    _rewrite(file, manifest__json=json.dumps(manifest))
    with pytest.raises(container.OtherVersion, match="version 2"), container.opened(file):
        pass


@pytest.mark.parametrize("text", [b"NaN", b"{", b"\xff", b"[" * 100_000, b"1" * 10_000])
def test_documents_that_are_not_json_are_refused(file: str, text: bytes) -> None:
    _rewrite(file, program__json=text)
    with container.opened(file) as opened, pytest.raises(Error, match=r"program\.json is not readable"):
        opened.document("program")


def test_tensors_that_are_not_safetensors_are_refused(file: str) -> None:
    _rewrite(file, program__safetensors=b"\x80\x04K\x01.")
    with (
        container.opened(file) as opened,
        pytest.raises(Error, match=r"program\.safetensors is not readable"),
    ):
        opened.tensors("program")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(data=st.data())
def test_damage_never_goes_unnoticed_nor_surprises(file: str, data: st.DataObject) -> None:
    """Cut short or with a byte changed, a file is refused with an Error, or (slack bytes) reads as before."""
    whole = Path(file).read_bytes()
    if data.draw(st.booleans()):
        damaged = whole[: data.draw(st.integers(0, len(whole) - 1))]
    else:
        position = data.draw(st.integers(0, len(whole) - 1))
        flipped = whole[position] ^ data.draw(st.integers(1, 255))
        damaged = whole[:position] + bytes([flipped]) + whole[position + 1 :]
    path = file + ".damaged"
    Path(path).write_bytes(damaged)
    with contextlib.suppress(Error), container.opened(path) as opened:
        assert opened.manifest["answer"] == 42
        assert opened.document("program") == [1, "two"]
        assert torch.equal(opened.tensors("program")["w"], torch.arange(6.0))


def test_files_of_one_kind_are_not_taken_for_another(file: str, tmp_path: Path) -> None:
    other = container.Layout("other", 1, ("manifest",), (), ("net.bin",), what="net", makers="make()")
    path = str(tmp_path / "net")
    container.write(path, {"manifest": {}}, {}, {"net.bin": b"\0\1"}, other)
    with container.opened(path, other) as opened:
        assert opened.data("net.bin") == b"\0\1"
    with (
        pytest.raises(Error, match=r"does not belong .* compiled models are written by"),
        container.opened(path),
    ):
        pass
    with pytest.raises(Error, match=r"nets are written by make\(\)"), container.opened(file, other):
        pass
