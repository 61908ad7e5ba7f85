"""`tremula estimate`, `profile` and `compare` for Poplar programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tremula.cli.main import main

_PROGRAM = """\
import poplar
from poplar.program import Execute, Sequence


class Twice(poplar.Vertex):
    given: poplar.Input[poplar.Vector[poplar.FLOAT]]
    out: poplar.Output[poplar.Vector[poplar.FLOAT]]

    def compute(self):
        for i in range(len(self.out)):
            self.out[i] = 2 * self.given[i]
        return True


device = poplar.IPUModel().createDevice()
graph = poplar.Graph(device.getTarget())
graph.addCodelets(Twice)
given = graph.addVariable(poplar.FLOAT, [64], "given")
out = graph.addVariable(poplar.FLOAT, [64], "out")
graph.setTileMapping(given, 0)
made = graph.addComputeSet("twice")
for tile in range(4):
    part = out[16 * tile : 16 * tile + 16]
    graph.setTileMapping(part, tile)
    vertex = graph.addVertex(made, "Twice", {"given": given[16 * tile : 16 * tile + 16], "out": part})
    graph.setTileMapping(vertex, tile)
    graph.setPerfEstimate(vertex, 40)
graph.createHostRead("out", out)
engine = poplar.Engine(graph, Sequence(Execute(made)))
engine.load(device)
engine.run(0)
print("the program went on")
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "twice.py"
    path.write_text(_PROGRAM)
    return path


def test_a_program_is_answered_with_its_summary(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "run", str(program)]) == 0
    out = capsys.readouterr().out
    assert "Memory Usage:" in out
    assert "Twice" in out
    assert "the program went on" not in out


def test_its_figures_are_saved_and_compared(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "saved.json"
    assert main(["estimate", "--json", "--save", str(saved), "run", str(program)]) == 0
    answer = json.loads(capsys.readouterr().out)["answers"][0]
    assert answer["figures"]["throughput"]["unit"] == "runs/s"
    assert answer["fits"] == "yes"
    assert main(["compare", str(saved), str(saved), "--fail-if", "worst_tile>+1%"]) == 0
    assert main(["estimate", "--csv", "run", str(program)]) == 0


def test_what_does_not_apply_is_refused(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", "--why", "memory", "run", str(program)]) == 1
    assert "places its vertices" in capsys.readouterr().err
    assert main(["estimate", "--save-program", str(tmp_path / "p"), "run", str(program)]) == 1
    assert "cannot save" in capsys.readouterr().err
