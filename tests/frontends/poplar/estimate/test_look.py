"""The chip model's look at programs that are loaded."""

from __future__ import annotations

import pytest
from benchmarks.poplar_graphs import model_target, tutorial_6
from tests.frontends.poplar.estimate.test_model import overfull

from tremula import log
from tremula.frontends.poplar.estimate import look as look_module
from tremula.frontends.poplar.estimate.look import look
from tremula.frontends.poplar.estimate.model import ChipModel
from tremula.frontends.poplar.program.numbering import number


def test_small_programs_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, programs = tutorial_6(model_target("ipu2", tiles=16), 60, 40, 2)
    model = ChipModel(graph, number(programs))
    line = look(lambda: model, graph)
    assert line.startswith("modelled for")
    assert "cycles" in line
    assert "fullest tile" in line
    monkeypatch.setattr(look_module, "SMALL", 10)
    assert look(lambda: model, graph) == ""
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "compile")
    assert look(lambda: model, graph) == line
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "off")
    assert look(lambda: model, graph) == ""


def test_what_does_not_fit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    model = overfull(200_000)
    told: list[str] = []
    monkeypatch.setattr(log, "warn_once", lambda key, text: told.append(text))
    assert look(lambda: model, model._graph)
    assert len(told) == 1
    assert "Out of memory on tile 3" in told[0]
