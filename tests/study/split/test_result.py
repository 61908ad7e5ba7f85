"""A split in words: the lines are true, the config is plain, the chart shows every IPU."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

import poptorch
from tremula.ask import estimate_of
from tremula.frontends.torch.dialect.module_paths import access
from tremula.machine.modelled_system import modelled_system
from tremula.program.loops import Loops
from tremula.schedule.deployment import Deployment
from tremula.study.split.result import Split
from tremula.study.split.search import find_split
from tremula.study.split.segmented import Segmented

Make = Callable[..., Segmented]


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder()
        self.heads = nn.ModuleDict({"to-class": nn.Linear(64, 8)})

    def forward(self, x: torch.Tensor, y: torch.Tensor | None = None) -> Any:
        x = self.heads["to-class"](self.encoder(x))
        return x if y is None else (x, functional.mse_loss(x, y))


@pytest.fixture(scope="module")
def split(in_segments: Make) -> Split:
    program = in_segments(
        Model(), [torch.zeros(16, 64), torch.zeros(16, 8)], loops=Loops(gradient_accumulation=8)
    )
    return find_split(program, 2, Deployment(), modelled_system(2))


def _run(lines: list[str], **names: Any) -> None:
    exec("\n".join(lines), {"poptorch": poptorch, **names})  # noqa: S102


@pytest.mark.parametrize("ipus", [2, 3])
def test_the_lines_make_the_split_that_was_judged(in_segments: Make, ipus: int) -> None:
    given = [torch.zeros(16, 64), torch.zeros(16, 8)]
    program = in_segments(Model(), given, loops=Loops(gradient_accumulation=8))
    split = find_split(program, ipus, Deployment(), modelled_system(ipus))
    model, options = Model(), poptorch.Options()
    _run(split.lines(), model=model)
    _run(split.options_lines(), options=options)
    optimizer = poptorch.optim.SGD(model.parameters(), lr=0.1, use_combined_accum=False)
    wrapped = poptorch.trainingModel(model, options, optimizer)
    wrapped.compile(torch.zeros(16 * 8, 64), torch.zeros(16 * 8, 8))
    true = estimate_of(wrapped)
    judged = split.estimate
    assert [(s.number, s.ipu) for s in true.time.stages] == [(s.number, s.ipu) for s in judged.time.stages]
    assert [(op.module, op.ipu, op.stage) for op in true.ops] == [
        (op.module, op.ipu, op.stage) for op in judged.ops
    ]
    assert true.throughput == pytest.approx(judged.throughput, rel=0.01)
    assert true.memory.max_tile_bytes == pytest.approx(judged.memory.max_tile_bytes, rel=0.01)


def test_the_lines_of_an_inference_pipeline(in_segments: Make) -> None:
    program = in_segments(Model(), [torch.zeros(16, 64)], training=False, loops=Loops(device_iterations=6))
    split = find_split(program, 3, Deployment(), modelled_system(3))
    model, options = Model(), poptorch.Options()
    _run(split.lines(), model=model)
    _run(split.options_lines(), options=options)
    wrapped = poptorch.inferenceModel(model, options)
    wrapped.compile(torch.zeros(16 * 6, 64))
    true = estimate_of(wrapped)
    assert [(s.number, s.ipu) for s in true.time.stages] == [
        (s.number, s.ipu) for s in split.estimate.time.stages
    ]
    assert true.throughput == pytest.approx(split.throughput, rel=0.01)


def test_paths_are_written_as_python_writes_them() -> None:
    model = Model()
    model.add_module("1st", nn.Linear(2, 2))
    model.encoder.add_module("class", nn.Linear(2, 2))
    assert access("encoder.layers.3", model) == "model.encoder.layers[3]"
    assert access("encoder.layers.3.0", model, "net") == "net.encoder.layers[3][0]"
    assert access("heads.to-class", model) == 'model.heads["to-class"]'
    odd = nn.ModuleDict({'say "hi"': nn.Tanh()})
    assert eval(access('say "hi"', odd), {"model": odd}) is odd['say "hi"']  # noqa: S307
    assert access("1st", model) == 'model.get_submodule("1st")'
    assert access("encoder.class", model) == 'model.get_submodule("encoder.class")'
    assert access("2.0", nn.Sequential(*(nn.Sequential(nn.Tanh()) for _ in range(3)))) == "model[2][0]"
    assert access("layers.3.norm") == "model.layers[3].norm"
    for path, _ in model.named_modules():
        if path:
            assert eval(access(path, model), {"model": model}) is model.get_submodule(path)  # noqa: S307


def test_a_path_that_cannot_be_assigned_to_gets_its_block_all_the_same() -> None:
    model = Model()
    model.add_module("1st", nn.Linear(2, 2))
    line = f'poptorch.BeginBlock({access("1st", model)}, "1st", ipu_id=1)'
    _run([line], model=model)
    assert len(model.get_submodule("1st")._forward_pre_hooks) == 1


def test_the_config_is_plain_and_counts_layers(split: Split) -> None:
    told = json.loads(json.dumps(split.config()))
    assert told["stages"][0] == {"module": "", "ipu": 0}
    assert [(s["module"], s["ipu"]) for s in told["stages"][1:]] == [(b.module, b.ipu) for b in split.begins]
    assert told["ipus_per_replica"] == 2
    assert told["gradient_accumulation_steps"] == 8
    if "layers_per_ipu" in told:
        assert sum(told["layers_per_ipu"]) == 6


def test_the_chart_has_a_bar_for_each_ipu(split: Split) -> None:
    lines = split.chart(width=40).splitlines()
    assert len(lines) == 2 + len(split.loads)
    assert max(sum(line.count(mark) for mark in "█▒░") for line in lines[1:-1]) == 40
    assert "recompute" in lines[-1]
    assert all(f"{load.memory_share:.0%}" in line for load, line in zip(split.loads, lines[1:], strict=False))


def test_text_and_html_say_the_same_and_html_is_escaped(split: Split) -> None:
    assert split.reason in str(split)
    assert all(line in str(split) for line in split.lines())
    html = split._repr_html_()
    assert "modelled" in html
    assert "&quot;" in html
    assert "BeginBlock(model" in html
    assert html.count("<tr>") == len(split.loads)
    assert all(f"{load.cycles:,.0f}" in html for load in split.loads)


@given(st.text(min_size=1).filter(lambda text: "." not in text and text not in nn.Module().__dir__()))
def test_whatever_a_module_is_called_the_path_leads_to_it(name: str) -> None:
    model = nn.Module()
    model.add_module("around", nn.Module())
    model.around.add_module(name, nn.ReLU())
    path = access(f"around.{name}", model)
    assert eval(path, {"model": model}) is model.around._modules[name]  # noqa: S307 - what is told must be true
    assert path.isprintable()
