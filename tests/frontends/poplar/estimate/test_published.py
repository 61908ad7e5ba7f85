"""Figures that profiles of Poplar's IPU model print, beside the modelled ones.

Tolerances are how far off the model is, rounded up; docs/poplar-estimates.md has all of them in a table.
"""

from __future__ import annotations

import pytest
from tests.frontends.poplar.estimate.graphs import explicit_halo, implicit_halo, model_target, tutorial_6

from tremula.frontends.poplar.estimate.model import ChipModel
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.program.numbering import number
from tremula.frontends.poplar.program.programs import Program
from tremula.placed.estimate import Totals


def totals(made: tuple[Graph, list[Program]]) -> Totals:
    """Cycles of one run of the program."""
    graph, programs = made
    estimate = ChipModel(graph, number(programs)).estimate
    return estimate.totals(estimate.executions(0))


def test_tutorial_6_on_mk2() -> None:
    found = totals(tutorial_6(model_target("ipu2", delays=False), 10_000, 1_000, 7))
    # its README: 3,801.8 and 3,717.6 with and without idle threads, of which a few are copies of the runtime
    assert found.compute == pytest.approx(3_801.8, rel=0.01)
    assert found.busy == pytest.approx(3_717.6, rel=0.001)
    # 8,697.4 on the model, 8,743.1 on hardware
    assert found.exchange == pytest.approx(8_697.4, rel=0.05)
    assert found.exchange == pytest.approx(8_743.1, rel=0.05)
    # 2,641,488.4 on hardware: the rate was taken from there
    assert found.host == pytest.approx(2_641_488.4, rel=0.01)


def test_tutorial_6_on_mk1() -> None:
    found = totals(tutorial_6(model_target("ipu1", delays=False), 10_000, 1_000, 5))
    # profile of an earlier edition (tutorial 7), cycles of all 1,216 tiles, with 63 small copies
    assert found.compute * 1_216 == pytest.approx(5_513_152, rel=0.01)
    assert found.busy * 1_216 == pytest.approx(5_334_536, rel=0.005)


def test_vertices_that_read_from_their_neighbours() -> None:
    found = totals(implicit_halo(model_target("ipu1"), 100, 10))
    assert (found.compute, found.busy) == (12_000.0, 2_000.0)
    assert found.exchange == pytest.approx(5_682.0, rel=0.05)
    assert found.total == pytest.approx(21_010, rel=0.05)


def test_copies_into_margins() -> None:
    found = totals(explicit_halo(model_target("ipu1"), 100, 10))
    assert found.exchange == pytest.approx(9_220.7, rel=0.05)
    assert found.busy == pytest.approx(100_890.8, rel=0.01)
    assert found.compute == pytest.approx(122_211.1, rel=0.01)
    # part of the waiting is not met
    assert found.total == pytest.approx(147_530, rel=0.08)
