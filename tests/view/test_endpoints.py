"""Answers to a page: plain JSON, bounded, and the same figures wherever one looks."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.profile import Profile
from tremula.view import frame_answers, variable_answers
from tremula.view.endpoints import WHATS, answer, frame_answer
from tremula.view.packed import packed_numbers, packed_texts

_NEEDED = {
    "reason": {"plan": "0"},
    "tile_variables": {"ipu": "1", "tile": "3"},
    "alive": {"step": "5"},
    "children": {"node": "0"},
    "program_node": {"node": "4"},
    "program_search": {"text": "mm"},
    "search": {"text": "mm"},
}


def _numbers(packed: dict[str, str]) -> Any:
    kind, text = next(iter(packed.items()))
    return np.frombuffer(base64.b64decode(text), dtype="<" + kind)


@given(st.lists(st.integers(-(2**53), 2**53)) | st.lists(st.floats(-1e30, 1e30)))
def test_numbers_survive_their_packing(values: list[float]) -> None:
    assert _numbers(packed_numbers(values)).tolist() == values


@given(st.lists(st.text(max_size=5), max_size=30))
def test_texts_survive_their_packing(values: list[str]) -> None:
    packed = packed_texts(values)
    if "strings" in packed:
        assert packed["strings"] == values
    else:
        at = np.frombuffer(base64.b64decode(packed["at"]), dtype="<i4")
        assert [packed["texts"][number] for number in at] == values


@pytest.mark.parametrize("kind", ["profile_file", "hostile_file"])
@pytest.mark.parametrize("what", [what for what in WHATS if not what.startswith(("trace", "execution"))])
def test_every_answer_is_plain_json(request: pytest.FixtureRequest, kind: str, what: str) -> None:
    with Profile(request.getfixturevalue(kind)) as profile:
        json.dumps(answer(profile, what, _NEEDED.get(what, {})), allow_nan=False)


@pytest.mark.parametrize(
    ("what", "params"),
    [
        ("nothing", {}),
        ("tiles", {"ipu": "99"}),
        ("tiles", {"ipu": "-1"}),
        ("tiles", {"ipu": "1e3"}),
        ("tiles", {"ipu": "٣"}),
        ("tiles", {"ipu": "9" * 400}),
        ("tile_variables", {"ipu": "0"}),
        ("tile_variables", {"ipu": "0", "tile": "1472000"}),
        ("reason", {"plan": "100000"}),
        ("program_node", {"node": "100000000"}),
        ("liveness", {"points": "0"}),
        ("liveness", {"points": "1000000"}),
    ],
)
def test_questions_that_make_no_sense_are_refused(
    profile_file: Path, what: str, params: dict[str, str]
) -> None:
    with Profile(profile_file) as profile, pytest.raises(Error):
        answer(profile, what, params)


def test_frames_and_columns_that_are_not_there_are_refused(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        for name, columns in (
            ("nothing", ["id"]),
            ("ops", ["nothing"]),
            ("programs", ["__class__"]),
            ("ops", ["id"] * 99),
        ):
            with pytest.raises(Error):
                frame_answer(profile, name, columns)


@given(first=st.integers(-5, 400), rows=st.none() | st.integers(-5, 400))
def test_a_window_of_a_frame_is_what_the_frame_has_there(
    profile_file: Path, first: int, rows: int | None
) -> None:
    with Profile(profile_file) as profile:
        found = frame_answer(profile, "programs", ["id", "parent"], first, rows)
        start = min(max(0, first), found["total"])
        wanted = profile.frame("programs").column("parent")[start:][: None if rows is None else max(0, rows)]
        assert found["rows"] == len(wanted)
        assert _numbers(found["columns"]["parent"]).tolist() == wanted.tolist()
        assert _numbers(found["columns"]["id"]).tolist() == list(range(start, start + len(wanted)))


def test_the_number_of_rows_of_an_answer_is_bounded(
    profile_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame_answers, "MOST_ROWS", 7)
    monkeypatch.setattr(variable_answers, "MOST_LISTED", 3)
    with Profile(profile_file) as profile:
        assert frame_answer(profile, "programs", ["id"])["rows"] == 7
        found = answer(profile, "tile_variables", {"ipu": "0", "tile": "0"})
        assert len(found["variables"]) == 3
        assert found["left_out"][0] > 0


def test_variables_of_a_tile_sum_to_its_bytes_and_to_the_summary(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        summary = answer(profile, "summary", {})
        every = _numbers(answer(profile, "tile_map", {})["bytes"]).reshape(len(profile.ipus), -1)
        for ipu, row in enumerate(summary["ipus"]):
            assert every[ipu].sum() == row["total"]
            assert every[ipu][row["fullest"]] == row["max"] == every[ipu].max()
            for tile in (0, 1, row["fullest"], profile.target.tiles_per_ipu - 1):
                found = answer(profile, "tile_variables", {"ipu": str(ipu), "tile": str(tile)})
                listed = sum(variable[4] for variable in found["variables"]) + found["left_out"][1]
                assert listed == every[ipu][tile]


def test_what_is_alive_is_within_the_liveness(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        for ipu in range(len(profile.ipus)):
            curve = answer(profile, "liveness", {"ipu": str(ipu)})
            peak = curve["peak"]
            found = answer(profile, "alive", {"ipu": str(ipu), "step": str(peak)})
            assert found["variables"]
            for variable in found["variables"]:
                assert variable[6] <= peak <= variable[7]
            assert _numbers(curve["live"])[peak] == profile.live_bytes(ipu)[0][peak]


def test_children_lead_to_every_node_of_the_program_once(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        seen: list[int] = []
        waiting = [-1]
        while waiting:
            found = answer(profile, "children", {"node": str(waiting.pop())})
            assert found["total"] == len(found["children"])
            for row in found["children"]:
                seen.append(row[0])
                if row[7]:
                    waiting.append(row[0])
        assert sorted(seen) == list(range(len(profile.frame("programs"))))


def test_a_search_goes_round_the_program(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        first = answer(profile, "program_search", {"text": "mm", "after": "-1"})
        nodes, at = [], -1
        for _ in range(first["total"] + 1):
            found = answer(profile, "program_search", {"text": "mm", "after": str(at)})
            at = found["node"]
            nodes.append(at)
            assert found["path"][-1] == at
        assert nodes[-1] == nodes[0]
        assert nodes[:-1] == sorted(set(nodes[:-1]))
        back = answer(profile, "program_search", {"text": "mm", "after": str(nodes[1]), "back": "1"})
        assert back["node"] == nodes[0]
        assert answer(profile, "program_search", {"text": "no such thing"})["total"] == 0


def test_a_node_says_its_compute_set_vertices_op_and_line(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        sets = profile.frame("programs").column("compute_set")
        node = int(np.flatnonzero(sets >= 0)[0])
        found = answer(profile, "program_node", {"node": str(node)})
        assert found["compute_set"][0] == profile.frame("compute_sets").column("name")[sets[node]]
        assert sum(vertex[1] for vertex in found["vertices"]) == found["compute_set"][1]
        op = profile.ops[found["op"][0]]
        assert found["op"][1:4] == [op.name, op.target, op.module]


def test_a_curve_of_few_points_keeps_its_peak(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        live, temporary = profile.live_bytes(0)
        for points in (1, 3, 10):
            found = answer(profile, "liveness", {"ipu": "0", "points": str(points)})
            assert len(_numbers(found["live"])) <= points
            assert (_numbers(found["live"]) + _numbers(found["temporary"])).max() == (live + temporary).max()
        part = answer(profile, "liveness", {"ipu": "0", "first": "4", "last": "9"})
        assert _numbers(part["live"]).tolist() == live[4:10].tolist()
