"""Compiled code is only used when it gives the same numbers, and faster; a trial leaves no trace."""

import time

import pytest
import torch

from tremula.frontends.torch.execute.trial import Verdict, _difference, tried


class _Altered:
    """The quick form, with something done to the state afterwards and a delay."""

    name = "compiled"
    unrolled = 1

    def __init__(self, quick, after=lambda: None, seconds=0.0):
        self._quick, self._after, self._seconds = quick, after, seconds

    def iterate(self, *arguments):
        self._quick.iterate(*arguments)
        self._after()
        stop = time.thread_time() + self._seconds
        while time.thread_time() < stop:
            pass


@pytest.fixture
def trained(dense, data, training):
    executor = training(dense(dropout=0.5))
    x, y = data(4)
    executor(x, y)
    executable = executor._session.executable
    return executable, [[x], [y]]


def _trial(executable, chunks, form):
    with torch.no_grad(), executable._random_streams():
        return tried(executable._around, executable.choice.form, form, chunks)


def test_equal_numbers_and_a_higher_speed_win(trained):
    executable, chunks = trained
    slow = _Altered(executable.choice.form, seconds=0.01)
    slow.name = "quick"
    with torch.no_grad(), executable._random_streams():
        verdict = tried(executable._around, slow, _Altered(executable.choice.form), chunks)
    assert verdict.use
    assert verdict.speedup > 1


def test_slower_code_is_not_used(trained):
    executable, chunks = trained
    verdict = _trial(executable, chunks, _Altered(executable.choice.form, seconds=0.01))
    assert verdict.equal
    assert not verdict.use


@pytest.mark.parametrize("wrong", [1.01, float("nan")])
def test_other_numbers_are_noticed(trained, wrong):
    executable, chunks = trained
    moments = [t for name, t in executable.training.state.items() if name.startswith("Accl1")]
    verdict = _trial(
        executable, chunks, _Altered(executable.choice.form, lambda: [m.mul_(wrong * 1.05) for m in moments])
    )
    assert not verdict.equal
    assert "Accl1" in verdict.difference


def test_weights_that_move_otherwise_are_noticed(trained):
    executable, chunks = trained
    weight = executable.read_state()["first.weight"]
    verdict = _trial(executable, chunks, _Altered(executable.choice.form, lambda: weight.add_(0.1)))
    assert "weights" in verdict.difference


@pytest.mark.parametrize("kind", [RuntimeError, IndexError])
def test_code_that_fails_is_not_used(trained, kind):
    executable, chunks = trained

    def fail():
        raise kind("no kernel")

    verdict = _trial(executable, chunks, _Altered(executable.choice.form, fail))
    assert not verdict.use
    assert "no kernel" in verdict.difference


def test_a_trial_leaves_state_and_random_stream_as_they_were(trained):
    executable, chunks = trained
    before = {name: tensor.clone() for name, tensor in executable.read_state().items()}
    state = {name: tensor.clone() for name, tensor in executable.training.state.items()}
    words = executable.random.words()
    _trial(executable, chunks, _Altered(executable.choice.form))
    for name, tensor in executable.read_state().items():
        assert torch.equal(tensor, before[name])
    for name, tensor in executable.training.state.items():
        assert torch.equal(tensor, state[name])
    assert executable.random.words() == words


def test_inputs_that_the_model_writes_to_are_put_back_in_all_iterations(inference):
    class Writes(torch.nn.Module):
        def forward(self, x):
            x += 1
            return x * 2

    executor = inference(Writes(), iterations=2)
    x = torch.zeros(2, 3)
    executor.compile(x)
    executable = executor._session.executable
    form = _Altered(executable.choice.form)
    form.unrolled = 2
    with torch.no_grad():
        tried(executable._around, executable.choice.form, form, [x.split(1)])
    assert not x.any()


def test_an_interrupt_during_a_trial_leaves_the_state_as_it_was(trained):
    executable, chunks = trained
    before = executable.read_state()["first.weight"].clone()

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _trial(executable, chunks, _Altered(executable.choice.form, interrupt))
    assert torch.equal(executable.read_state()["first.weight"], before)


@pytest.mark.parametrize("data", [None, 3, {}, {"equal": True}, {"equal": 1, "speedup": 2}, {"equal": False}])
def test_a_verdict_from_the_cache_must_be_sound(data):
    assert Verdict.of(data) is None


def test_a_verdict_survives_the_cache():
    assert Verdict.of(Verdict(True, 1.5).as_data()) == Verdict(True, 1.5)


@pytest.mark.parametrize(("step", "equal"), [(1e-7, True), (1e-5, False)])
def test_steps_that_are_lost_in_rounding_are_not_compared(step, equal):
    before = {"weights": [torch.ones(100)]}
    moved = {"weights": [torch.ones(100) + step]}
    assert (_difference(before, moved, before) == "") is equal
