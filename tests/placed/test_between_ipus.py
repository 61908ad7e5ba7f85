"""Collectives of library functions take the time of their rings, and more the more data and ranks there are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware import catalogue
from tremula.placed.between_ipus import collective_phases
from tremula.placed.hardware import PlacedHardware, hardware_of
from tremula.program.placed import BetweenIpus
from tremula.schedule import collectives

KINDS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast")


def hardware(replicas: int = 4, ipus: int = 2) -> PlacedHardware:
    return hardware_of(catalogue.chip("mk2"), ipus=ipus, replicas=replicas)


def cycles(kind: str, size: int, ranks: int, *, replicas: bool = True) -> float:
    return sum(
        each.cycles for each in collective_phases("x", BetweenIpus(kind, size, ranks, replicas), hardware())
    )


def test_an_all_reduce_takes_the_time_of_its_ring() -> None:
    given = hardware()
    expected = collectives.all_reduce(given.system, 1 << 20, 4, 2).seconds * given.chip.clock_hz
    assert cycles("all_reduce", 1 << 20, 4) == pytest.approx(expected)
    alone = collectives.all_reduce(given.system, 1 << 20, 2, 1).seconds * given.chip.clock_hz
    assert cycles("all_reduce", 1 << 20, 2, replicas=False) == pytest.approx(alone)


@given(kind=st.sampled_from(KINDS), size=st.integers(1, 1 << 24), ranks=st.sampled_from([2, 4]))
def test_more_data_take_longer(kind: str, size: int, ranks: int) -> None:
    assert 0 < cycles(kind, size, ranks) <= cycles(kind, 2 * size, ranks)


@pytest.mark.parametrize("kind", KINDS)
def test_one_rank_or_no_data_take_no_time(kind: str) -> None:
    assert cycles(kind, 1 << 20, 1) == cycles(kind, 0, 4) == 0
