"""What a profile says first: why it is slow or does not fit, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tremula.errors import Error
from tremula.profile import Profile, model
from tremula.view.page_data import page_data
from tremula.view.summary import brief, summary
from tremula.view.verdict import fit_probability, fit_verdict, fits, steps, verdict


def test_it_names_what_takes_the_time(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        fits, time, *_ = verdict(profile)
        largest = max(profile.breakdown.values()) / sum(profile.breakdown.values())
        probability = profile.figures["fit_probability"].value
        assert fits.startswith(f"It fits ({100 * probability:.0f} %): the fullest tile needs ")
        assert "published configurations" in fits
        assert f"fits: yes ({100 * probability:.0f} %)" in brief(profile)
        assert time.startswith("A step takes ")
        assert f"host call overhead {100 * largest:.1f}%" in time
        assert time in str(summary(profile))
        assert time in brief(profile)


def test_it_names_what_does_not_fit(
    profile_file: Path, rewrite_profile: Callable[..., Path], tmp_path: Path
) -> None:
    def fuller(row: Any) -> Any:
        if isinstance(row, model.Figure) and row.name == "max_tile_bytes":
            return replace(row, value=1e6, low=1e6, high=1e6)
        if isinstance(row, model.Figure) and row.name == "fit_probability":
            return replace(row, value=0.01, low=0.01, high=0.01)
        if isinstance(row, model.Option) and row.name == "fits":
            return replace(row, value="no")
        return row

    with Profile(rewrite_profile(profile_file, tmp_path / "profile.pop", fuller)) as profile:
        first = verdict(profile)[0]
        peak = max(profile.ipus, key=lambda ipu: ipu.max_tile_bytes)
    assert first.startswith(
        f"It does not fit (probability of fitting: 1 %): the fullest tile of IPU {peak.ipu} needs "
    )
    assert f"at {peak.peak_op} of the {peak.peak_phase} pass" in first
    assert "Most bytes there: " in first


@pytest.mark.parametrize(("tile_bytes", "said"), [(1e5, "likely"), (1e6, "unlikely")])
def test_profiles_of_older_versions_are_judged_by_their_bytes(
    profile_file: Path, rewrite_profile: Callable[..., Path], tmp_path: Path, tile_bytes: float, said: str
) -> None:
    def older(row: Any) -> Any:
        if isinstance(row, model.Figure) and row.name == "max_tile_bytes":
            return replace(row, value=tile_bytes)
        if getattr(row, "name", "") in ("fits", "fit_probability", "evidence of the fit"):
            return replace(row, name=f"no {row.name}")
        return row

    with Profile(rewrite_profile(profile_file, tmp_path / "profile.pop", older)) as profile:
        assert fit_verdict(profile) == said
        assert fit_probability(profile) is None
        assert fits(profile) == (said == "likely")


def test_the_three_best_pieces_of_advice_come_with_effect_and_code(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        found = steps(profile)
        assert [each.title for each in found] == ["Change number 1", "Change number 2", "Change number 3"]
        assert found[0].effect == "x1.50 throughput (x1.20 to x1.50), modelled; fullest tile 40.0%, fits: yes"
        assert found[0].code == ("options.change(1)",)
        assert "1. Change number 1: x1.50 throughput" in brief(profile)
        assert "options.change(3)" in str(summary(profile))
        assert page_data([profile])["answers"]["0/summary"]["advice"][0][0] == "Change number 1"


def test_code_that_is_no_list_of_lines_is_refused(
    profile_file: Path, rewrite_profile: Callable[..., Path], tmp_path: Path
) -> None:
    def broken(row: Any) -> Any:
        return replace(row, code="{}") if isinstance(row, model.Advice) else row

    with (
        Profile(rewrite_profile(profile_file, tmp_path / "profile.pop", broken)) as profile,
        pytest.raises(Error, match="not a list of lines"),
    ):
        steps(profile)


def test_the_host_stands_beside_the_modules(profile_file: Path) -> None:
    with Profile(profile_file) as profile:
        modules = page_data([profile])["answers"]["0/modules"]["modules"]
        host = profile.breakdown["host_call"] + profile.breakdown["host_transfer"]
        work = sum(op.cycles for op in profile.ops)
    names = [row[0] for row in modules if row[1] == 0]
    assert {"(host call overhead)", "(transfers with the host)"} <= set(names)
    assert sum(modules[0][2:5]) == pytest.approx(work + host, rel=1e-6)
