"""A capture in segments, laid out anew, is what a capture with blocks at those places would have been."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from tremula.frontends.torch.assembly import capture_program
from tremula.frontends.torch.capture.placement import PlacementRule
from tremula.frontends.torch.capture.segments import Segments
from tremula.frontends.torch.capture.stages import AutoStages
from tremula.frontends.torch.optimize.spec import GroupSpec, HyperValue, OptimizerSpec
from tremula.frontends.torch.optimize.spec import Kind as OptimizerKind
from tremula.frontends.torch.rules.lower import lower
from tremula.frontends.torch.rules.program import flatten
from tremula.frontends.torch.settings import SessionSettings
from tremula.frontends.torch.structure import flattenTensorStructure
from tremula.program.loops import Loops
from tremula.program.lowered import LoweringSettings
from tremula.program.program import Program
from tremula.program.stages import Mode
from tremula.schedule.relayout import Relayout, relayout


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(5))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x, functional.mse_loss(x, y)


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.query_key_value = nn.Linear(width, 3 * width)
        self.outer = nn.Linear(width, width)
        self.dropout, self.norm = nn.Dropout(0.1), nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.query_key_value(x).chunk(3, -1)
        mixed = torch.softmax(query @ key.transpose(-1, -2), -1) @ value
        return self.norm(x + self.dropout(self.outer(mixed)))


class Tied(nn.Module):
    """An embedding whose table is the head's weight as well, as in BERT."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(16, 8)
        self.layers = nn.ModuleList(Attention(8) for _ in range(2))
        self.head = nn.LayerNorm(8)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        hidden = self.words(x.long().abs() % 16)
        for layer in self.layers:
            hidden = layer(hidden)
        logits = functional.linear(self.head(hidden), self.words.weight)
        return logits, functional.cross_entropy(logits.flatten(0, 1), y.long().flatten().abs() % 16)


class Unit(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)
        self.conv2, self.norm2 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x))))))


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.units = nn.Sequential(*(Unit(4) for _ in range(2)))
        self.head = nn.Linear(4, 8)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        x = self.units(self.stem(x.view(-1, 3, 4, 4)))
        x = self.head(x.mean((2, 3)))
        return x, functional.mse_loss(x, y)


MODELS: dict[str, tuple[type[nn.Module], tuple[int, ...], tuple[int, ...]]] = {
    "mlp": (Mlp, (4, 8), (4, 8)),
    "tied": (Tied, (2, 6), (2, 6)),
    "residual": (Residual, (2, 48), (2, 8)),
}
CUTS = {
    "mlp": [[("layers.2", 1)], [("layers.1", 1), ("layers.2", 2), ("layers.4", 0)]],
    "tied": [[("layers.0", 1), ("layers.1.outer", 2), ("head", 0)], [("layers.1", 1)]],
    "residual": [[("units.1", 1)], [("units.0.norm1", 1), ("units.1.conv2", 2), ("head", 3)]],
}
PROPORTIONS = {-1: 0.4, 0: 0.2, 1: 0.3}


def _spec(module: nn.Module) -> OptimizerSpec:
    constants = {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weightDecay": 0.1, "maxWeightNorm": 1e9}
    values = {key: HyperValue(value, True) for key, value in constants.items()}
    values["learningRate"] = HyperValue(0.1)
    group = GroupSpec(tuple(name for name, _ in module.named_parameters()), values)
    return OptimizerSpec(OptimizerKind.LAMB, (group,))


@contextlib.contextmanager
def _blocks(module: nn.Module, rule: AutoStages, cuts: list[tuple[str, int]]) -> Iterator[None]:
    handles = []
    for path, ipu in cuts:

        def begin(_m: Any, _i: Any, path: str = path, ipu: int = ipu) -> None:
            rule.begin(path, ipu)

        handles.append(module.get_submodule(path).register_forward_pre_hook(begin))
    yield
    for handle in handles:
        handle.remove()


def _flat(
    name: str, training: bool, cuts: list[tuple[str, int]] | None
) -> tuple[Program, list[tuple[int, str]]]:
    """Captured with blocks at `cuts`, or in segments; and where those can be cut."""
    make, x, y = MODELS[name]
    module = make().train(training)
    rule: PlacementRule
    if cuts is None:
        rule = segments = Segments()
        around: Any = segments.following(module)
    else:
        rule = AutoStages(Mode.PIPELINED, same_as_ipu=False)
        around = _blocks(module, rule, cuts)
    settings = SessionSettings(training, loops=Loops(gradient_accumulation=9, device_iterations=9), rule=rule)
    spec = _spec(module) if training else None
    with around:
        program = capture_program(
            settings,
            spec,
            module,
            lambda v: module(*v),
            [torch.zeros(x), torch.zeros(y)],
            ["x", "y"],
            flattenTensorStructure,
        ).program
    lowered = lower(program, LoweringSettings(proportions=PROPORTIONS))
    places = [(cut.segment, cut.module) for cut in rule.cuts(program)] if isinstance(rule, Segments) else []
    return flatten(program, lowered), places


def _layout(
    places: list[tuple[int, str]], cuts: list[tuple[str, int]], segments: int
) -> tuple[list[int], list[int]]:
    at = {module: segment for segment, module in places}
    begins = [at[module] for module, _ in cuts]
    stage_of = [sum(begin <= segment for begin in begins) for segment in range(segments)]
    return stage_of, [0, *(ipu for _, ipu in cuts)]


@pytest.mark.parametrize("training", [True, False], ids=["training", "inference"])
@pytest.mark.parametrize("name", list(MODELS))
def test_a_layout_is_what_a_capture_with_blocks_gives(name: str, training: bool) -> None:
    pieces, places = _flat(name, training, None)
    layout = Relayout(pieces, PROPORTIONS)
    for cuts in CUTS[name]:
        true, _ = _flat(name, training, cuts)
        laid = layout.over(*_layout(places, cuts, pieces.forward_stages))
        assert [(op.name, op.ipu, op.stage) for op in laid.ops] == [
            (op.name, op.ipu, op.stage) for op in true.ops
        ]
        assert [(t.name, t.ipu) for t in laid.tensors] == [(t.name, t.ipu) for t in true.tensors]
        assert [op.works for op in laid.ops] == [op.works for op in true.ops]


def test_layouts_leave_the_program_as_it_was_and_each_other_alone() -> None:
    pieces, places = _flat("mlp", True, None)
    before = repr(pieces.ops), repr(pieces.tensors)
    layout = Relayout(pieces)
    first = layout.over(*_layout(places, [("layers.2", 1)], pieces.forward_stages))
    kept = repr(first.ops)
    layout.over(*_layout(places, [("layers.3", 1)], pieces.forward_stages))
    assert (repr(pieces.ops), repr(pieces.tensors)) == before
    assert repr(first.ops) == kept
    assert first.forward_stages == first.ipus == 2


def test_everything_in_one_stage_is_a_program_on_one_ipu() -> None:
    pieces, _ = _flat("residual", True, None)
    laid = relayout(pieces, [0] * pieces.forward_stages, [0])
    assert laid.forward_stages == laid.ipus == 1
    assert {op.stage for op in laid.ops} == {0}


def test_accumulation_and_update_name_their_parameter() -> None:
    pieces, _ = _flat("mlp", True, None)
    for number in pieces.trained:
        owned = [t for t in pieces.tensors if t.owner == number]
        assert sorted(t.role.value for t in owned) == [
            "gradient accumulators",
            "optimizer state",
            "optimizer state",
        ]
        assert any(op.owner == number for op in pieces.ops)
