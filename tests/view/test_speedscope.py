"""The export to speedscope: stacks of modules whose weights add up to the work of each IPU."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tremula.profile import Profile
from tremula.view import speedscope
from tremula.view.speedscope import write_speedscope


def _written(path: Path) -> tuple[dict, Profile]:  # type: ignore[type-arg]
    file = io.StringIO()
    with Profile(path) as profile:
        count = write_speedscope(profile, file)
        document = json.loads(file.getvalue())
        assert count == sum(len(each["samples"]) for each in document["profiles"])
        assert profile.ops
    return document, profile


def test_weights_add_up_to_the_work_of_each_ipu(profile_file: Path) -> None:
    document, profile = _written(profile_file)
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    by_ipu: dict[int, float] = {}
    for op in profile.ops:
        by_ipu[op.ipu] = by_ipu.get(op.ipu, 0.0) + op.cycles
    clock = profile.target.clock_hz
    for each, (_, cycles) in zip(document["profiles"], sorted(by_ipu.items()), strict=True):
        assert each["type"] == "sampled"
        assert sum(each["weights"]) == pytest.approx(cycles / clock * 1e6, rel=1e-4)
        assert each["endValue"] == pytest.approx(sum(each["weights"]))
        assert len(each["weights"]) == len(each["samples"])


def test_stacks_end_in_an_op_and_what_it_does(profile_file: Path) -> None:
    document, profile = _written(profile_file)
    frames = document["shared"]["frames"]
    stack = [frames[number]["name"] for number in document["profiles"][0]["samples"][0]]
    assert stack[-1] in ("compute", "exchange", "sync")
    assert stack[-2] == profile.ops[0].name.rpartition("/")[2]
    assert "modelled" in document["name"]


def test_hostile_names_are_cleaned(hostile_file: Path) -> None:
    document, _ = _written(hostile_file)
    text = json.dumps(document, ensure_ascii=False)
    assert "\x1b" not in text
    assert "‮" not in text


def test_a_large_profile_keeps_its_largest_ops(profile_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speedscope, "MOST_SAMPLES", 6)
    document, profile = _written(profile_file)
    assert "smallest ops are left out" in document["name"]
    largest = max(profile.ops, key=lambda op: op.cycles)
    assert largest.name.rpartition("/")[2] in {frame["name"] for frame in document["shared"]["frames"]}
