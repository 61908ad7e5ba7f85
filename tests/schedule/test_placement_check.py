"""Placements that cannot be, and what the error says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tremula.errors import Error
from tremula.hardware.catalogue import system
from tremula.program.loops import Loops
from tremula.program.tiles import TileInterval
from tremula.schedule.deployment import Deployment, Location
from tremula.schedule.placement_check import check_placement


def test_possible_placements_pass(layered: Callable[..., Any]) -> None:
    check_placement(layered(2), Deployment(), system("m2000"))
    deployment = Deployment(execution="pipelined", ipus_per_replica=4)
    check_placement(layered(4, stages=4, loops=Loops(replicas=4)), deployment, system("pod16"))


def test_more_stages_than_ipus(layered: Callable[..., Any]) -> None:
    with pytest.raises(Error, match=r"(?s)IPU 3.*more stages than IPUs.*more IPUs"):
        check_placement(
            layered(4, stages=4), Deployment(execution="pipelined", ipus_per_replica=2), system("m2000")
        )


def test_an_ipu_that_is_not_there(layered: Callable[..., Any]) -> None:
    with pytest.raises(Error, match="placed on IPU 1, but a replica has 1 IPU"):
        check_placement(layered(2, stages=2), Deployment(), system("m2000"))


def test_more_replicas_than_the_system_has_room_for(layered: Callable[..., Any]) -> None:
    with pytest.raises(Error, match="need 8 IPUs and system m2000 has 4"):
        check_placement(layered(2, loops=Loops(replicas=8)), Deployment(), system("m2000"))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("execution", "parallel"),
        ("pipeline_schedule", "round"),
        ("recompute", "some"),
        ("io_tiles", 1472),
        ("ipus_per_replica", 0),
    ],
)
def test_settings_that_make_no_sense(layered: Callable[..., Any], setting: str, value: Any) -> None:
    with pytest.raises(Error):
        check_placement(layered(1), Deployment(**{setting: value}), system("m2000"))


def test_data_that_the_program_places_itself(layered: Callable[..., Any]) -> None:
    program = replace(layered(1), mappings={0: (TileInterval(tile=0, begin=0, end=1),)})
    with pytest.raises(Error, match="leave out the tile mappings"):
        check_placement(program, Deployment(), system("m2000"))


def test_streaming_memory_that_is_too_small(layered: Callable[..., Any]) -> None:
    off_chip = Location(on_chip=False)
    program = layered(2, width=100_000, loops=Loops(replicas=4))
    with pytest.raises(Error, match="Shard them over replicas"):
        check_placement(program, Deployment(optimizer_state=off_chip, weights=off_chip), system("m2000"))
    sharded = Location(on_chip=False, sharded=True)
    check_placement(program, Deployment(optimizer_state=sharded, weights=sharded), system("m2000"))
