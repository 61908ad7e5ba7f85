"""Small models to advise about, captured once for all tests of this folder."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import nn

from tremula.advise.advice import Change
from tremula.frontends.torch.factory import Made, subject_of
from tremula.hardware.catalogue import smallest_system
from tremula.program.loops import Loops
from tremula.study.answer import answer
from tremula.study.case import Case, Study
from tremula.study.question import Setting
from tremula.study.result import Result, result_of


class Classifier(nn.Module):
    """A body with a loss."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        result = self.body(x)
        return result, nn.functional.cross_entropy(result, labels)


def layers(count: int = 6, width: int = 64) -> nn.Module:
    """Equal layers in a list."""
    return nn.Sequential(
        *(nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(count)), nn.Linear(width, 10)
    )


def study_of(
    body: nn.Module,
    shape: Sequence[int],
    *,
    training: bool = True,
    optimizer: str = "adam",
    loops: Loops | None = None,
    half: bool = False,
) -> Study:
    """A study of `body` with inputs of `shape`."""
    dtype = torch.float16 if half else torch.float32
    inputs: tuple[torch.Tensor, ...] = (torch.empty(tuple(shape), dtype=dtype, device="meta"),)
    model = body
    if training:
        model = Classifier(body)
        inputs += (torch.empty(shape[0], dtype=torch.int64, device="meta"),)
    made = Made(model.to(dtype), inputs, {}, None)
    return Study(
        subject_of(made, "small", training=training, optimizer=optimizer if training else None, loops=loops)
    )


def case_of(study: Study, tiles: int | None = None) -> Case:
    """The program as it is, on an IPU of so many tiles."""
    found = answer(study, Setting())
    assert found.case is not None, found.problem
    if tiles is None:
        return found.case
    chip = found.case.system.chip.with_tiles(tiles)
    return replace(found.case, system=smallest_system(chip, found.case.ipus))


@functools.cache
def trained() -> tuple[Study, Case]:
    """Four layers, accumulation over eight micro-batches; fits easily."""
    study = study_of(layers(4, 512), (16, 512), loops=Loops(gradient_accumulation=8))
    return study, case_of(study)


@functools.cache
def too_large() -> tuple[Study, Case]:
    """Eight layers on two tiles, where it does not fit."""
    study = study_of(layers(8, 64), (512, 64), optimizer="sgd", loops=Loops(gradient_accumulation=8))
    return study, case_of(study, tiles=2)


def changes(rule: Callable[..., object], study: Study, case: Case) -> list[Change]:
    """What a rule proposes."""
    return list(rule(study, case, study.estimate(case)))  # type: ignore[call-overload]


def effect(study: Study, case: Case, change: Change) -> tuple[Result, Result]:
    """Figures without and with a change."""
    return result_of(study.estimate(case)), result_of(study.estimate(change.apply(case)))
