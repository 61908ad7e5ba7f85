"""The file of an executable."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tremula.frontends.tensorflow.executables import container
from tremula.frontends.tensorflow.executables.container import Argument, Executable, ExecutableError, Feed
from tremula.frontends.tensorflow.executables.signature import Entry, Shape, Signature


def _executable() -> Executable:
    matrix, scalar = Shape("float32", [2, 3]), Shape("int32", [])
    return Executable(
        Signature(
            inputs=[Entry("XLA_Args/w", matrix, 0)],
            outputs=[Entry("out", scalar)],
            streamed_inputs=[Entry("in.0", matrix, 0)],
            streamed_outputs=[Entry("out.0", scalar, 0)],
        ),
        [
            Argument("w", container.VARIABLE, matrix),
            Argument("c", container.CONSTANT, scalar),
            Argument("v", container.FROZEN, matrix),
        ],
        ["out:0"],
        ["enqueue"],
        [Feed("in", 1)],
        [Feed("out", 1)],
        b"graph",
        {1: np.int32(7), 2: np.ones((2, 3), np.float32)},
        ipus=2,
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.poplar_exec"
    container.write(path, _executable())
    found, written = container.read(path), _executable()
    for name in ("signature", "arguments", "outputs", "controls", "infeeds", "outfeeds", "graph", "ipus"):
        assert getattr(found, name) == getattr(written, name)
    assert found.values[1] == 7
    np.testing.assert_array_equal(found.values[2], written.values[2])


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExecutableError, match=r"Failed to open file for writing.*absent"):
        container.write(tmp_path / "absent" / "a.poplar_exec", _executable())
    with pytest.raises(ExecutableError, match=r"b\.poplar_exec cannot be read"):
        container.read(tmp_path / "b.poplar_exec")


def test_an_older_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.poplar_exec"
    container.write(path, _executable())
    before = path.read_bytes()
    broken = _executable()
    broken.values[2] = np.array([object()])
    with pytest.raises(TypeError, match="Cannot cast"):
        container.write(path, broken)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.poplar_exec"]


def _members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _changed(tmp_path: Path, change: Any, compression: int = zipfile.ZIP_STORED) -> Path:
    path = tmp_path / "changed.poplar_exec"
    container.write(path, _executable())
    members = _members(path)
    description = json.loads(members[container.DESCRIPTION])
    change(members, description)
    members[container.DESCRIPTION] = json.dumps(description).encode()
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda members, description: members.update({"../evil": b""}),
        lambda members, description: members.pop("values/2.bin"),
        lambda members, description: description.update(version=2),
        lambda members, description: description.update(more=1),
        lambda members, description: description.update(ipus=-1),
        lambda members, description: description.update(outputs="out:0"),
        lambda members, description: description["signature"].pop("inputs"),
        lambda members, description: description["signature"]["inputs"][0].update(argument=5),
        lambda members, description: description["signature"]["inputs"].clear(),
        lambda members, description: description["signature"]["streamed_inputs"].clear(),
        lambda members, description: description["arguments"][0].update(role="code"),
        lambda members, description: description["arguments"][1]["shape"].update(dtype="object"),
        lambda members, description: description["arguments"][1]["shape"].update(
            dimensions=[1 << 40, 1 << 40]
        ),
        lambda members, description: description["arguments"][2]["shape"].update(dimensions=[3, 3]),
        lambda members, description: description["infeeds"][0].update(elements=True),
        lambda members, description: members.update({"values/1.bin": b"abc"}),
    ],
)
def test_files_that_do_not_hold_together_are_refused(tmp_path: Path, change: Any) -> None:
    path = _changed(tmp_path, change)
    with pytest.raises(ExecutableError, match=r"changed\.poplar_exec is not an executable"):
        container.read(path)


def test_compressed_members_are_refused(tmp_path: Path) -> None:
    path = _changed(tmp_path, lambda members, description: None, zipfile.ZIP_DEFLATED)
    with pytest.raises(ExecutableError, match="compressed"):
        container.read(path)


@pytest.mark.parametrize("data", [b"", b"PK", b"{}", b"\x00" * 100])
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(data)
    with pytest.raises(ExecutableError, match="other is not an executable"):
        container.read(path)
