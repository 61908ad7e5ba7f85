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


def test_ops_of_the_optimizer_are_not_the_users_to_change() -> None:
    study = study_of(nn.Sequential(nn.Linear(2048, 2048), nn.Linear(2048, 10)), (1, 2048))
    estimate = study.estimate(case_of(study))
    spent = sum(op.share for op in estimate.ops if op.phase == "update")
    assert spent > 0.3, "Adam takes much of a step with one sample"
    theirs = {op.target for op in estimate.ops if op.phase == "update"}
    ours = {op.target for op in estimate.ops if op.phase in ("forward", "backward")}
    named = {
        f"aten::{name}"
        for look in operations(estimate)
        for name in look.op.removeprefix("aten::").split(", ")
    }
    assert not named & (theirs - ours)
    assert sum(look.share for look in operations(estimate)) <= 1.0 - spent + 1e-6


def test_kernels_of_the_host_are_not_shown_as_ops_of_the_device() -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(16, 16, batch_first=True)
            self.last = nn.Linear(16, 10)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q = self.lstm(x)[0].unsqueeze(1)
            return self.last(nn.functional.scaled_dot_product_attention(q, q, q)[:, 0, -1])

    study = study_of(Recurrent(), (2, 8, 16))
    estimate = study.estimate(case_of(study))
    shown = [str(estimate.explain("largest_ops")), str(operations(estimate))]
    shown += [f"{op.name} {op.kind}" for op in estimate.program.ops]
    shown += [tensor.name for tensor in estimate.program.tensors]
    assert any("aten::lstm" in text for text in shown)
    assert not [text for text in shown if "mkldnn" in text or "for_cpu" in text]


def test_texts_are_harmless() -> None:
    study, case = trained()
    line = SourceLine("<script>.py\x1b[2J", 1, "forward")
    found = operations(study.estimate(case), [UnknownOp("<b>\x1b", (line,))])
    assert "\x1b" not in str(found)
    assert "<script>" not in found._repr_html_()
    assert "<b>" not in found._repr_html_()
