"""What pieces weigh, beside what the full model says of whole splits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from tremula.hardware import catalogue
from tremula.plan.planner import Planner
from tremula.program.loops import Loops
from tremula.schedule.deployment import Deployment, Location
from tremula.schedule.relayout import Relayout
from tremula.study.split.loads import Loads, loads_of, pairs
from tremula.study.split.search import judge, pipelined
from tremula.study.split.segmented import Segmented

WIDTH = 128
SYSTEM = catalogue.system("pod4")


class Net(nn.Module):
    """Layers of growing cost, a skip over all of them, and a weight that both ends read."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.last = nn.Tanh()

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        kept = x = self.first(x)
        for layer in self.layers:
            x = torch.relu(layer(x))
        x = functional.linear(self.last(x) + kept, self.first.weight)
        return functional.mse_loss(x, y)


@pytest.fixture(scope="module")
def program(in_segments: Callable[..., Segmented]) -> Segmented:
    return in_segments(Net(), [torch.zeros(32, WIDTH), torch.zeros(32, WIDTH)])


def _loads(program: Segmented, deployment: Deployment | None = None) -> Loads:
    chosen = pipelined(deployment or Deployment(), 2, True)
    return loads_of(program, chosen, SYSTEM, Planner(SYSTEM.chip), Relayout(program.program))


def test_cycles_are_those_of_the_full_model(program: Segmented) -> None:
    loads = _loads(program)
    given = judge(program, [("layers.2", 1)], Deployment(), SYSTEM)
    at = 1 + [cut.module for cut in program.cuts].index("layers.2")
    for load, run, last in ((given.loads[0], (0, at), False), (given.loads[1], (at, loads.pieces), True)):
        assert loads.cycles(last=last)[run] == pytest.approx(load.cycles, rel=0.05)


def test_what_stays_is_weights_and_accumulators(program: Segmented) -> None:
    weights = 4 * (5 * WIDTH * WIDTH + 5 * WIDTH)
    assert _loads(program).resident.sum() == pytest.approx(2 * weights, rel=0.01)
    away = Deployment(accumulators=Location(on_chip=False))
    small = 4 * 5 * WIDTH  # biases are too small to be worth the way
    assert _loads(program, away).resident.sum() == pytest.approx(weights + small, rel=0.01)
    once = replace(program, program=replace(program.program, loops=Loops(gradient_accumulation=1)))
    assert _loads(once).resident.sum() == pytest.approx(weights, rel=0.01)


def test_what_a_later_stage_reads_crosses_every_cut_before_it(program: Segmented) -> None:
    loads = _loads(program)
    activation = 4 * 32 * WIDTH
    assert loads.inbound[0] == 0
    # the layer's input and the sum's other operand; the first cut has them in one tensor
    modules = [cut.module for cut in program.cuts]
    assert loads.inbound[1 + modules.index("layers.0")] == activation
    assert loads.inbound[1 + modules.index("layers.2")] == 2 * activation


def test_code_that_equal_layers_share_counts_once(program: Segmented) -> None:
    code = _loads(program).code
    modules = [cut.module for cut in program.cuts]
    first, second = 1 + modules.index("layers.1"), 1 + modules.index("layers.2")
    assert code[first, second] > 0
    assert code[first, second + 1] == pytest.approx(code[first, second], rel=0.01)
    assert all(
        code[i, j] <= code[i, j + 1] + 1e-6 for i in range(len(code) - 1) for j in range(i, len(code) - 1)
    )


def test_shared_weights_are_found(program: Segmented) -> None:
    loads = _loads(program)
    assert [each.name for each in loads.shared] == ["first.weight"]
    assert pairs(loads.shared) == [(0, loads.pieces - 1)]
