"""What options become for the session that captures and runs a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import poptorch
from poptorch._session_settings import session_settings
from tremula.frontends.torch.settings import SessionSettings
from tremula.program.loops import Loops


def settings_of(change: Callable[[poptorch.Options], Any] = lambda _: None) -> SessionSettings:
    options = poptorch.Options().outputMode(poptorch.OutputMode.All)
    change(options)
    return session_settings(options, True, {}, "model")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda o: o.Precision.enableFloatingPointExceptions(True), "trap_floating_point"),
        (lambda o: o.Precision.enableStochasticRounding(True), "stochastic_rounding"),
        (lambda o: o.Precision.setPartialsType(torch.half), "half_partials"),
    ],
)
def test_options_of_precision(change: Callable[[poptorch.Options], Any], name: str) -> None:
    assert not getattr(settings_of(), name)
    assert getattr(settings_of(change), name)


def test_loops_and_seed() -> None:
    def change(options: poptorch.Options) -> None:
        options.deviceIterations(4).replicationFactor(2).randomSeed(7)
        options.Training.gradientAccumulation(3)

    found = settings_of(change)
    assert found.loops == Loops(device_iterations=4, gradient_accumulation=3, replicas=2)
    assert found.seed == 7
    assert settings_of().seed is None
