"""Advice, applied: the lines that are told are run on real programs, and the estimate changes as it was told.

Told and found differ in how they are made: advice comes from one capture in segments with settings changed by the
study, the figures here from a new poptorch model that the changed program wraps and compiles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import nn

import poptorch
from poptorch._deployment import deployment_of
from tremula.advise.advice import Advice
from tremula.advise.advise import AdviceList, advise
from tremula.ask import estimate_of
from tremula.ask import subject as subject_of
from tremula.estimate.estimate import Estimate
from tremula.study.answer import answer
from tremula.study.case import Study
from tremula.study.question import Setting

#: how far the found effect may be from the told one
_TOLERANCE = 0.2


class WithLoss(nn.Module):
    """A model that returns its result and a loss, as training needs it."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: torch.Tensor, labels: torch.Tensor | None = None) -> Any:
        result = self.body(x)
        if labels is None:
            return result
        return result, poptorch.identity_loss(nn.functional.cross_entropy(result, labels), reduction="mean")


@dataclass
class Written:
    """A program: everything that its lines can name."""

    model: nn.Module
    options: poptorch.Options
    #: one micro-batch of so many samples
    micro_batch: Callable[[int], tuple[torch.Tensor, ...]]
    batch_size: int
    optimizer: Any = None
    names: dict[str, Any] = field(default_factory=dict)

    def run(self, lines: tuple[str, ...]) -> None:
        """The lines of a piece of advice, as if they stood in the program before the model is wrapped."""
        self.names = {
            "torch": torch,
            "poptorch": poptorch,
            "model": self.model,
            "options": self.options,
            "optimizer": self.optimizer,
            "inputs": self.micro_batch(self.batch_size),
            "batch_size": self.batch_size,
        }
        exec("\n".join(lines), self.names)  # noqa: S102 - what is told must run; the lines are this test's subject
        self.optimizer = self.names["optimizer"]

    def wrapped(self) -> tuple[Any, tuple[torch.Tensor, ...]]:
        """The wrapped model and a combined batch for it."""
        options = self.options
        size = self.names.get("batch_size", self.batch_size)
        changed = self.names.get("inputs", self.micro_batch(size))
        inputs = tuple(new.to(old.dtype) for new, old in zip(self.micro_batch(size), changed, strict=True))
        factor = options.device_iterations * options.replication_factor
        if self.optimizer is None:
            return poptorch.inferenceModel(self.model, options), _times(inputs, factor)
        factor *= options.Training.gradient_accumulation
        return poptorch.trainingModel(self.model, options, self.optimizer), _times(inputs, factor)


def _times(inputs: tuple[torch.Tensor, ...], factor: int) -> tuple[torch.Tensor, ...]:
    return tuple(torch.cat([tensor] * factor) for tensor in inputs)


def convolutional() -> Written:
    """Images in, a few convolutions; the host's part is large."""
    body = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip
    model = WithLoss(body)
    options = poptorch.Options().outputMode(poptorch.OutputMode.All)
    options.Training.gradientAccumulation(4)
    return Written(
        model, options, lambda n: (torch.randn(n, 3, 64, 64), torch.zeros(n, dtype=torch.int32)), 8,
        poptorch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, use_combined_accum=False),
    )  # fmt: skip


def transformer() -> Written:
    """A small encoder that is only run."""
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True, dropout=0.0)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    return Written(model, poptorch.Options(), lambda n: (torch.randn(n, 32, 128),), 4)


def wide_inputs() -> Written:
    """A perceptron whose inputs are most of the work."""
    model = WithLoss(nn.Sequential(nn.Linear(8192, 64), nn.ReLU(), nn.Linear(64, 10)))
    options = poptorch.Options().deviceIterations(4)
    return Written(
        model, options, lambda n: (torch.randn(n, 8192), torch.zeros(n, dtype=torch.int32)), 16,
        poptorch.optim.Adam(model.parameters(), lr=0.01),
    )  # fmt: skip


def pipelined() -> Written:
    """Two uneven stages of a deep perceptron, half precision."""
    body = nn.Sequential(
        *(nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(8)), nn.Linear(256, 10)
    )
    model = WithLoss(body)
    body[2] = poptorch.BeginBlock(body[2], "second", ipu_id=1)
    model.half()
    options = poptorch.Options().deviceIterations(64)
    options.Training.gradientAccumulation(8)
    return Written(
        model, options, lambda n: (torch.randn(n, 256).half(), torch.zeros(n, dtype=torch.int32)), 16,
        poptorch.optim.AdamW(model.parameters(), lr=0.01),
    )  # fmt: skip


