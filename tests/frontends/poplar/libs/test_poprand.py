"""Random numbers repeat with their seed and have the distributions that were asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poprand
from tremula.frontends.poplar.graph import mapping
from tremula.frontends.poplar.libs.errors import PoplibsError
from tremula.frontends.poplar.types import FLOAT, HALF, INT, UNSIGNED_INT

from .running import Case

COUNT = 20_000


def draws(
    case: Case, function: Any, *arguments: Any, seed: Any = (1, 2), modifier: int = 0, type: Any = FLOAT
) -> Any:
    """A call of a function that draws COUNT numbers."""
    key = None if seed is None else case.tensor(np.uint32(seed))
    reference = case.graph.add_variable(FLOAT, (COUNT,))
    for tile in range(4):
        case.graph.set_tile_mapping(reference[tile * 5000 : tile * 5000 + 5000], tile)
    return function(case.graph, key, modifier, reference, type, *arguments, case.program)


@pytest.mark.parametrize("type", [FLOAT, HALF])
def test_moments_and_ranges(type: Any) -> None:
    case = Case()
    flat = draws(case, poprand.uniform, -1.0, 3.0, type=type)
    bell = draws(case, poprand.normal, 1.0, 2.0, type=type)
    cut = draws(case, poprand.truncatedNormal, 1.0, 2.0, 1.5, type=type)
    coin = draws(case, poprand.bernoulli, 0.3, type=type)
    wide = draws(case, poprand.logUniform, 1.0, 1000.0, type=type)
    case.run()
    flat, bell, cut, coin, wide = (case[each].astype(np.float64) for each in (flat, bell, cut, coin, wide))
    assert flat.min() >= -1
    assert flat.max() <= 3
    np.testing.assert_allclose([flat.mean(), flat.var()], [1, 16 / 12], atol=0.05)
    np.testing.assert_allclose([bell.mean(), bell.std()], [1, 2], atol=0.05)
    assert np.abs(cut - 1).max() <= 3.001
    assert cut.std() < 1.6
    np.testing.assert_allclose(cut.mean(), 1, atol=0.05)
    assert set(coin.tolist()) == {0, 1}
    np.testing.assert_allclose(coin.mean(), 0.3, atol=0.02)
    assert wide.min() >= 1
    assert wide.max() <= 1000
    np.testing.assert_allclose(np.log10(wide).mean(), 1.5, atol=0.05)


def test_integers_reach_both_bounds() -> None:
    case = Case()
    made = draws(case, poprand.uniform, -2, 3, type=INT)
    coin, wide = (
        draws(case, poprand.bernoulli, 0.5, type=INT),
        draws(case, poprand.logUniform, 2, 9, type=INT),
    )
    case.run()
    values, counts = np.unique(case[made], return_counts=True)
    assert values.tolist() == [-2, -1, 0, 1, 2, 3]
    assert counts.min() > COUNT / 6 * 0.9
    assert set(case[coin].tolist()) == {0, 1}
    assert case[wide].min() >= 2
    assert case[wide].max() <= 9


def test_a_seed_and_its_modifier_decide() -> None:
    case = Case()
    one, same = draws(case, poprand.uniform, 0, 1), draws(case, poprand.uniform, 0, 1)
    others = [
        draws(case, poprand.uniform, 0, 1, modifier=1),
        draws(case, poprand.uniform, 0, 1, seed=(1, 3)),
        draws(case, poprand.uniform, 0, 1, seed=(2, 2)),
    ]
    case.run(times=2)
    np.testing.assert_array_equal(case[one], case[same])
    for each in others:
        assert np.abs(np.corrcoef(case[one], case[each])[0, 1]) < 0.05


def test_draws_without_a_seed_go_on_until_one_is_set() -> None:
    case = Case()
    seed = case.tensor(np.uint32([5, 6]))
    poprand.setSeed(case.graph, seed, 7, case.program)
    first, second = (
        draws(case, poprand.uniform, 0, 1, seed=None),
        draws(case, poprand.uniform, 0, 1, seed=None),
    )
    poprand.setSeed(case.graph, seed, 7, case.program)
    again = draws(case, poprand.uniform, 0, 1, seed=None)
    poprand.setSeed(case.graph, seed, 8, case.program)
    other = draws(case, poprand.uniform, 0, 1, seed=None)
    case.run()
    np.testing.assert_array_equal(case[first], case[again])
    assert not np.array_equal(case[first], case[second])
    assert not np.array_equal(case[first], case[other])


def test_dropout_masks_repeat() -> None:
    case = Case()
    x = np.ones((100, 50), np.float32)
    view, seed = case.tensor(x, layout="transposed"), case.tensor(np.uint32([1, 2]))
    rows = case.tensor(np.zeros((100, 1), np.float32))
    arguments = (case.graph, seed, 3, view)
    first = poprand.dropout(*arguments, view, 0.75, 4 / 3, case.program)
    again = poprand.dropout(*arguments, view, 0.75, 4 / 3, True, case.program)
    other = poprand.dropout(case.graph, seed, 4, view, view, 0.75, 4 / 3, False, case.program, "name")
    shaped = poprand.shapedDropout(*arguments, rows, 0.5, 2.0, case.program)
    case.run()
    np.testing.assert_array_equal(case[first], case[again])
    assert not np.array_equal(case[first], case[other])
    np.testing.assert_allclose((case[first] > 0).mean(), 0.75, atol=0.03)
    np.testing.assert_allclose(case[first].max(), 4 / 3, rtol=1e-6)
    by_row = case[shaped]
    assert (by_row == by_row[:, :1]).all()
    assert set(by_row.ravel().tolist()) == {0, 2}


def test_numbers_lie_like_the_reference() -> None:
    case = Case()
    made = draws(case, poprand.normal, 0, 1)
    assert mapping.tiles_of(case.graph.memory, made).tolist() == np.repeat(range(4), 5000).tolist()


def test_what_cannot_be_drawn_is_an_error() -> None:
    case = Case()
    for wrong, text in (
        (lambda: draws(case, poprand.uniform, 2, 1), "no number between"),
        (lambda: draws(case, poprand.uniform, 0, 2**31, type=INT), "32 bits"),
        (lambda: draws(case, poprand.normal, 0, 1, type=INT), "normal numbers"),
        (lambda: draws(case, poprand.uniform, 0, 1, type=UNSIGNED_INT), "float, half or int"),
        (lambda: draws(case, poprand.bernoulli, 1.5), "not a probability"),
        (lambda: draws(case, poprand.logUniform, 0.5, 2), "bounds"),
        (lambda: draws(case, poprand.uniform, 0, 1, seed=(1, 2, 3)), "two unsigned integers"),
    ):
        with pytest.raises(PoplibsError, match=text):
            wrong()
    with pytest.raises(AttributeError, match=r"docs/poplar-libs\.md"):
        poprand.frobnicate
