"""Losses, accuracies and extremes against NumPy and torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.frontends.poplar.libs.bench import Array, Bench, normal

from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.libs.popnn import loss
from tremula.frontends.poplar.libs.popnn.loss import MASKED_LABEL_CODE, LossType


def chances(rows: int, classes: int) -> Array:
    return torch.softmax(torch.from_numpy(normal(rows, classes)), -1).numpy()


def test_the_cross_entropy_and_its_gradient_agree_with_torch() -> None:
    values = torch.from_numpy(normal(5, 4)).requires_grad_()
    labels = np.array([0, 3, 1, 1, 2], np.uint32)
    expected = torch.nn.functional.cross_entropy(
        values, torch.from_numpy(labels.astype(np.int64)), reduction="none"
    )
    expected.sum().backward()
    bench = Bench()
    outputs = bench.tensor(torch.softmax(values, -1).detach().numpy())
    result, deltas = bench.tensor(np.zeros(5, np.float32)), bench.tensor(np.zeros((5, 4), np.float32))
    bench.prog.add(
        loss.loss(outputs, bench.tensor(labels), result, deltas, None, LossType.CROSS_ENTROPY_LOSS, "")
    )
    found, slope = bench.run(result, deltas)
    assert values.grad is not None
    np.testing.assert_allclose(found, expected.detach(), rtol=1e-5)
    np.testing.assert_allclose(slope, values.grad, rtol=1e-4, atol=1e-6)


def test_scaled_outputs_give_the_same_loss_and_scaled_gradients() -> None:
    plain = chances(4, 3)
    labels = np.array([0, 1, 2, 1], np.int32)
    found = []
    for scale, factor in ((1.0, 1.0), (16.0, 4.0)):
        bench = Bench()
        outputs = bench.tensor(plain * np.float32(factor))
        result, deltas = bench.tensor(np.zeros(4, np.float32)), bench.tensor(np.zeros((4, 3), np.float32))
        scales = (bench.tensor(np.array([scale], np.float32)), bench.tensor(np.array([factor], np.float32)))
        bench.prog.add(
            loss.loss(outputs, bench.tensor(labels), result, deltas, scales, LossType.CROSS_ENTROPY_LOSS, "")
        )
        found.append(bench.run(result, deltas))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    np.testing.assert_allclose(found[0][1] * 16, found[1][1], rtol=1e-4, atol=1e-5)


def test_squared_errors_are_those_to_the_one_hot_label() -> None:
    values, labels = chances(3, 4), np.array([1, 0, 3], np.uint32)
    bench = Bench()
    result, deltas = bench.tensor(np.zeros(3, np.float32)), bench.tensor(np.zeros((3, 4), np.float32))
    made = loss.loss(
        bench.tensor(values), bench.tensor(labels), result, deltas, None, LossType.SUM_SQUARED_LOSS, ""
    )
    bench.prog.add(made)
    rest = values - np.eye(4, dtype=np.float32)[labels]
    found, slope = bench.run(result, deltas)
    np.testing.assert_allclose(found, 0.5 * (rest * rest).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(slope, rest, rtol=1e-5)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8))
@settings(max_examples=15, deadline=None)
def test_right_rows_are_added_to_the_count(masked: list[int]) -> None:
    values = chances(len(masked), 4)
    labels = np.array(
        [MASKED_LABEL_CODE if each == 0 else row.argmax() for each, row in zip(masked, values, strict=True)],
        np.uint32,
    )
    bench = Bench()
    count = bench.tensor(np.array([5], np.uint32))
    bench.prog.add(loss.accuracy(bench.tensor(values), bench.tensor(labels), count, ""))
    assert bench.run(count)[0].tolist() == [5 + sum(each != 0 for each in masked)]


@pytest.mark.parametrize("largest", [True, False])
def test_extremes_are_those_of_numpy(largest: bool) -> None:
    values = np.random.default_rng(0).integers(-5, 5, (6, 9)).astype(np.int32)
    bench = Bench()
    found, places = bench.run(
        *loss.extremes(bench.graph, "argMax", bench.tensor(values), largest, bench.prog, "")
    )
    assert np.array_equal(found, values.max(axis=1) if largest else values.min(axis=1))
    assert np.array_equal(places, values.argmax(axis=1) if largest else values.argmin(axis=1))


@given(st.integers(1, 6), st.integers(0, 3))
@settings(max_examples=15, deadline=None)
def test_the_largest_elements_come_in_order(count: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(-3, 3, (4, 6)).astype(np.float32)
    bench = Bench()
    found, places = bench.run(*loss.largest(bench.graph, bench.tensor(values), count, True, bench.prog, ""))
    assert found.shape == (4, 1, count)
    assert np.array_equal(found[:, 0], -np.sort(-values, axis=1)[:, :count])
    assert np.array_equal(np.take_along_axis(values, places[:, 0].astype(int), axis=1), found[:, 0])
    assert all(len(set(row)) == count for row in places[:, 0].tolist())


def test_labels_that_do_not_fit_are_errors() -> None:
    bench = Bench()
    count = bench.tensor(np.zeros(1, np.uint32))
    with pytest.raises(PoplibsError, match="tensor of labels"):
        loss.accuracy(bench.tensor(chances(3, 4)), bench.tensor(np.zeros(2, np.uint32)), count, "")
    with pytest.raises(PoplibsError, match="INT or UNSIGNED_INT"):
        loss.accuracy(bench.tensor(chances(3, 4)), bench.tensor(np.zeros(3, np.float32)), count, "")
