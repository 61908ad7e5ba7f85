"""Whole steps: the joined graphs do to the device's state what the separate ones do."""

import itertools

import pytest
import torch

from tremula.frontends.torch.execute.run_context import turn_arguments, update_arguments
from tremula.frontends.torch.execute.whole_step import whole_step


def _whole(executor):
    executable = executor._session.executable
    around, training = executable._around, executable.training
    whole = whole_step(
        executable.program,
        executable.program.step,
        len(around.held(0)),
        divisor=training.divisor,
        fixed_scale=True,
    )
    return around, whole


@pytest.mark.parametrize(("iterations", "accumulation"), list(itertools.product([1, 2, 6], [1, 3])))
def test_the_joined_graph_trains_like_the_separate_ones(dense, data, training, iterations, accumulation):
    model = dense()
    x, y = data(2 * iterations * accumulation)
    separate = training(model, iterations, accumulation)
    joined = training(model, iterations, accumulation)
    separate.compile(x, y)
    joined.compile(x, y)
    separate(x, y)
    around, whole = _whole(joined)
    with torch.no_grad():
        xs, ys = x.split(2), y.split(2)
        for first in range(0, iterations * accumulation, whole.unrolled):
            inputs = [t for i in range(whole.unrolled) for t in (xs[first + i], ys[first + i])]
            whole.turn(*turn_arguments(around, 0), *inputs)
            if whole.update is not None and (first + 1) % accumulation == 0:
                whole.update(*update_arguments(around))
    expected = separate._session.executable.read_state()
    for name, value in joined._session.executable.read_state().items():
        torch.testing.assert_close(value, expected[name])
    assert all(not accumulator.any() for accumulator in around.state.accumulators)


def test_small_programs_are_unrolled_by_a_divisor_of_their_iterations(dense, data, training):
    executor = training(dense(), iterations=50)
    executor.compile(*data(100))
    _, whole = _whole(executor)
    assert whole.unrolled > 1
    assert 50 % whole.unrolled == 0


def test_programs_with_much_to_compute_are_not_unrolled(convolutional, data, training):
    executor = training(convolutional(), iterations=4)
    executor.compile(*data(256, image=True))
    _, whole = _whole(executor)
    assert whole.unrolled == 1


def test_accumulation_is_not_unrolled_and_has_an_update_of_its_own(dense, data, training):
    executor = training(dense(), iterations=4, accumulation=2)
    executor.compile(*data(16))
    _, whole = _whole(executor)
    assert whole.unrolled == 1
    assert whole.update is not None
