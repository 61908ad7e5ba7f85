"""docs/tutorial.md: the mistakes that it warns of, and what is said about them, word for word."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from tests.apps.tutorials.tutorial_page import (
    PAGE,
    PROGRAMS,
    blocks,
    cut,
    load,
    run,
)
from torch import nn

import poptorch

pytestmark = pytest.mark.usefixtures("quick")


def quoted(text: str) -> str:
    """A text that the page quotes."""
    assert f'"{text}' in PAGE, f"the page does not quote {text!r}"
    return text


@pytest.fixture(scope="module")
def step() -> ModuleType:
    return load("step5_inference_model")


@pytest.fixture(scope="module")
def events(step: ModuleType) -> Any:
    return step.Events(20, 32, seed=1)


class Wrapped:
    """A network of step 5 that is wrapped for training, with its optimizer."""

    def __init__(self, model: nn.Module, accumulation: int = 8) -> None:
        self.options = poptorch.Options().showCompilationProgressBar(False)
        self.options.Training.gradientAccumulation(accumulation)
        self.model = model
        self.optimizer = poptorch.optim.Adam(model.parameters(), lr=0.005)
        self.training_model = poptorch.trainingModel(model, self.options, self.optimizer)

    def __call__(self, *args: Any) -> Any:
        return self.training_model(*args)


@pytest.fixture
def wrapped(step: ModuleType) -> Iterator[Wrapped]:
    made = Wrapped(step.UNet(4))
    yield made
    made.training_model.destroy()


def test_a_lost_wrapper_is_told_three_times(tmp_path: Path) -> None:
    _, mistake = blocks("python")
    text = (PROGRAMS / "step3_loss_in_the_model.py").read_text()
    line = "    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)\n"
    assert line in text
    text = text.replace(line, line + textwrap.indent(mistake, "    "))
    (tmp_path / "lost.py").write_text(text.replace("import torch\n", "import poptorch\nimport torch\n", 1))
    (tmp_path / "events.py").write_text((PROGRAMS / "events.py").read_text())
    done = run("python lost.py", tmp_path, "--epochs", "1", "--events", "16")
    assert done.returncode == 0, "it runs to the end, which is the trouble"
    (warnings,) = [block for block in blocks("") if block.startswith("[tremula] [warning] to()")]
    said = re.sub(
        r"\[[\d:.]+\] (?=\[tremula\])", "", done.stdout.replace(str(tmp_path / "lost.py"), "lost.py")
    )
    for warning in " ".join(warnings.split()).split("[tremula] ")[1:]:
        assert warning.strip() in said
    assert quoted("optimizer.step() was called on the host") in said
    assert "executed" not in said.replace("never executed", "")


def test_backward_is_refused(wrapped: Wrapped, events: Any) -> None:
    loss = wrapped(events.images[:8], events.labels[:8])
    assert loss.shape == (), "by default the last of eight losses comes back"
    with pytest.raises(poptorch.Error) as told:
        loss.backward()
    text = (
        "backward() cannot be called explicitly on outputs of a PopTorch model. A call of a trainingModel has"
    )
    assert quoted(text) in str(told.value)


def test_a_step_of_the_optimizer_is_told_and_does_nothing(
    wrapped: Wrapped, events: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    wrapped(events.images[:8], events.labels[:8])
    weight = wrapped.model.enter[0].weight.detach().clone()
    wrapped.optimizer.zero_grad()
    assert "optimizer" not in capfd.readouterr().err
    wrapped.optimizer.step()
    text = "optimizer.step() was called on the host, but this optimizer belongs to a wrapped training model"
    assert quoted(text) in capfd.readouterr().err
    assert torch.equal(wrapped.model.enter[0].weight, weight)


def test_a_learning_rate_needs_to_be_set(wrapped: Wrapped, events: Any) -> None:
    def moved() -> float:
        before = wrapped.model.enter[0].weight.detach().clone()
        wrapped(events.images[:8], events.labels[:8])
        return (wrapped.model.enter[0].weight - before).abs().max().item()

    assert moved() > 0, "and the weights come back when they are looked at"
    wrapped.optimizer.param_groups[0]["lr"] = 0.0
    assert moved() > 0
    wrapped.training_model.setOptimizer(wrapped.optimizer)
    assert moved() == 0


def test_a_batch_of_one_is_too_small_for_a_call(wrapped: Wrapped, events: Any) -> None:
    images, labels = next(iter(torch.utils.data.DataLoader(events, batch_size=1)))
    with pytest.raises(AssertionError, match=quoted("Invalid batch dimension")):
        wrapped(images, labels)


def test_a_remainder_is_told_and_refused(
    wrapped: Wrapped, events: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    loader = poptorch.DataLoader(wrapped.options, events, batch_size=1, drop_last=False)
    *whole, remainder = loader
    for batch in whole:
        wrapped(*batch)
    with pytest.raises(poptorch.Error) as told:
        wrapped(*remainder)
    assert quoted("samples left over: 4") in capfd.readouterr().err
    text = "Shape mismatch for images: expected torch.Size([8, 1, 32, 32]) but got torch.Size([4, 1, 32, 32])"
    assert quoted(text) in str(told.value)


def test_mistakes_in_forward_are_told(step: ModuleType, events: Any) -> None:
    batch = events.images[:8], events.labels[:8]

    class Factor(step.UNet):
        def forward(self, images: Any, labels: Any, factor: float) -> Any:
            return factor * nn.functional.cross_entropy(self.classify(self.enter(images)), labels)

    model = Wrapped(Factor(4))
    model(*batch, 1.0)
    with pytest.raises(poptorch.Error, match=quoted("Value mismatch for factor: expected 1.0 but got 2.0")):
        model(*batch, 2.0)

    class NoLoss(step.UNet):
        def forward(self, images: Any, labels: Any) -> Any:
            return (self.classify(self.enter(images)).sum(dim=1) - labels).square().sum()

    with pytest.raises(poptorch.Error, match=quoted("Couldn't find a loss in graph")):
        Wrapped(NoLoss(4))(*batch)

    class Weights(step.UNet):
        def forward(self, images: Any, labels: Any) -> Any:
            logits = self.classify(self.enter(images))
            return nn.functional.cross_entropy(logits, labels, weight=torch.tensor([1.0, 5.0, 5.0]))

    with pytest.raises(poptorch.Error, match=re.escape(quoted("weight (per class) is not supported"))):
        Wrapped(Weights(4))(*batch)

    class Looks(step.UNet):
        def forward(self, images: Any, labels: Any) -> Any:
            loss = nn.functional.cross_entropy(self.classify(self.enter(images)), labels)
            return loss / loss.item()

    text = quoted("tensor.item() or tensor.tolist() was called inside forward()")
    with pytest.raises(poptorch.Error, match=re.escape(text)):
        Wrapped(Looks(4))(*batch)


def test_a_part_of_the_loss_is_not_trained(
    train: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poptorch, "identity_loss", lambda loss, reduction: loss)
    with pytest.raises(poptorch.Error, match=quoted("The final loss must be a scalar tensor")):
        train("step4_training_model", epochs=1)


def test_a_wrapper_that_is_converted_is_told(wrapped: Wrapped, capfd: pytest.CaptureFixture[str]) -> None:
    assert not isinstance(wrapped.training_model.half(), poptorch.PoplarExecutor)
    assert "half() of a wrapped model" in capfd.readouterr().err


def test_inference_has_options_of_its_own(wrapped: Wrapped, events: Any) -> None:
    wrapped(events.images[:8], events.labels[:8])
    text = quoted("You must set poptorch.Options().Training.gradientAccumulation to 1 for inference")
    with pytest.raises(poptorch.Error, match=re.escape(text)):
        poptorch.inferenceModel(wrapped.model.eval(), wrapped.options)(events.images[:8])


def test_two_models_need_two_ipus(
    wrapped: Wrapped, events: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "1")
    wrapped(events.images[:8], events.labels[:8])
    inference_model = poptorch.inferenceModel(wrapped.model.eval())
    with pytest.raises(poptorch.Error) as told:
        inference_model(events.images[:1])
    assert quoted("Failed to acquire 1 IPU(s): all 1 device(s) of that size are in use") in str(told.value)
    assert quoted("another model of this process; call detachFromDevice() on it") in str(told.value)
    wrapped.training_model.detachFromDevice()
    assert inference_model(events.images[:1]).shape == (1, 32, 32)
    inference_model.detachFromDevice()


def test_a_pipeline_needs_enough_to_do_and_the_right_number_of_ipus(step: ModuleType, events: Any) -> None:
    batch = events.images[:8], events.labels[:8]
    model = step.UNet(4)
    cut(model)
    text = "gradientAccumulation must be greater than or equal to the number of pipeline stages (3)"
    with pytest.raises(poptorch.Error, match=re.escape(quoted(text))):
        Wrapped(model, accumulation=2)(*batch)

    model = step.UNet(4)
    cut(model)
    with pytest.raises(
        poptorch.Error, match=quoted("deviceIterations must be greater: the pipeline has 2 stages")
    ):
        poptorch.inferenceModel(model.eval())(events.images[:8])

    model = step.UNet(4)
    cut(model)
    model.leave = poptorch.BeginBlock(model.leave, ipu_id=2)
    text = "The model specifies the use of 3 IPUs, however PopTorch must reserve a minimum of 4"
    with pytest.raises(poptorch.Error, match=quoted(text)):
        Wrapped(model)(*batch)
