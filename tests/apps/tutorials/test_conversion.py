"""docs/tutorial.md: its programs run and learn, its commands say what the page says, its mistakes are told.

Commands, differences and quotations are taken from the page, so that page, programs and Tremula cannot part.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
import math
import os
import re
import shlex
import subprocess
import sys
import textwrap
from argparse import Namespace
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

import poptorch
from tremula.cli.main import main
from tremula.profile import Profile

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
PROGRAMS = ROOT / "apps" / "tutorials" / "conversion"
STEPS = [
    "step1_cpu",
    "step2_batch_of_one",
    "step3_loss_in_the_model",
    "step4_training_model",
    "step5_inference_model",
    "step6_half",
    "step6_pipeline",
]
#: What keeps a test short: fewer images, one form of execution, no figures of the chip unless they are asked for.
SHORT = ["--epochs", "2", "--events", "40"]
QUICK = {"TREMULA_EXECUTION": "quick", "TREMULA_CHIP_MODEL": "asked"}


def blocks(language: str) -> list[str]:
    """The fenced blocks of the page in one language."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [text for name, text in fenced if name == language]


def shown() -> dict[str, list[str]]:
    """Each command of the page, and the lines that it shows of what the command prints."""
    found: dict[str, list[str]] = {}
    for block in blocks(""):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            found[command] = [line for line in lines if line != "..."]
    return found


SHOWN = shown()
TRAININGS = [command for command in SHOWN if command.startswith("python ")]
ESTIMATES = [command for command in SHOWN if command.startswith("tremula estimate ")]


def run(command: str, folder: Path, *more: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the page in `folder`; what it prints and what it logs come together."""
    words = shlex.split(command.replace("apps/tutorials/conversion", str(PROGRAMS)))
    while "=" in words[0]:
        name, _, environment[name] = words.pop(0).partition("=")
    starts = {"python": [sys.executable], "tremula": [sys.executable, "-m", "tremula.cli"]}
    return subprocess.run(
        [*starts[words[0]], *words[1:], *more],
        cwd=folder,
        env={**os.environ, "TREMULA_SUMMARY": "1", "COLUMNS": "160", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=110,
        check=False,
    )


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in QUICK.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def estimate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], str]:
    """Runs a `tremula estimate` of the page in this process, which spares another import of torch."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def ask(command: str) -> str:
        words = shlex.split(command.replace("apps/tutorials/conversion", str(PROGRAMS)))
        assert words[:2] == ["tremula", "estimate"]
        assert main(words[1:]) == 0
        sys.modules.pop("events")  # of the program, which another test may call its own
        return capsys.readouterr().out

    return ask


def without_numbers(text: str) -> str:
    """A line with one sign for every number, without the time and the spaces at its beginning."""
    text = re.sub(r"^\[[\d:.]+\] ", "", text.strip())
    return re.sub(r"\s+", " ", re.sub(r"\d[\d,.]*\d|\d", "#", re.sub(r"[█▒░]+", "-", text)))


def assert_shown(lines: list[str], output: str) -> None:
    """Every line that the page shows is in the output, whatever the numbers."""
    printed = [without_numbers(line) for line in output.splitlines()]
    for line in lines:
        assert any(without_numbers(line) in each for each in printed), f"{line!r} is not in\n{output}"


def losses_in(output: str) -> dict[int, float]:
    return {int(epoch): float(loss) for epoch, loss in re.findall(r"epoch (\d+): loss (\S+)", output)}


def scores_in(output: str) -> list[float]:
    return [float(score) for score in re.findall(r"IoU (\S+?)(?:,|\n|$)", output)]


def load(name: str) -> ModuleType:
    """A program of the tutorial as a module."""
    spec = importlib.util.spec_from_file_location(f"conversion_{name}", PROGRAMS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PROGRAMS)
        spec.loader.exec_module(module)
        sys.modules.pop("events")
    return module


# The page and the programs


@pytest.mark.parametrize(("before", "after"), list(pairwise(STEPS)))
def test_differences_on_the_page_are_those_of_the_programs(before: str, after: str) -> None:
    texts = [(PROGRAMS / f"{name}.py").read_text().splitlines()[1:] for name in (before, after)]
    lines = list(difflib.unified_diff(*texts, lineterm="", n=0))[2:]
    block = blocks("diff")[STEPS.index(before)]
    assert block.splitlines() == ["@@" if line.startswith("@@") else line for line in lines]


def test_the_page_has_no_other_blocks_of_code() -> None:
    assert len(blocks("diff")) == len(STEPS) - 1
    forward, mistake = blocks("python")
    assert textwrap.indent(forward, "    ") in (PROGRAMS / "step1_cpu.py").read_text()
    assert "model.to(" in mistake
    assert {f"apps/tutorials/conversion/{name}.py" for name in STEPS} == {
        command.split()[1] for command in TRAININGS
    }


@pytest.mark.parametrize("name", [*STEPS, "events"])
def test_programs_know_nothing_of_tremula(name: str) -> None:
    text = (PROGRAMS / f"{name}.py").read_text()
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name) or ""
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert {each.partition(".")[0] for each in imported} <= {
        "argparse",
        "events",
        "numpy",
        "poptorch",
        "torch",
    }
    assert "tremula" not in text.lower()


