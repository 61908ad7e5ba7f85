"""torch's executable through the protocol that a device drives, without a shim."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from tremula.device.chip_model import ModelledRun
from tremula.device.lifecycle import Acquire, Advance, CompileSteps, DeviceProgram
from tremula.device.settings import DeviceSettings, DeviceWords
from tremula.errors import Error
from tremula.execute.executable import Executable, OptimizerState
from tremula.execute.outputs import OutputRule
from tremula.frontends.torch.execute.compile_request import cxx_compiler
from tremula.frontends.torch.ops.vendor_schemas import identity_loss
from tremula.frontends.torch.optimize.named import named_spec
from tremula.frontends.torch.rules.program import program_of
from tremula.frontends.torch.session import Session
from tremula.frontends.torch.settings import SessionSettings
from tremula.frontends.torch.structure import flattenTensorStructure
from tremula.program.loops import Loops
from tremula.schedule.deployment import Deployment

LOOPS = Loops(device_iterations=2, gradient_accumulation=2, replicas=2)


class Net(nn.Module):
    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.inner = nn.Linear(6, 3)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("scale", torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.inner(x)) * self.scale


def session_of(module: nn.Module, *, training: bool, loops: Loops, seed: int = 5) -> Session:
    def call(values: list[torch.Tensor]) -> object:
        out = module(*values)
        return (out, identity_loss(out.square().mean(), 2)) if training else out

    settings = SessionSettings(training, loops=loops, outputs=OutputRule("all"), seed=seed)
    spec = named_spec("adam", [name for name, _ in module.named_parameters()]) if training else None
    session = Session(settings, spec)
    session.compile(module.train(training), call, [torch.ones(2, 6)], ["x"], flattenTensorStructure)
    return session


@pytest.fixture
def batch() -> torch.Tensor:
    return torch.randn(2 * LOOPS.factor, 6)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Executable[torch.Tensor]]:
    monkeypatch.setenv("TREMULA_EXECUTION", "quick")

    def make(dropout: float = 0.0) -> Executable[torch.Tensor]:
        torch.manual_seed(0)
        return session_of(Net(dropout), training=True, loops=LOOPS).executable

    return make


def copied(tensors: object) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in tensors.items()}  # type: ignore[attr-defined]


def test_a_call_gives_the_modules_numbers_and_the_times_of_its_turns(batch: torch.Tensor) -> None:
    module = Net()
    loops = Loops(device_iterations=LOOPS.factor)
    executable: Executable[torch.Tensor] = session_of(module, training=False, loops=loops).executable
    (out,) = executable.run([batch])
    torch.testing.assert_close(out, module(batch).detach())
    assert len(executable.times.started) == len(executable.times.ended) == LOOPS.factor


def test_state_that_is_written_is_that_of_the_next_call(batch: torch.Tensor) -> None:
    module = Net()
    loops = Loops(device_iterations=LOOPS.factor)
    executable = session_of(module, training=False, loops=loops).executable
    executable.write_state({"inner.weight": torch.zeros(3, 6), "scale": torch.full((3,), 2.0)})
    (out,) = executable.run([batch])
    torch.testing.assert_close(out, 2 * module.inner.bias.detach().expand_as(out))
    assert module.inner.weight.any(), "the module's own weights are not the device's"
    state = executable.read_state()
    assert not state["inner.weight"].any()
    assert state["scale"].tolist() == [2.0, 2.0, 2.0]


def test_training_goes_on_from_state_that_is_put_back(
    trained: Callable[..., Executable[torch.Tensor]], batch: torch.Tensor
) -> None:
    executable = trained(dropout=0.5)
    executable.run([batch])
    state, optimizer = copied(executable.read_state()), executable.read_optimizer()
    words = executable.random_words()
    assert words[0] == 5
    first = executable.run([batch])
    after = copied(executable.read_state())
    assert not torch.equal(after["inner.weight"], state["inner.weight"])
    executable.write_state(state)
    assert executable.write_optimizer(optimizer) == []
    executable.restore_random(words)
    for one, two in zip(first, executable.run([batch]), strict=True):
        assert torch.equal(one, two)
    for name, value in executable.read_state().items():
        assert torch.equal(value, after[name]), name


def test_a_seed_alone_restarts_the_random_streams(
    trained: Callable[..., Executable[torch.Tensor]], batch: torch.Tensor
) -> None:
    executable, other = trained(dropout=0.5), trained(dropout=0.5)
    first = executable.run([batch])[0]
    assert torch.equal(first, other.run([batch])[0])
    fresh = trained(dropout=0.5)
    executable.write_state(fresh.read_state())
    executable.write_optimizer(fresh.read_optimizer())
    executable.restore_random([5])
    assert torch.equal(first, executable.run([batch])[0])
    with pytest.raises(Error, match="another number of replicas"):
        executable.restore_random([5, 1, 2])


def test_an_optimizers_state_is_copied_and_what_is_missing_is_named(
    trained: Callable[..., Executable[torch.Tensor]], batch: torch.Tensor
) -> None:
    executable, other = trained(), trained()
    executable.run([batch])
    state = executable.read_optimizer()
    assert any(tensor.any() for tensor in state.tensors.values())
    before = copied(state.tensors)
    executable.run([batch])
    assert all(torch.equal(state.tensors[name], value) for name, value in before.items())
    assert other.write_optimizer(state) == []
    assert copied(other.read_optimizer().tensors).keys() == before.keys()
    name = next(name for name, tensor in before.items() if tensor.dim())
    missing = other.write_optimizer(OptimizerState({**before, name: torch.zeros(99)}, state.parameters))
    assert missing == [name]


def test_without_training_there_is_no_optimizer() -> None:
    executable = session_of(Net(), training=False, loops=Loops()).executable
    assert executable.read_optimizer() == OptimizerState()
    with pytest.raises(Error, match="Only a training model"):
        executable.write_optimizer(OptimizerState())


def test_what_runs_as_it_is_captured_does_not_wait_for_a_compiler(
    trained: Callable[..., Executable[torch.Tensor]], batch: torch.Tensor
) -> None:
    executable = trained()
    assert not executable.waits
    executable.prepare([torch.ones(2, 6)])
    assert executable.report.compile_seconds == 0
    assert executable.report.why_quick == "TREMULA_EXECUTION=quick"


@pytest.mark.slow
def test_compiling_ahead(batch: torch.Tensor, monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    if cxx_compiler() is None:
        pytest.skip("there is no C++ compiler")
    monkeypatch.setenv("TREMULA_EXECUTION", "compiled")
    monkeypatch.setenv("TREMULA_CACHE_DIR", str(tmp_path))
    module = Net()
    loops = Loops(device_iterations=LOOPS.factor)
    executable = session_of(module, training=False, loops=loops).executable
    assert executable.waits
    told: list[float] = []
    executable.prepare([torch.ones(2, 6)], told.append)
    assert executable.report.compile_seconds > 0
    assert told == sorted(told)
    assert told[0] >= 0
    assert told[-1] <= 1
    torch.testing.assert_close(executable.run([batch])[0], module(batch).detach())


def test_a_device_drives_torch_without_a_shim(batch: torch.Tensor) -> None:
    module, loops = Net(), Loops(device_iterations=LOOPS.factor)
    device: DeviceProgram[Session] = DeviceProgram(DeviceSettings("torch", "Net"), DeviceWords())

    def capture(_advance: Advance, acquire: Acquire) -> tuple[Session, list[torch.Tensor]]:
        acquire(1)
        return session_of(module, training=False, loops=loops), [torch.ones(2, 6)]

    def model(session: Session) -> ModelledRun:
        program = session.program
        return ModelledRun(lambda: program_of(program), Deployment(), replicas=1, ops=3)

    device.compile(CompileSteps(capture=capture, model=model))
    outputs = device.compiled.executable.run([batch])
    device.ran([batch], outputs, 0.0)
    torch.testing.assert_close(outputs[0], module(batch).detach())
    assert device.cycles() > 0
    assert device.ledger.samples == len(batch)
    device.detach()
    device.destroy()
    assert device.program is None
