"""Frames: what goes in comes out, whole or in windows, and damage is told."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.memory.tiles import laid_out
from tremula.profile import Profile, ProfileWriter, frame_reader, frame_writer
from tremula.profile.chunks import packed_floats, packed_ints, packed_texts, unpacked_numbers, unpacked_texts
from tremula.profile.frames import FRAMES
from tremula.profile.schema import CHUNK_ROWS, MAX_TEXT
from tremula.profile.variables import linear, on_tiles

_CONTEXTS: dict[str, Any] = {
    "parent": -1, "name": "", "layer": "", "file": "", "line": -1, "function": "", "op_id": -1
}  # fmt: skip


@given(st.lists(st.integers(-1, 2**53), min_size=1, max_size=60))
def test_integers_come_back(values: list[int]) -> None:
    stored, blob = packed_ints(np.array(values))
    assert unpacked_numbers(stored, blob, len(values)).tolist() == values


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=60))
def test_floating_point_numbers_come_back(values: list[float]) -> None:
    stored, blob = packed_floats(np.array(values))
    assert unpacked_numbers(stored, blob, len(values)).tolist() == values


@given(st.lists(st.text(max_size=30), min_size=1, max_size=60))
def test_texts_come_back(texts: list[str]) -> None:
    texts = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    stored, blob = packed_texts(texts)
    assert unpacked_texts(stored, blob, len(texts)) == texts


@pytest.mark.parametrize("stored", ["i1", "i8", "d1", "d4", "d8", "f8", "x4", "", "i3", "text"])
@given(blob=st.binary(max_size=60), rows=st.integers(1, 8))
@settings(max_examples=30)
def test_any_bytes_are_numbers_or_a_value_error(stored: str, blob: bytes, rows: int) -> None:
    for unpack in (unpacked_numbers, unpacked_texts):
        with contextlib.suppress(ValueError):
            assert len(unpack(stored, blob, rows)) == rows


@settings(max_examples=15)
@given(
    lengths=st.lists(st.sampled_from([0, 1, 7, 5_000, CHUNK_ROWS, 2 * CHUNK_ROWS + 3]), max_size=5),
    data=st.data(),
)
def test_pieces_of_any_length_are_one_frame(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("frame") / "profile.pop"
    total = sum(lengths)
    lines, names = np.arange(total) * 7 % 1_000_003, [f"name {n % 91}" for n in range(total)]
    with ProfileWriter(path) as writer:
        at = 0
        for length in lengths:
            part = slice(at, at + length)
            writer.frame("contexts").add({**_CONTEXTS, "line": lines[part], "name": names[part]})
            at += length
    first, rows = data.draw(st.integers(0, total)), data.draw(st.integers(0, total))
    with Profile(path) as profile:
        frame = profile.frame("contexts")
        assert len(frame) == total
        assert frame.window("line", first, rows).tolist() == lines[first : first + rows].tolist()
        assert frame.window("name", first, rows) == names[first : first + rows]
        assert frame.column("line").tolist() == lines.tolist()
        assert frame.column("name") == names
        if total:
            assert frame.bounds("line") == (lines.min(), lines.max())


def test_a_window_reads_only_the_chunks_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "profile.pop"
    with ProfileWriter(path) as writer:
        writer.frame("contexts").add({**_CONTEXTS, "line": np.arange(5 * CHUNK_ROWS)})
    with Profile(path) as profile:
        read: list[int] = []
        frame = profile.frame("contexts")
        fetch = frame._fetch
        frame._fetch = lambda blob: (read.append(blob), fetch(blob))[1]  # type: ignore[func-returns-value]
        frame.window("line", 2 * CHUNK_ROWS - 1, 2)
        frame.window("line", 2 * CHUNK_ROWS, 10)
        assert len(read) == 2


def test_arrays_cannot_be_changed_by_a_reader(profile_file: Path) -> None:
    with Profile(profile_file) as profile, pytest.raises(ValueError, match="read-only"):
        profile.frame("programs").column("parent")[0] = 5


def test_rows_beyond_the_limit_are_counted(tmp_path: Path) -> None:
    most = FRAMES["lanes"].most_rows
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.frame("lanes").add(
            {"run": -1, "ipu": -1, "first_step": -1, "steps": np.zeros(most + 9), "cycles": 0}
        )
    with Profile(tmp_path / "profile.pop") as profile:
        assert len(profile.frame("lanes")) == most
        assert profile.meta["left_out:frame:lanes"] == "9"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"name": ["a"]}, "missing"),
        ({**_CONTEXTS, "more": 1}, "more missing, or not of the frame"),
        ({**_CONTEXTS, "line": [1, 2], "name": ["a"]}, "different lengths"),
        ({**_CONTEXTS, "line": [-5]}, "line has values from -5"),
        ({**_CONTEXTS, "line": [2**60]}, "line has values"),
    ],
)
def test_faults_of_a_writer_are_told(tmp_path: Path, columns: dict[str, Any], said: str) -> None:
    def write() -> None:
        with ProfileWriter(tmp_path / "profile.pop") as writer:
            writer.frame("contexts").add(columns)

    with pytest.raises(Error, match=said):
        write()
    assert list(tmp_path.iterdir()) == []


def test_hostile_names_are_stored_as_text(tmp_path: Path) -> None:
    names = [
        "</script><script>alert(1)",
        "\x1b[2J\0",
        "'; DROP TABLE meta; --",
        "\ud800",
        "ü" * 9_999,
        "[]",
        '"',
    ]
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.frame("contexts").add({**_CONTEXTS, "name": names})
    with Profile(tmp_path / "profile.pop") as profile:
        found = profile.frame("contexts").column("name")
    assert found[:3] == names[:3]
    assert found[3] == "?"
    assert len(found[4]) == MAX_TEXT
    assert found[5:] == names[5:]


@pytest.mark.parametrize("letter", ["x", "\U0001f600"])
def test_long_names_go_into_smaller_chunks(tmp_path: Path, letter: str) -> None:
    names = [letter * MAX_TEXT] * 1_500
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.frame("contexts").add({**_CONTEXTS, "name": names, "file": names})
    with Profile(tmp_path / "profile.pop") as profile:
        assert profile.frame("contexts").column("name") == names
        assert profile.frame("contexts").window("file", 700, 3) == names[:3]
        assert len(profile.frame("contexts")._chunks["name"]) > 2


def test_a_column_has_a_limit_of_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_writer, "MAX_COLUMN_TEXT", 1_000)
    monkeypatch.setattr(frame_reader, "MAX_COLUMN_TEXT", 1_000)
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        for _ in range(15):
            writer.frame("contexts").add({**_CONTEXTS, "name": ["y" * 50] * 2})
    with Profile(tmp_path / "profile.pop") as profile:
        assert profile.frame("contexts").column("name") == ["y" * 50] * 20 + ["y"] * 10
    monkeypatch.setattr(frame_reader, "MAX_COLUMN_TEXT", 100)
    with Profile(tmp_path / "profile.pop") as profile, pytest.raises(Error, match="too many characters"):
        profile.frame("contexts").column("name")


def _copy(source: Path, folder: Path) -> tuple[Path, sqlite3.Connection]:
    path = folder / "profile.pop"
    shutil.copy(source, path)
    return path, sqlite3.connect(path, isolation_level=None)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE blobs SET data=zeroblob(length(data))", "does not match its hash"),
        ("DELETE FROM blobs", "not there"),
        ("UPDATE blobs SET data='text'", "not there"),
        ("UPDATE columns SET hash='0'", "do not match their digest"),
        ("DELETE FROM columns WHERE frame='programs'", "do not match their digest"),
        ("UPDATE columns SET blob=blob+1", "do not match their digest"),
    ],
)
def test_damaged_frames_are_refused(profile_file: Path, tmp_path: Path, statement: str, said: str) -> None:
    path, connection = _copy(profile_file, tmp_path)
    connection.execute(statement)
    connection.close()
    with Profile(path) as profile, pytest.raises(Error, match=said) as problem:
        profile.frame("programs").column("parent")
    assert str(path) in problem.value.message


_HOSTILE: list[tuple[str, str, str, Any, str]] = [
    ("op", "programs", "op_id", 10**6, "refers to rows that do not exist"),
    ("later parent", "programs", "parent", 3, "refers to later rows"),
    ("itself", "contexts", "parent", 1, "refers to later rows"),
    ("category", "variables", "category", 99, "refers to rows that do not exist"),
    ("compute set", "programs", "compute_set", 10**6, "refers to rows that do not exist"),
]


@pytest.mark.parametrize(
    ("frame", "column", "value", "said"), [h[1:] for h in _HOSTILE], ids=[h[0] for h in _HOSTILE]
)
def test_values_that_cannot_be_are_refused_even_with_matching_hashes(
    profile_file: Path,
    tmp_path: Path,
    rewrite_profile: Callable[..., Path],
    frame: str,
    column: str,
    value: int,
    said: str,
) -> None:
    def change(name: str, columns: dict[str, Any]) -> dict[str, Any]:
        if name == frame:
            values = np.array(columns[column])
            values[min(1, len(values) - 1)] = value
            return {**columns, column: values}
        return columns

    path = rewrite_profile(profile_file, tmp_path / "profile.pop", change_frame=change)
    with Profile(path) as profile, pytest.raises(Error, match=said):
        profile.frame(frame).column(column)


@given(sizes=st.lists(st.integers(0, 2**30), min_size=1, max_size=20), tiles=st.integers(1, 1_500))
def test_variables_lie_as_the_memory_model_lays_them_out(sizes: list[int], tiles: int) -> None:
    array = np.array(sizes)
    count, share = linear(array, tiles)
    found = on_tiles(np.zeros_like(array), count, share, array, tiles)
    assert found.tolist() == laid_out(sizes, tiles).tolist()
    assert int(found.sum()) == sum(sizes)