# The commands of the page


# a process takes four seconds and more; steps 2 and 6c, which 3 and 6d contain, are among the slow ones
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            command, id=name, marks=[pytest.mark.slow] if name in ("step2_batch_of_one", "step6_half") else []
        )
        for name, command in zip(STEPS, TRAININGS, strict=True)
    ],
)
def test_a_step_learns(command: str, tmp_path: Path) -> None:
    done = run(command, tmp_path, *SHORT)
    assert done.returncode == 0, done.stdout
    assert_shown(SHOWN[command], done.stdout)
    losses = losses_in(done.stdout)
    assert losses[2] < 0.85 * losses[1]
    assert all(score > 0.25 for score in scores_in(done.stdout))
    # what ran on the device is what the step has brought there, and nothing else
    ran = re.findall(r"(\w+Model) UNet executed (\d+) calls \((\d+) samples\) on (\d) virtual", done.stdout)
    ipus = "2" if "pipeline" in command else "1"
    expected = [("trainingModel", "10", "80", ipus), ("inferenceModel", "2", "16", ipus)]
    step = int(command.partition("/step")[2][0])
    assert ran == expected[: max(0, step - 3)]
    assert "[warning]" not in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("command", TRAININGS, ids=STEPS)
def test_a_step_prints_what_the_page_shows(command: str, tmp_path: Path) -> None:
    done = run(command, tmp_path, TREMULA_EXECUTION="auto", TREMULA_CHIP_MODEL="auto")
    assert done.returncode == 0, done.stdout
    page = "\n".join(SHOWN[command])
    assert_shown(SHOWN[command], done.stdout)
    found = losses_in(done.stdout)
    for epoch, loss in losses_in(page).items():
        assert found[epoch] == pytest.approx(loss, rel=0.02)
    assert scores_in(done.stdout) == pytest.approx(scores_in(page), abs=0.02)


def figures(output: str) -> tuple[int, str, list[int], list[float]]:
    """IPUs, whether it fits, tile memory and rate (each with its range), from the table of an estimate."""
    number = r"([\d,.]+)"
    row = re.search(
        rf"^bow +(\d) .*? (no|unlikely|likely|yes) +{number}% .* ms +{number} ", output, re.MULTILINE
    )
    ranges = re.search(
        rf"^fp\d\d .*? {number}% to {number}% .* ms +{number} to {number} ", output, re.MULTILINE
    )
    assert row is not None, output
    assert ranges is not None, output
    ipus, fits, tile, rate = row.groups()
    low, high, slow, fast = ranges.groups()
    return (
        int(ipus),
        fits,
        [int(each) for each in (tile, low, high)],
        [float(each) for each in (rate, slow, fast)],
    )


@pytest.mark.parametrize("name", ["step5_inference_model", "step6_half", "step6_pipeline"])
def test_memory_and_rate_are_those_of_the_page(name: str, estimate: Callable[[str], str]) -> None:
    command = next(each for each in ESTIMATES if name in each and "--stages" not in each)
    output = estimate(command.replace("estimate run", "estimate --no-advice run"))
    row = re.search(rf"^\| `{name}\.py` \| (\d) \| (.*?) \| (.*?) \| (.*?) \|$", PAGE, re.MULTILINE)
    assert row is not None
    ipus, tile, fits, rate = row.groups()
    found = figures(output)
    assert (str(found[0]), found[1]) == (ipus, fits)
    # a constant of the chip model may be fitted anew; more than this and the page has to be written anew
    assert [int(each) for each in re.findall(r"\d+", tile)] == pytest.approx(found[2], rel=0.1)
    assert [int(each) for each in re.findall(r"\d+", rate)] == pytest.approx(found[3], rel=0.1)
    assert_shown([line for line in SHOWN[command] if line.startswith(("bow", "UNet"))], output)


@pytest.mark.slow
def test_advice_is_that_of_the_page(estimate: Callable[[str], str]) -> None:
    command = next(each for each in ESTIMATES if "advice" not in each)
    assert_shown(SHOWN[command], estimate(command))


def test_the_cut_of_the_last_program_is_the_proposed_one(estimate: Callable[[str], str]) -> None:
    command = next(each for each in ESTIMATES if "--stages" in each)
    output = estimate(command)
    assert_shown(SHOWN[command], output)
    proposed = re.findall(r"^ +(model\S+ = poptorch\.BeginBlock.*)$", output, re.MULTILINE)
    assert [re.sub(r'"[\w.]+", ', "", line) for line in proposed] == [
        line.strip()
        for line in (PROGRAMS / "step6_pipeline.py").read_text().splitlines()
        if "BeginBlock" in line and "ipu_id=0" not in line
    ]