def too_large() -> Written:
    """Activations, weights and state that do not fit on one IPU, which is one of four tiles here."""
    body = nn.Sequential(*(nn.Sequential(nn.Linear(96, 96), nn.ReLU()) for _ in range(6)), nn.Linear(96, 10))
    model = WithLoss(body)
    options = poptorch.Options()
    options.Training.gradientAccumulation(8)
    return Written(
        model, options, lambda n: (torch.randn(n, 96), torch.zeros(n, dtype=torch.int32)), 512,
        poptorch.optim.Adam(model.parameters(), lr=0.01),
    )  # fmt: skip


def too_large_replicated() -> Written:
    """The same on two replicas, which can share the optimizer's state."""
    written = too_large()
    written.options.replicationFactor(2)
    return written


def talkative() -> Written:
    """Training that sends all of its large results back."""
    model = WithLoss(nn.Linear(64, 8192))
    options = poptorch.Options().outputMode(poptorch.OutputMode.All).deviceIterations(32)
    options._Popart.set("defaultPrefetchBufferingDepth", 0)
    return Written(
        model, options, lambda n: (torch.randn(n, 64), torch.zeros(n, dtype=torch.int32)), 32,
        poptorch.optim.SGD(model.parameters(), lr=0.01),
    )  # fmt: skip


PROGRAMS = {
    each.__name__: each
    for each in (
        convolutional,
        transformer,
        wide_inputs,
        pipelined,
        too_large,
        too_large_replicated,
        talkative,
    )
}
#: programs for an IPU of four tiles
SMALL_CHIP = ("too_large", "too_large_replicated")


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPUs enough, and programs that do not fit are not news here."""
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "64")
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "asked")
    monkeypatch.setenv("TREMULA_SUMMARY", "0")


def advice_for(program: Callable[[], Written]) -> tuple[AdviceList, Estimate]:
    wrapped, batch = program().wrapped()
    study = Study(subject_of(wrapped, *batch))
    found = answer(study, Setting())
    assert found.estimate is not None, found.problem
    told = advise(study, found, budget_seconds=60.0)
    wrapped.destroy()
    return told, found.estimate


def applied(program: Callable[[], Written], advice: Advice) -> Estimate:
    """What the chip model says of the program with the advice's lines in it."""
    written = program()
    written.run(advice.code)
    wrapped, batch = written.wrapped()
    wrapped.compile(*batch)
    found = estimate_of(wrapped)
    wrapped.destroy()
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_advice_has_the_effect_that_it_tells(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAMS[name]
    if name in SMALL_CHIP:
        monkeypatch.setenv("POPTORCH_SMALL_IPU_MODEL", "1")
    told, before = advice_for(program)
    assert told.advice, "there is something to improve in each of these programs"
    assert told.before.runs == (name not in SMALL_CHIP)
    assert told[0].after.runs
    wrong = []
    together = [] if told.together is None else [told.together]
    for advice in (*told, *together):
        found = applied(program, advice)
        effect = found.throughput / before.throughput
        tile = found.memory.max_tile_bytes / before.memory.max_tile_bytes
        told_tile = advice.after["tile_bytes"].value / advice.before["tile_bytes"].value
        line = f"{advice.title}: x{advice.effect:.3f} told, x{effect:.3f} found; tile x{told_tile:.3f}, x{tile:.3f}"
        if not _as_told(advice.effect, effect) or not _as_told(told_tile, tile):
            wrong.append(line)
        if found.memory.fits != advice.after.runs:
            wrong.append(f"{advice.title}: whether it fits")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("mode", "training", "share"),
    [
        ((poptorch.OutputMode.All,), True, 1.0),
        ((poptorch.OutputMode.EveryN, 4), True, 0.25),
        ((poptorch.OutputMode.Final,), True, None),
        ((poptorch.OutputMode.Sum,), True, None),
        ((poptorch.OutputMode.All,), False, 1.0),
        ((poptorch.OutputMode.Final,), False, 0.125),
    ],
)
def test_the_chip_model_knows_which_results_come_back(
    mode: tuple[Any, ...], training: bool, share: float | None
) -> None:
    options = poptorch.Options().deviceIterations(8).outputMode(*mode)
    assert deployment_of(options, None, training).returned_share == share


def _as_told(told: float, found: float) -> bool:
    """Same direction, and the same size within the tolerance; effects of a per cent have no direction."""
    if abs(told - 1.0) < 0.01:
        return abs(found - 1.0) < 0.03
    return (told > 1.0) == (found > 1.0) and abs(found - told) <= _TOLERANCE * told
