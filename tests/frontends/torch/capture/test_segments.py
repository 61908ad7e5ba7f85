"""Captures that can be cut afterwards: which calls begin a segment, and where a block could begin."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tremula.frontends.torch.assembly import capture_program
from tremula.frontends.torch.capture.segments import Segments
from tremula.frontends.torch.graphs.program import TorchProgram, record_of
from tremula.frontends.torch.settings import SessionSettings
from tremula.frontends.torch.structure import flattenTensorStructure
from tremula.program.op import Phase
from tremula.program.variant import Cut


def _captured(module: nn.Module, width: int = 4) -> tuple[TorchProgram, Segments]:
    segments = Segments()
    settings = SessionSettings(training=False, rule=segments)
    with segments.following(module):
        program = capture_program(
            settings,
            None,
            module.eval(),
            lambda v: module(*v),
            [torch.zeros(2, width)],
            ["x"],
            flattenTensorStructure,
        ).program
    return program, segments


def _cuts(module: nn.Module) -> list[Cut]:
    program, segments = _captured(module)
    return segments.cuts(program)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.outer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.outer(torch.relu(self.inner(x)))


def test_each_call_begins_a_segment_and_is_named_by_the_outermost_module() -> None:
    cuts = _cuts(nn.Sequential(Layer(), Layer()))
    # the first call is the beginning of forward itself, where nothing could be cut off
    assert cuts == [Cut(1, "0.outer"), Cut(2, "1"), Cut(3, "1.outer")]


def test_all_ops_are_on_one_ipu_in_segments_that_only_grow() -> None:
    program, _ = _captured(nn.Sequential(Layer(), Layer()))
    placements = [record_of(node).annotation.placement for node in program.nodes()]
    assert {placement.ipu for placement in placements} == {0}
    stages = [placement.stage for placement in placements]
    assert stages == sorted(stages)
    assert set(stages) == {0, 1, 2, 3}


def test_a_module_that_is_called_twice_can_begin_no_stage() -> None:
    shared = nn.Linear(4, 4)
    cuts = _cuts(nn.Sequential(shared, nn.ReLU(), shared, nn.Tanh()))
    assert [cut.module for cut in cuts] == ["1", "3"]


def test_a_module_without_ops_begins_where_the_next_op_is() -> None:
    # dropout does nothing in inference; of two that begin at one op, the one that has it is named
    cuts = _cuts(nn.Sequential(Layer(), nn.Dropout(0.5), Layer()))
    assert [cut.module for cut in cuts] == ["0.outer", "2", "2.outer"]


def test_blocks_of_the_user_have_no_effect() -> None:
    poptorch: Any = __import__("poptorch")
    plain = nn.Sequential(Layer(), Layer())
    blocks = nn.Sequential(Layer(), Layer())
    blocks[1] = poptorch.BeginBlock(blocks[1], "second", ipu_id=1)
    assert _cuts(blocks) == _cuts(plain)
    program, _ = _captured(blocks)
    assert all(record_of(n).annotation.placement.block is None for n in program.nodes())


def test_hooks_are_gone_afterwards() -> None:
    model = nn.Sequential(Layer(), Layer())
    program, segments = _captured(model)
    before = segments.cuts(program)
    model(torch.zeros(2, 4))
    assert segments.cuts(program) == before
    assert not any(each._forward_pre_hooks for each in model.modules())


def test_backward_ops_belong_to_the_segment_they_differentiate() -> None:
    from tremula.frontends.torch.optimize.spec import GroupSpec, HyperValue, Kind, OptimizerSpec

    model = nn.Sequential(Layer(), Layer())
    segments = Segments()
    values = {
        key: HyperValue(0.0, True) for key in ("momentum", "weightDecay", "dampening", "velocityScaling")
    }
    values["nesterov"] = HyperValue(0.0, True)
    group = GroupSpec(
        tuple(n for n, _ in model.named_parameters()), values | {"learningRate": HyperValue(0.1)}
    )
    with segments.following(model):
        program = capture_program(
            SessionSettings(training=True, rule=segments),
            OptimizerSpec(Kind.SGD, (group,)),
            model,
            lambda v: nn.functional.mse_loss(model(*v), v[0]),
            [torch.zeros(2, 4)],
            ["x"],
            flattenTensorStructure,
        ).program
    backward = {
        record_of(node).annotation.placement.stage
        for node in program.nodes()
        if record_of(node).phase is Phase.BACKWARD
    }
    assert backward == {0, 1, 2, 3}