def test_the_profile_of_what_does_not_fit_is_written_before_it_fails(tmp_path: Path) -> None:
    (command,) = [each for each in SHOWN if "tremula profile" in each]
    done = run(command, tmp_path)
    assert done.returncode == 1
    assert_shown(SHOWN[command], done.stdout)
    assert "epoch 1" not in done.stdout
    with Profile(tmp_path / "report" / "training" / "profile.pop") as profile:
        always = ("weights", "optimizer state", "gradient accumulators")
        assert sum(profile.tile_bytes(0)[each].sum() for each in always) < 2 * 2**20
    assert "<html" in (tmp_path / "report" / "training" / "profile.html").read_text()


# Equal numbers


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


def cut(model: Any) -> None:
    """The blocks of step6_pipeline.py."""
    model.enter = poptorch.BeginBlock(model.enter, ipu_id=0)
    model.up1[1] = poptorch.BeginBlock(model.up1[1], ipu_id=1)


def test_the_ipu_trains_as_the_cpu_does(train: Callable[..., Any]) -> None:
    losses, weights = train("step3_loss_in_the_model")
    assert len(losses) == 3
    assert train("step2_batch_of_one")[0] == losses
    on_ipu, weights_of_ipu = train("step4_training_model")
    assert on_ipu == pytest.approx(losses, rel=1e-5)
    torch.testing.assert_close(weights_of_ipu, weights, rtol=1e-3, atol=1e-4)
    # the last epoch is within 1 % in half precision, but not the same
    in_half, _ = train("step6_half")
    assert in_half == pytest.approx(losses, rel=0.01)
    assert in_half != pytest.approx(losses, rel=1e-5)


def test_a_pipeline_trains_as_one_ipu_does(train: Callable[..., Any]) -> None:
    losses, weights = train("step6_half")
    in_pipeline, weights_of_pipeline = train("step6_pipeline", cut)
    assert in_pipeline == pytest.approx(losses, rel=1e-5)
    torch.testing.assert_close(weights_of_pipeline, weights, rtol=1e-2, atol=1e-3)


def test_a_loss_scale_may_be_anything_that_does_not_overflow(train: Callable[..., Any]) -> None:
    losses, _ = train("step6_half", loss_scaling=1.0)
    assert train("step6_half", loss_scaling=65536.0)[0] == pytest.approx(losses, rel=1e-3)
    assert math.isnan(train("step6_half", loss_scaling=1e7)[0][-1])


@pytest.mark.slow
def test_small_gradients_vanish_in_half_precision(tmp_path: Path) -> None:
    command = next(each for each in TRAININGS if "half" in each)
    base, small = (
        losses_in(run(f"{command} --epochs 4 --loss-scaling {scale}", tmp_path).stdout)
        for scale in (1024, 0.001)
    )
    assert small[4] > 1.5 * base[4]


def test_group_norm_does_not_mind_how_a_batch_is_cut() -> None:
    images = torch.rand(8, 1, 16, 16)
    same = []
    for name in STEPS[:2]:
        model = load(name).UNet(4)
        together, alone = model(images), torch.cat([model(image[None]) for image in images])
        same.append(torch.allclose(together, alone, atol=1e-5))
    assert same == [False, True]


# Mistakes


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


def test_without_identity_loss_another_loss_is_trained(
    train: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    losses, weights = train("step4_training_model", epochs=1)
    monkeypatch.setattr(poptorch, "identity_loss", lambda loss, reduction: loss)
    others, other_weights = train("step4_training_model", epochs=1)
    assert others == pytest.approx(losses, rel=0.05), "at first hardly anything is to be seen"
    assert max((weights[n] - other_weights[n]).abs().max() for n in range(len(weights))) > 0.005


@pytest.mark.slow
def test_what_is_lost_without_identity_loss(tmp_path: Path) -> None:
    text = (PROGRAMS / "step4_training_model.py").read_text()
    marked = 'poptorch.identity_loss(pixel_loss(logits, labels), reduction="none")'
    assert marked in text
    (tmp_path / "unmarked.py").write_text(text.replace(marked, "pixel_loss(logits, labels)"))
    (tmp_path / "events.py").write_text((PROGRAMS / "events.py").read_text())
    found = losses_in(run("python unmarked.py", tmp_path).stdout)
    told = re.search(r"The loss after eight\s+epochs is then (\S+) instead of (\S+)\.\n", PAGE)
    assert told is not None
    assert found[8] == pytest.approx(float(told[1]), rel=0.05)
    (command,) = [each for each in TRAININGS if "step4" in each]
    assert losses_in("\n".join(SHOWN[command]))[8] == pytest.approx(float(told[2]), abs=0.001)


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
