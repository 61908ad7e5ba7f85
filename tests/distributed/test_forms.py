"""The forms of execution where other instances have a part in the update, with stand-ins for the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import poptorch
from tremula.errors import Error
from tremula.frontends.torch.execute.compiled import CompiledCode
from tremula.frontends.torch.execute.forms import CompiledForm
from tremula.frontends.torch.execute.trial import tried
from tremula.frontends.torch.execute.whole_step import whole_step

from .training_run import Dense, Wide, batches


class Echo:
    """Another instance that always has the same gradients as this one."""

    instances = 2

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.interrupted = False

    def start(self, bucket: torch.Tensor) -> None:
        self.begun.append(bucket.numel())
        bucket.mul_(2)

    def finish(self) -> None:
        if self.interrupted:
            raise KeyboardInterrupt


class _Team:
    """What instances say to each other before, left out."""

    def __init__(self, _instances: Any) -> None:
        self.echo = Echo()

    def agree_on_model(self, *_description: Any) -> None: ...

    def agree_on_gradients(self, _names: Any) -> None: ...

    def share(self, _tensors: Any) -> None: ...

    def common_seed(self, own: int) -> int:
        return own

    def reduction(self) -> Echo:
        return self.echo


@pytest.fixture
def training(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Wraps a model for a number of processes, and trains a step; gives the wrapped model."""
    monkeypatch.setenv("TREMULA_EXECUTION", "quick")
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "off")
    monkeypatch.setattr("tremula.distributed.process_group.ProcessGroup", _Team)

    def wrap(model_class: type[torch.nn.Module], processes: int, accumulation: int = 1) -> Any:
        torch.manual_seed(1)
        model = model_class()
        options = poptorch.Options().showCompilationProgressBar(False)
        options.Distributed.configureProcessId(0, processes)
        options.Training.gradientAccumulation(accumulation)
        wrapped = poptorch.trainingModel(model, options, poptorch.optim.Adam(model.parameters(), lr=0.01))
        wrapped(*batches(4, 1)[0])
        return wrapped

    return wrap


def _weights(wrapped: Any) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in wrapped._compiled().executable.read_state().items()}


@pytest.mark.parametrize("accumulation", [1, 2])
@pytest.mark.parametrize("model", [Dense, Wide])
def test_equal_gradients_of_others_change_nothing(
    training: Callable[..., Any], model: type[torch.nn.Module], accumulation: int
) -> None:
    alone, together = (_weights(training(model, processes, accumulation)) for processes in (1, 2))
    assert alone.keys() == together.keys()
    for name, value in alone.items():
        torch.testing.assert_close(together[name], value, rtol=0, atol=1e-5)


def test_buckets_are_summed_in_their_order_the_last_layers_first(training: Callable[..., Any]) -> None:
    wrapped = training(Wide, 2)
    session = wrapped._compiled()
    sizes = [flat.numel() for flat in session.executable._state.buckets.flat]
    assert len(sizes) > 1
    assert session.process_group.echo.begun == sizes
    first = session.executable._state.buckets.members[0]
    names = session.program.interface.gradients
    assert {names[i].split(".")[1] for i in first} <= {"2", "3"}


def _compiled_form(wrapped: Any) -> CompiledForm:
    """The compiled form, with the joined graph run as it is in the place of machine code."""
    choice = wrapped._compiled().executable.choice
    around = choice._around
    whole = whole_step(
        around.program,
        choice._step,
        len(around.held(0)),
        divisor=around.state.training.divisor,
        fixed_scale=True,
    )
    return CompiledForm(around, CompiledCode(lambda arguments: whole.turn(*arguments), None), 1, choice._end)


@pytest.mark.parametrize("accumulation", [1, 2])
def test_the_compiled_form_ends_with_the_same_update(training: Callable[..., Any], accumulation: int) -> None:
    quick, compiled = (training(Wide, 2, accumulation) for _ in range(2))
    compiled._compiled().executable.choice.form = _compiled_form(compiled)
    for wrapped in (quick, compiled):
        wrapped(*batches(4, 2)[1])
    begun = [wrapped._compiled().process_group.echo.begun for wrapped in (quick, compiled)]
    assert begun[0] == begun[1]
    for name, value in _weights(quick).items():
        assert torch.equal(_weights(compiled)[name], value), name


def test_the_chip_model_sees_the_replicas_of_all_instances(
    training: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TREMULA_CHIP_MODEL")
    alone, together = (training(Dense, processes)._modelled.estimate for processes in (1, 2))
    assert (alone.loops.replicas, together.loops.replicas) == (1, 2)
    assert together.throughput > alone.throughput


def test_a_trial_says_nothing_to_the_others(training: Callable[..., Any]) -> None:
    wrapped = training(Wide, 2)
    session = wrapped._compiled()
    choice = session.executable.choice
    before, begun = _weights(wrapped), len(session.process_group.echo.begun)
    chunks = [[tensor] for tensor in batches(4, 1)[0]]
    chunks[1] = [chunks[1][0].int()]
    with torch.no_grad():
        verdict = tried(choice._around, choice._quick, _compiled_form(wrapped), chunks)
    assert verdict.equal
    assert len(session.process_group.echo.begun) == begun
    assert all(torch.equal(_weights(wrapped)[name], value) for name, value in before.items())


def test_after_an_interrupted_update_nothing_goes_on_in_secret(training: Callable[..., Any]) -> None:
    wrapped = training(Dense, 2)
    wrapped._compiled().process_group.echo.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        wrapped(*batches(4, 1)[0])
    wrapped._compiled().process_group.echo.interrupted = False
    with pytest.raises(Error, match="interrupted in the middle of an update"):
        wrapped(*batches(4, 1)[0])
