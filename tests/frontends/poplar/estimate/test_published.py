"""Figures that profiles of Poplar's IPU model print, beside the modelled ones.

The published figures and their sources are in benchmarks/poplar_profiles.py. The limits here are how far off the model
is in percent, rounded up.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.poplar_profiles import (
    EXCHANGE,
    EXCLUDING,
    HARDWARE,
    HOST,
    INCLUDING,
    PROGRAMS,
    TOTAL,
    Published,
    figure,
    modelled,
    rows,
)

PAGE = Path(__file__).parents[4] / "docs" / "poplar-estimates.md"

LIMITS = {
    "tutorial6": {INCLUDING: 0.5, EXCLUDING: 0.1, EXCHANGE: 2.0, HARDWARE: 2.5, HOST: 0.2},
    "tutorial6_mk1": {INCLUDING: 0.7, EXCLUDING: 0.1},
    "vertices": {TOTAL: 3.0, INCLUDING: 0.0, EXCLUDING: 0.0, EXCHANGE: 3.0},
    "two_waves": {TOTAL: 2.1, INCLUDING: 0.2, EXCLUDING: 0.1, EXCHANGE: 2.0},
    "by_direction": {TOTAL: 2.1, INCLUDING: 0.7, EXCLUDING: 2.2, EXCHANGE: 2.1},
    "tensor_for_each_tile": {TOTAL: 0.6, INCLUDING: 0.4, EXCLUDING: 1.0, EXCHANGE: 5.2},
    "tile_by_tile": {TOTAL: 6.3, INCLUDING: 0.9, EXCLUDING: 1.7, EXCHANGE: 9.8},
}


#: programs with thousands of copies take many seconds
_SLOW = ("tile_by_tile", "tensor_for_each_tile", "by_direction")


@pytest.mark.parametrize(
    "program",
    [pytest.param(each, id=each.name, marks=[pytest.mark.slow] * (each.name in _SLOW)) for each in PROGRAMS],
)
def test_published_figures_are_met_and_the_page_says_how_well(program: Published) -> None:
    found = modelled(program.build())
    for name, published in program.figures.items():
        limit = LIMITS[program.name][name] / 100
        assert figure(found, name) * program.tiles == pytest.approx(published, rel=limit), name
    page = PAGE.read_text(encoding="utf-8").splitlines()
    assert [each for each in rows(program, found) if each not in page] == []
