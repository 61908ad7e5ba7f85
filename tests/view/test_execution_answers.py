"""Answers about recorded runs: their sums are those of the steps, whatever part is asked for."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.estimate import estimate
from tremula.hardware.catalogue import system
from tremula.profile import Profile
from tremula.program.loops import Loops
from tremula.recording import write_profile
from tremula.schedule.deployment import Deployment
from tremula.view.endpoints import answer
from tremula.view.execution_data import execution_data

_KINDS = ("compute", "exchange", "between_ipus", "stream", "sync")


def test_the_kinds_of_a_lane_sum_to_the_run(executed_file: Path) -> None:
    with Profile(executed_file) as profile:
        found = answer(profile, "execution", {})
        assert [run["name"] for run in found["runs"]] == ["step"]
        assert [lane["ipu"] for lane in found["lanes"]] == [0, 1]
        for lane in found["lanes"]:
            assert sum(lane[kind] for kind in _KINDS) == lane["cycles"] == profile.runs[0].cycles
            assert 0 < lane["mean_tile_cycles"] <= lane["compute"]
        assert found["lanes"][0]["ipus_out"] == 4 * 8192
        assert found["pipelined"]


@given(data=st.data())
def test_two_parts_of_a_run_have_what_the_whole_has(executed_file: Path, data: st.DataObject) -> None:
    with Profile(executed_file) as profile:
        end = profile.runs[0].cycles
        middle = data.draw(st.integers(0, end))
        parts = [
            answer(profile, "execution_selection", {"start": str(low), "end": str(high)})
            for low, high in ((0, end), (0, middle), (middle, end))
        ]
        whole, first, second = (list(part["lanes"]) for part in parts)
        for all_of_it, one, other in zip(whole, first, second, strict=True):
            for kind in (*_KINDS, "cycles", "mean_tile_cycles", "bytes_in", "bytes_out"):
                assert one[kind] + other[kind] == pytest.approx(all_of_it[kind], abs=1e-6)
        assert sum(row[3] for row in parts[0]["ops"]) == sum(
            lane[kind] for lane in whole for kind in _KINDS if kind != "sync"
        )


def test_stages_are_in_order_and_bubbles_lie_between_them(executed_file: Path) -> None:
    with Profile(executed_file) as profile:
        found = answer(profile, "execution_stages", {})
        columns = {
            name: np.frombuffer(base64.b64decode(packed["i4"]), "<i4")
            for name, packed in found["columns"].items()
        }
        assert found["rows"] == 2 * 4
        for lane in (0, 1):
            mine = columns["lane"] == lane
            assert columns["micro_batch"][mine].tolist() == [0, 1, 2, 3]
            assert (columns["start"][mine][1:] >= columns["end"][mine][:-1]).all()
        # the second stage waits for the first
        assert columns["start"][columns["lane"] == 1][0] > columns["end"][columns["lane"] == 0][0] / 2
        assert (columns["busy"] <= columns["end"] - columns["start"]).all()


def test_turns_that_were_added_up_are_no_bubble(layered: Callable[..., Any], tmp_path: Path) -> None:
    program = layered(4, stages=2, loops=Loops(gradient_accumulation=20))
    deployment = Deployment(execution="pipelined", ipus_per_replica=2)
    found = estimate(program, deployment, system("pod16"))
    with Profile(write_profile(found, tmp_path / "profile.pop", most_steps=400, runs=1)) as profile:
        assert "are added up" in profile.runs[1].note
        columns = {
            name: np.frombuffer(base64.b64decode(packed["i4"]), "<i4")
            for name, packed in answer(profile, "execution_stages", {})["columns"].items()
        }
    for lane in np.unique(columns["lane"]).tolist():
        mine = columns["lane"] == lane
        summed = mine & (columns["stage"] < 0)
        assert summed.sum() == 1
        assert (
            columns["start"][summed] >= columns["end"][mine & ~summed & (columns["micro_batch"] >= 0)].max()
        )
        assert 0 < columns["busy"][summed] <= columns["end"][summed] - columns["start"][summed]
    # waiting included, the sums of all IPUs end together
    assert np.ptp(columns["end"][columns["stage"] < 0]) <= 2


def test_steps_are_found_by_the_name_of_their_compute_set(executed_file: Path) -> None:
    with Profile(executed_file) as profile:
        found = answer(profile, "execution_search", {"text": "LAYER7/"})
        assert (
            found["total"] == 2 * 4 * 3
        )  # superstep of sync, exchange and compute, in 4 micro-batches on 2 IPUs
        assert {name for *_, name in found["steps"]} == {"net.layer7/mm7/Convolve"}
        assert answer(profile, "execution_search", {"text": "no such"})["total"] == 0


def test_a_step_says_where_it_stands(executed_file: Path) -> None:
    with Profile(executed_file) as profile:
        types = profile.frame("steps").column("type")
        step = int(np.flatnonzero(types == 7)[0])
        found = answer(profile, "execution_step", {"step": str(step)})
        assert found["type_name"] == "OnTileExecute"
        assert [name for _, name in found["path"]] == ["step", "net.layer0/mm0/Convolve"]
        assert found["active_tiles"] == 1472
        assert found["op"]["name"] == profile.ops[0].name


@pytest.mark.parametrize(
    ("what", "params"),
    [
        ("execution_step", {"step": "99999999"}),
        ("execution_step", {"step": "-1"}),
        ("execution_selection", {"start": "5", "end": "4"}),
        ("execution_selection", {"end": "5", "lanes": "0,x"}),
        ("execution", {"run": "1e3"}),
    ],
)
def test_questions_that_make_no_sense_are_refused(
    executed_file: Path, what: str, params: dict[str, str]
) -> None:
    with Profile(executed_file) as profile, pytest.raises(Error):
        answer(profile, what, params)


def test_a_profile_without_runs_has_no_lanes(without_runs: Path) -> None:
    with Profile(without_runs) as profile:
        assert answer(profile, "execution", {})["lanes"] == []
        assert answer(profile, "execution_stages", {})["rows"] == 0
        answers, frames = execution_data(profile)
        assert answers["execution"]["runs"] == []
        assert frames == {}


def test_a_page_holds_a_bounded_part_of_the_steps(
    executed_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tremula.view.execution_data.MOST_STEPS", 100)
    monkeypatch.setattr("tremula.view.execution_data.MOST_ENTRIES", 10)
    with Profile(executed_file) as profile:
        _, frames = execution_data(profile)
        total = len(profile.frame("steps"))
    assert 90 <= frames["steps"]["rows"] <= 100
    assert frames["steps"]["total"] == total
    # the finest level is left out, the coarsest never
    levels = np.frombuffer(base64.b64decode(frames["pyramid"]["columns"]["level"]["i4"]), "<i4")
    assert 2 in levels
    assert 1 not in levels
