"""Ops that deserve a look: unsupported ones, those that nobody models, and slow ones, merged over equal layers."""

from __future__ import annotations

import json

import torch
from torch import nn

from tremula.advise.operations import operations
from tremula.program.op import SourceLine
from tremula.program.variant import UnknownOp, Variant

from .subjects import case_of, study_of, trained


class Cumulative(nn.Module):
    """Something that a chip does step by step."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sort(x, dim=1).values


class Stack(nn.Module):
    """Three equal layers of it."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Cumulative() for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x) * 2.0
        return x


def test_unsupported_ops_come_first_with_their_lines() -> None:
    study, case = trained()
    line = SourceLine("model.py", 7, "forward")
    found = operations(study.estimate(case), [UnknownOp("frobnicate", (line, line))], study.subject.dialect)
    first = next(iter(found))
    assert first.kind == "unsupported"
    assert "model.py:7" in str(found)
    assert "poptorch.CPU" in first.todo


def test_equal_layers_are_told_once() -> None:
    study = study_of(Stack(), (4, 512), training=False)
    estimate = study.estimate(case_of(study))
    found = operations(estimate, study.subject.captured(Variant()).unknown)
    sorts = [look for look in found if "sort" in look.op and look.kind in ("slow", "unknown")]
    assert len(sorts) == 1
    assert sorts[0].module == "layers.*"
    assert sorts[0].count == 3
    assert sorts[0].sources[0].file.endswith("test_operations.py")
    assert 0 < sorts[0].share <= 1
    json.dumps(found.to_plain())


def test_texts_are_harmless() -> None:
    study, case = trained()
    line = SourceLine("<script>.py\x1b[2J", 1, "forward")
    found = operations(study.estimate(case), [UnknownOp("<b>\x1b", (line,))])
    assert "\x1b" not in str(found)
    assert "<script>" not in found._repr_html_()
    assert "<b>" not in found._repr_html_()
