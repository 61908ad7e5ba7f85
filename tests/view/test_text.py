"""Profiles in a terminal: the known layout, sums that hold, names that move no cursor."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.profile import Profile, model
from tremula.view.notebook import profile_html
from tremula.view.op_text import op_text, ops_text, tile_text
from tremula.view.summary import brief, summary
from tremula.view.text import clean


@given(st.text(max_size=300))
def test_clean_text_is_one_printable_line(text: str) -> None:
    shown = clean(text)
    assert len(shown) <= 160
    assert "\x1b" not in shown
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]", shown)


def test_long_names_are_cut_in_the_middle() -> None:
    assert clean("a" * 500 + "end", 21) == "a" * 10 + "…" + "a" * 7 + "end"


def test_the_summary_has_the_known_layout(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        text = str(summary(profile))
        for heading in ("Target:", "Graph", "Memory Usage", "Including Gaps:", "Excluding Gaps:", "By Data Type:",
                        "By Tile (Excluding Gaps):", "Execution", "Total cycles:"):  # fmt: skip
            assert heading in text
        order = [text.index(name) for name in ("Target:", "Graph", "Memory Usage", "Execution")]
        assert order == sorted(order)
        assert "modelled" in text
        assert "likely" in text
        counted = [
            int(n.replace(",", "")) for n in re.findall(r"^ +[\d.,]+ - +[\d.,]+ +\**\s+([\d,]+)$", text, re.M)
        ]
        assert sum(counted) == 2 * profile.target.tiles_per_ipu
        uses = [int(n.replace(",", "")) for n in re.findall(r"^        [a-zI/O ]+: +([\d,]+) B$", text, re.M)]
        total = re.search(r"Excluding Gaps: +([\d,]+) B", text)
        assert total is not None
        assert sum(uses) == int(total[1].replace(",", ""))
        assert "Options:" in str(summary(profile, full=True))
        assert "modelled" in brief(profile)


def test_ops_and_tiles(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        text = op_text(profile, "mm0")
        assert "not taken" in text
        assert "tiles compute" in text
        assert len(ops_text(profile, 3).splitlines()) == 4
        last = 2 * profile.target.tiles_per_ipu - 1
        assert f"of IPU 1):\n" in tile_text(profile, last)  # noqa: F541
        for wrong in (-1, last + 1):
            with pytest.raises(Error, match="no tile"):
                tile_text(profile, wrong)
        with pytest.raises(Error, match=r"no op 'mn0'.*Did you mean"):
            op_text(profile, "mn0")


def test_hostile_names_are_harmless(hostile_file: Path) -> None:
    with Profile(hostile_file) as profile:
        texts = [
            str(summary(profile, full=True)),
            brief(profile),
            ops_text(profile, 100),
            tile_text(profile, 0),
        ]
        texts += [op_text(profile, name) for name in {op.name for op in profile.ops}]
        for text in texts:
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]", text)
            assert max(map(len, text.splitlines())) < 1_000
        html = profile_html(profile) + summary(profile)._repr_html_()
        assert "<script" not in html
        assert "<img" not in html
        assert "\x1b" not in html


def test_notebooks_show_profiles_and_summaries(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        html = profile._repr_html_()
        assert "Modelled, not measured" in html
        assert "likely" in html
        assert "<svg" in html
        assert summary(profile)._repr_html_().startswith("<pre>")
        assert repr(profile).startswith("Profile(")


def test_a_profile_without_memory_and_execution_is_summarised(
    profile_file: Path, tmp_path: Path, rewrite_profile: Callable[..., Path]
) -> None:
    kept = (model.Target, model.Op, model.Plan)
    path = rewrite_profile(profile_file, tmp_path / "p.pop", lambda r: r if isinstance(r, kept) else None)
    with Profile(path) as profile:
        assert "not in this profile" in str(summary(profile, full=True))
        assert profile._repr_html_()
