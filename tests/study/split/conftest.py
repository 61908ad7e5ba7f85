"""Models captured in segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import nn

from tremula.frontends.torch.assembly import capture_program
from tremula.frontends.torch.capture.segments import Segments
from tremula.frontends.torch.dialect.advice_code import TorchCode
from tremula.frontends.torch.optimize.spec import GroupSpec, HyperValue, OptimizerSpec
from tremula.frontends.torch.optimize.spec import Kind as OptimizerKind
from tremula.frontends.torch.rules.program import program_of
from tremula.frontends.torch.settings import SessionSettings
from tremula.frontends.torch.structure import flattenTensorStructure
from tremula.program.loops import Loops
from tremula.schedule.deployment import Deployment
from tremula.study.split.segmented import Segmented

_MANY = Loops(gradient_accumulation=32, device_iterations=32)
_PLAIN = Deployment()


def _spec(module: nn.Module) -> OptimizerSpec:
    constants = ("momentum", "weightDecay", "dampening", "nesterov")
    values = {key: HyperValue(0.0, True) for key in constants} | {"velocityScaling": HyperValue(1.0, True)}
    names = tuple(name for name, _ in module.named_parameters())
    group = GroupSpec(names, values | {"learningRate": HyperValue(0.1)})
    return OptimizerSpec(OptimizerKind.SGD, (group,), use_combined_accum=False)


@pytest.fixture(scope="session")
def in_segments() -> Callable[..., Segmented]:
    """Captures a module that returns its loss last, ready to be split."""

    def make(
        module: nn.Module,
        inputs: Sequence[torch.Tensor],
        *,
        training: bool = True,
        loops: Loops = _MANY,
        deployment: Deployment = _PLAIN,
    ) -> Segmented:
        segments = Segments()
        settings = SessionSettings(training, loops=loops, rule=segments)

        def call(values: list[torch.Tensor]) -> Any:
            return module(*values)

        with segments.following(module):
            program = capture_program(
                settings,
                _spec(module) if training else None,
                module.train(training),
                call,
                list(inputs),
                [f"input{n}" for n in range(len(inputs))],
                flattenTensorStructure,
            ).program
        cuts = tuple(segments.cuts(program))
        return Segmented(program_of(program, deployment.lowering), cuts, TorchCode(module))

    return make
