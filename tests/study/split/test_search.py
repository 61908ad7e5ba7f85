"""The automatic split: even, within memory, shared weights together, and honest where it cannot be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from tremula.errors import Error
from tremula.estimate.estimate import estimate
from tremula.hardware import catalogue
from tremula.hardware.system import System
from tremula.program.loops import Loops
from tremula.schedule.deployment import Deployment
from tremula.schedule.relayout import relayout
from tremula.study.split.result import Split
from tremula.study.split.search import Budget, find_split, judge, pipelined
from tremula.study.split.segmented import Segmented

Make = Callable[..., Segmented]


class Stack(nn.Module):
    def __init__(self, layers: int = 12, width: int = 256, *, repeated: bool = False) -> None:
        super().__init__()
        first = nn.Linear(width, width)
        self.layers = nn.ModuleList(first if repeated else nn.Linear(width, width) for _ in range(layers))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return functional.mse_loss(x, y)


class Tied(nn.Module):
    """Words in and words out by one table."""

    def __init__(self, layers: int = 8, width: int = 128, words: int = 512) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.head = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        hidden = self.words(x)
        for layer in self.layers:
            hidden = torch.relu(layer(hidden))
        return functional.cross_entropy(functional.linear(self.head(hidden), self.words.weight), y)


def _system(tiles: int = 1472) -> System:
    system = catalogue.system("pod4")
    return system.with_chip(system.chip.with_tiles(tiles))


def _rows(width: int = 256) -> list[torch.Tensor]:
    return [torch.zeros(64, width), torch.zeros(64, width)]


def _words() -> list[torch.Tensor]:
    return [torch.zeros(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)]


@pytest.fixture(scope="module")
def stack(in_segments: Make) -> Segmented:
    return in_segments(Stack(), _rows())


@pytest.fixture(scope="module")
def tied(in_segments: Make) -> Segmented:
    return in_segments(Tied(), _words())


def _ipu_of(split: Split, parameter: str) -> int:
    return next(t.ipu for t in split.estimate.program.tensors if t.name == parameter)


@pytest.mark.parametrize("ipus", [2, 3, 4])
def test_equal_layers_are_shared_out_evenly(stack: Segmented, ipus: int) -> None:
    split = find_split(stack, ipus, Deployment(), _system())
    assert split.imbalance < 0.15
    assert split.fits
    assert {load.ipu for load in split.loads} == set(range(ipus))
    assert split.estimate.deployment.execution == "pipelined"
    assert split.estimate.deployment.recompute == "all"


def test_no_single_move_of_a_cut_is_faster(stack: Segmented) -> None:
    split = find_split(stack, 2, Deployment(), _system())
    places = [cut.module for cut in stack.cuts]
    at = places.index(split.begins[0].module)
    for step in (-1, 1):
        other = judge(stack, [(places[at + step], 1), *((b.module, b.ipu) for b in split.begins[1:])],
                      Deployment(), _system())  # fmt: skip
        assert other.throughput <= split.throughput * 1.001


def test_a_search_gives_the_same_split_each_time(stack: Segmented) -> None:
    first, second = (find_split(stack, 3, Deployment(), _system()) for _ in range(2))
    assert first.begins == second.begins


def test_a_program_that_does_not_fit_on_one_ipu_fits_when_split(in_segments: Make) -> None:
    wide = in_segments(Stack(layers=8, width=512), _rows(512))
    small = _system(tiles=32)
    whole = relayout(wide.program, [0] * wide.segments, [0])
    assert not estimate(whole, Deployment(), small).memory.fits
    split = find_split(wide, 4, Deployment(), small)
    assert split.fits
    assert split.imbalance < 0.35


def test_memory_comes_before_speed(in_segments: Make) -> None:
    wide = in_segments(Stack(layers=8, width=512), _rows(512))
    split = find_split(wide, 2, Deployment(), _system(tiles=16))
    assert not split.fits
    assert split.reason.startswith("Memory")
    assert "more IPUs" in split.reason


def test_shared_weights_stay_on_one_ipu(tied: Segmented) -> None:
    split = find_split(tied, 2, Deployment(), _system())
    home = _ipu_of(split, "words.weight")
    readers = {
        op.ipu
        for op in split.estimate.program.ops
        for n in op.inputs
        if split.estimate.program.tensors[split.estimate.program.tensors[n].storage].name == "words.weight"
    }
    assert readers == {home}
    assert "words.weight" in split.reason


def test_the_last_stage_goes_back_to_the_first_ipu_for_a_shared_table(tied: Segmented) -> None:
    split = find_split(tied, 3, Deployment(), _system())
    assert [begin.ipu for begin in split.begins] == [1, 2, 0]


def test_weights_that_no_split_keeps_together_are_named(in_segments: Make) -> None:
    # two stages with the table at both ends need a third, and so five micro-batches
    few = in_segments(Tied(), _words(), loops=Loops(gradient_accumulation=3))
    with pytest.raises(Error, match=r"words\.weight .*read from the beginning of forward to head"):
        find_split(few, 2, Deployment(), _system())


def test_too_few_micro_batches_are_refused(stack: Segmented, in_segments: Make) -> None:
    few = replace(stack.program, loops=Loops(gradient_accumulation=3))
    with pytest.raises(Error, match=r"7 stages .*\.gradientAccumulation to 7 or more; it is 3"):
        find_split(replace(stack, program=few), 4, Deployment(), _system())
    inference = in_segments(Stack(), _rows(), training=False, loops=Loops(device_iterations=1))
    with pytest.raises(Error, match=r"deviceIterations to 2 or more; it is 1"):
        find_split(inference, 2, Deployment(), _system())


def test_a_module_called_again_and_again_leaves_nowhere_to_cut(in_segments: Make) -> None:
    program = in_segments(Stack(repeated=True), _rows())
    with pytest.raises(Error, match="0 places at which a stage can begin"):
        find_split(program, 2, Deployment(), _system())


def test_inference_is_split_too(in_segments: Make) -> None:
    program = in_segments(Stack(), _rows(), training=False)
    split = find_split(program, 4, Deployment(), _system())
    # the loss takes as long as a layer, and a stage more would not change that
    assert [begin.module for begin in split.begins] == ["layers.3", "layers.6", "layers.9"]
    assert all(load.backward == load.recompute == 0 for load in split.loads)


def test_one_ipu_needs_no_cut(stack: Segmented) -> None:
    split = find_split(stack, 1, Deployment(), _system())
    assert split.begins == ()
    assert split.imbalance == 0.0
    assert split.lines() == split.options_lines() == ()


def test_the_budget_is_kept(stack: Segmented) -> None:
    split = find_split(stack, 4, Deployment(), _system(), budget=Budget(evaluations=3))
    assert split.evaluations <= 5  # the candidates are judged in any case


def test_a_given_split_is_judged_by_the_same_model(stack: Segmented) -> None:
    given = judge(stack, [("layers.1", 1)], Deployment(), _system())
    found = find_split(stack, 2, Deployment(), _system())
    assert given.imbalance > 0.5
    assert given.throughput < found.throughput
    with pytest.raises(Error, match=r"A stage cannot begin at layers\.99"):
        judge(stack, [("layers.99", 1)], Deployment(), _system())


def test_a_pipeline_of_the_users_keeps_its_recomputation() -> None:
    own = Deployment(execution="pipelined", recompute="none")
    assert pipelined(own, 2, True).recompute == "none"
    assert pipelined(replace(own, execution="single"), 2, True).recompute == "all"
    assert pipelined(replace(own, execution="single"), 2, False).recompute == "none"
