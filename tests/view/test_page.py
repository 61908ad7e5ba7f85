"""The page as text: self-contained, bounded, escaped."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tremula.errors import Error
from tremula.profile import Profile, model
from tremula.view import page_data as data_module
from tremula.view.page import embedded, page_html, served_page, write_page
from tremula.view.page_data import page_data


def _data(html: str) -> Any:
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert block is not None
    return json.loads(gzip.decompress(base64.b64decode(json.loads(block[1])["gzip"])))


def numbers(packed: dict[str, str]) -> Any:
    """The numbers that a page would unpack."""
    kind, text = next(iter(packed.items()))
    return np.frombuffer(base64.b64decode(text), dtype="<" + kind)


def test_nothing_in_it_points_elsewhere(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        html = page_html(profile)
    own = html.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(https?:)?//[a-z0-9.-]+\.[a-z]{2,}", own.split('id="data">')[0], re.I)
    assert not re.search(r"<[a-z]+[^>]*\b(src|href)\s*=", own)
    assert "innerHTML" not in own
    assert "eval(" not in own


@pytest.mark.parametrize("kind", ["one file", "served"])
def test_the_policy_allows_the_shipped_script_and_style_only(profile_file: Path, kind: str) -> None:
    if kind == "one file":
        with Profile(profile_file) as profile:
            html = page_html(profile)
    else:
        html, said = served_page()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    allowed = policy[1].replace("&#x27;", "'")
    if kind == "served":
        assert allowed == said
    assert "default-src 'none'" in allowed
    assert ("connect-src 'self'" in allowed) == (kind == "served")
    assert "unsafe" not in allowed
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.S)
        assert content is not None
        digest = base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in allowed


def test_hostile_names_stay_inside_the_data(hostile_file: Path) -> None:
    with Profile(hostile_file) as profile:
        html = page_html(profile)
    assert "<script>alert" not in html
    assert "<img" not in html
    assert html.count("</script>") == 2
    assert any(
        "<script>alert(1)</script>" in row[2] for row in _data(html)["answers"]["0/summary"]["options"]
    )


def test_embedded_json_has_no_markup() -> None:
    value = {"a": "</script><!-- & \u2028 \u2029 <"}
    text = embedded(value)
    assert not re.search(r"[<>&\u2028\u2029]", text)
    assert json.loads(text) == value


def test_figures_are_those_of_the_profile(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        answers = _data(page_html(profile))["answers"]
        assert sum(part[2] for part in answers["0/summary"]["breakdown"]) == pytest.approx(
            profile.figures["cycles_per_step"].value
        )
        every = numbers(answers["0/tile_map"]["bytes"]).reshape(len(profile.ipus), -1)
        for ipu, row in enumerate(profile.ipus):
            assert every[ipu].max() == row.max_tile_bytes
            tiles = profile.tile_bytes(ipu)
            for name, _, values in answers[f"0/tiles?ipu={ipu}"]["bands"]:
                assert numbers(values).tolist() == tiles[name].tolist()
            layers = answers[f"0/tiles?by=layer&ipu={ipu}"]["bands"]
            assert sum(numbers(values) for _, _, values in layers).tolist() == every[ipu].tolist()
            live, _ = profile.live_bytes(ipu)
            assert numbers(answers[f"0/liveness?ipu={ipu}"]["live"]).tolist() == live.tolist()
        total = sum(op.cycles for op in profile.ops)
        host = profile.breakdown["host_call"] + profile.breakdown["host_transfer"]
        assert sum(answers["0/modules"]["modules"][0][2:5]) == pytest.approx(total + host, rel=1e-6)


def test_large_reports_are_cut_to_the_largest_and_say_so(
    profile_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("MOST_OPS", 5),
        ("_POINTS", 7),
        ("_LEAST_POINTS", 7),
        ("_REASON_CHARACTERS", 10),
        ("MOST_NODES", 4),
    ):
        monkeypatch.setattr(data_module, name, value)
    with Profile(profile_file) as profile:
        data = page_data([profile])
        ops = data["frames"]["0/ops"]
        assert (ops["rows"], ops["total"]) == (5, len(profile.ops))
        largest = sorted(profile.ops, key=lambda op: -op.cycles)[:5]
        assert set(numbers(ops["columns"]["id"]).tolist()) == {op.id for op in largest}
        notes = " ".join(data["answers"]["0/summary"]["notes"])
        assert f"the largest 5 of {len(profile.ops):,} ops" in notes
        assert "nodes of the program" in notes
        assert not any(key.startswith("0/reason") for key in data["answers"])
        nodes = data["frames"]["0/programs"]["columns"]
        kept = set(numbers(nodes["id"]).tolist())
        assert len(kept) == 4
        assert {parent for parent in numbers(nodes["parent"]).tolist() if parent >= 0} <= kept
        live, temporary = profile.live_bytes(0)
        shown = data["answers"]["0/liveness?ipu=0"]
        assert (numbers(shown["live"]) + numbers(shown["temporary"])).max() == (live + temporary).max()


def test_two_reports_stand_in_one_page(profile_file: Path) -> None:
    with Profile(profile_file) as first, Profile(profile_file) as second:
        data = _data(page_html(first, second, names=["before", "after"], compare=True))
    assert [report["name"] for report in data["reports"]] == ["before", "after"]
    assert data["compared"] == "1"
    assert data["answers"]["0/summary"] == data["answers"]["1/summary"]


def test_a_page_that_cannot_be_written_is_told(profile_file: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with Profile(profile_file) as profile, pytest.raises(Error, match="cannot be written"):
        write_page(profile, tmp_path / "file" / "page.html")


def test_a_profile_without_some_parts_has_a_page(
    profile_file: Path, tmp_path: Path, rewrite_profile: Callable[..., Path]
) -> None:
    kept = (model.Target, model.Op, model.Plan)
    path = rewrite_profile(
        profile_file,
        tmp_path / "p.pop",
        lambda row: row if isinstance(row, kept) else None,
        lambda _, columns: {name: values[:0] for name, values in columns.items()},
    )
    with Profile(path) as profile:
        assert _data(page_html(profile))["answers"]["0/summary"]["ipus"] == []


def test_deep_module_paths_are_bounded(
    profile_file: Path, tmp_path: Path, rewrite_profile: Callable[..., Path]
) -> None:
    def change(row: Any) -> Any:
        return replace(row, module=".".join(["m"] * 2000)) if isinstance(row, model.Op) else row

    with Profile(rewrite_profile(profile_file, tmp_path / "p.pop", change)) as profile:
        modules = _data(page_html(profile))["answers"]["0/modules"]["modules"]
        assert len(modules) <= 21 + 2  # and the two parts of the host
