"""What the tests of the tutorial share."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.apps.tutorials.tutorial_page import QUICK, load, losses_in


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs run in the quick form, and are modelled only when asked."""
    for name, value in QUICK.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def train(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[list[float], list[torch.Tensor]]]:
    """Trains the network of a step on a few small events: its losses, and the weights that it ends with."""
    args = Namespace(epochs=3, accumulation=8, lr=0.005, loss_scaling=1024.0)

    def run_step(
        name: str, change: Callable[[Any], None] | None = None, **other: Any
    ) -> tuple[list[float], list[torch.Tensor]]:
        step = load(name)
        torch.manual_seed(1)
        model = step.UNet(4)
        if "step6" in name:
            model.half()
        if change is not None:
            change(model)
        step.train(model, step.Events(24, 32, seed=1), Namespace(**{**vars(args), **other}))
        losses = list(losses_in(capsys.readouterr().out).values())
        return losses, [weight.detach().clone() for weight in model.parameters()]

    return run_step
