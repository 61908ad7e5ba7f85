"""The page as text: self-contained, bounded, escaped."""

from __future__ import annotations

import base64
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
from tremula.view.page import embedded, page_html, write_page
from tremula.view.page_data import page_data


def _data(html: str) -> Any:
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert block is not None
    return json.loads(block[1])


def test_nothing_in_it_points_elsewhere(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        html = page_html(profile)
    own = html.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(https?:)?//[a-z0-9.-]+\.[a-z]{2,}", own.split('id="data">')[0], re.I)
    assert not re.search(r"\b(src|href)\s*=", own)
    assert "innerHTML" not in own
    assert "eval(" not in own


def test_the_policy_allows_the_shipped_script_and_style_only(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        html = page_html(profile)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    allowed = policy[1].replace("&#x27;", "'")
    assert "default-src 'none'" in allowed
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
    assert any("<script>alert(1)</script>" in name for name in _data(html)["ops"]["name"])


def test_embedded_json_has_no_markup() -> None:
    value = {"a": "</script><!-- & \u2028 \u2029 <"}
    text = embedded(value)
    assert not re.search(r"[<>&\u2028\u2029]", text)
    assert json.loads(text) == value


def test_figures_are_those_of_the_profile(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        data = _data(page_html(profile))
        assert sum(value for _, value in data["breakdown"]) == pytest.approx(
            profile.figures["cycles_per_step"].value
        )
        for ipu, shown in enumerate(data["ipus"]):
            categories = [name for name, _ in data["categories"]]
            tiles = profile.tile_bytes(ipu)
            assert shown["tileGroup"] == 1
            for category, differences in shown["tiles"]:
                assert np.cumsum(differences).tolist() == tiles[categories[category]].tolist()
            live, _ = profile.live_bytes(ipu)
            assert max(np.cumsum(shown["live"])) == live.max()
        total = sum(op.cycles for op in profile.ops)
        host = profile.breakdown["host_call"] + profile.breakdown["host_transfer"]
        assert sum(data["modules"][0][2:5]) == pytest.approx(total + host, rel=1e-6)


def test_large_profiles_are_coarsened(
    profile_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in (("MOST_OPS", 5), ("_TILE_NUMBERS", 2_000), ("_POINTS", 7), ("_REASON_CHARACTERS", 10),
                        ("MOST_MODULES", 2), ("MOST_NODES", 4)):  # fmt: skip
        monkeypatch.setattr(data_module, name, value)
    with Profile(profile_file) as profile:
        data = page_data(profile)
        assert len(data["ops"]["name"]) == 5
        assert "largest 5 of" in " ".join(data["notes"])
        assert data["plans"] == {}
        assert len(data["program"]) == 4
        assert data["ipus"][0]["tileGroup"] > 1
        peak = profile.ipus[0].max_tile_bytes
        fullest = sum(np.cumsum(values)[0] for _, values in data["ipus"][0]["tiles"])
        assert fullest >= peak, "a group shows its fullest tile"


def test_a_page_that_cannot_be_written_is_told(profile_file: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with Profile(profile_file) as profile, pytest.raises(Error, match="cannot be written"):
        write_page(profile, tmp_path / "file" / "page.html")


def test_a_profile_without_some_parts_has_a_page(
    profile_file: Path, tmp_path: Path, rewrite_profile: Callable[..., Path]
) -> None:
    kept = (model.Target, model.Op, model.Plan)
    path = rewrite_profile(profile_file, tmp_path / "p.pop", lambda r: r if isinstance(r, kept) else None)
    with Profile(path) as profile:
        assert _data(page_html(profile))["ipus"] == []


def test_deep_module_paths_are_bounded(
    profile_file: Path, tmp_path: Path, rewrite_profile: Callable[..., Path]
) -> None:
    def change(row: Any) -> Any:
        return replace(row, module=".".join(["m"] * 2000)) if isinstance(row, model.Op) else row

    with Profile(rewrite_profile(profile_file, tmp_path / "p.pop", change)) as profile:
        assert len(_data(page_html(profile))["modules"]) <= 21 + 2  # and the two parts of the host
