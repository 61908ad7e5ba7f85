"""Stochastic rounding: neighbours only, unbiased, repeatable, the same in both forms."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.frontends.torch.execute.kernels import _NOW
from tremula.frontends.torch.execute.rounding import drawn, round_stochastically, rounded_by_element

_LEAST = 2.0**-24


def _neighbours(value):
    """The float16 numbers at and around a float32 number, as doubles."""
    nearest = torch.tensor(value).half()
    below, above = (torch.nextafter(nearest, torch.tensor(s).half()) for s in (-float("inf"), float("inf")))
    return {float(each) for each in (below, nearest, above)}


@given(st.floats(-65504, 65504, width=32))
def test_a_number_becomes_one_of_the_two_around_it(value):
    rounded = round_stochastically(torch.full((64,), value)).tolist()
    below, above = min(rounded), max(rounded)
    assert set(rounded) <= _neighbours(value)
    assert below <= value <= above or below == above
    if torch.tensor(value).half().item() == value:
        assert set(rounded) == {value}


@settings(max_examples=25, deadline=None)
@given(st.floats(2.0**-22, 60000, width=32), st.sampled_from([1, -1]), st.integers(0, 1000))
def test_it_is_unbiased(value, sign, seed):
    torch.manual_seed(seed)
    rounded = round_stochastically(torch.full((400, 500), sign * value)).double()
    step = max(torch.finfo(torch.float16).eps * 2.0 ** torch.tensor(value).log2().floor().item(), _LEAST)
    # pairwise independent: 200,000 of them have the spread of 200,000 independent ones
    assert abs(rounded.mean().item() - sign * value) < 0.006 * step


def test_any_two_elements_are_independent():
    torch.manual_seed(0)
    half_way = 1.0 + 0.5 * torch.finfo(torch.float16).eps
    ups = torch.stack([round_stochastically(torch.full((3, 4), half_way)) > 1 for _ in range(4000)])
    ups = ups.flatten(1).double() - 0.5
    covariance = ups.T @ ups / len(ups)
    assert (covariance - 0.25 * torch.eye(12)).abs().max() < 0.02


def test_infinities_nans_and_overflows_are_those_of_half():
    special = torch.tensor([float("inf"), -float("inf"), float("nan"), 1e30, -70000.0, 0.0, -0.0])
    rounded = round_stochastically(special).half()
    torch.testing.assert_close(rounded, special.half(), rtol=0, atol=0, equal_nan=True)
    assert rounded[-1].signbit()


def test_the_same_seed_rounds_alike():
    x = torch.randn(30, 40)

    def rounded(seed):
        torch.manual_seed(seed)
        return round_stochastically(x)

    assert torch.equal(rounded(1), rounded(1))
    assert not torch.equal(rounded(1), rounded(2))


@pytest.mark.parametrize("shape", [(), (1,), (7,), (5, 6), (2, 3, 4, 5), (3, 1, 4)], ids=str)
@pytest.mark.parametrize("scale", [1.0, 1e4, 2.0**-14])
def test_both_ways_to_write_it_agree(shape, scale):
    x = torch.randn(shape) * scale
    factors = drawn(shape)
    by_element = rounded_by_element(_NOW, x, shape, [factor.float() for factor in factors])
    assert torch.equal(round_stochastically(x, *factors), by_element)


def test_the_order_in_memory_does_not_matter():
    x = torch.randn(2, 8, 4, 6)
    factors = drawn(x.shape)
    last = x.to(memory_format=torch.channels_last)
    assert torch.equal(round_stochastically(x, *factors), round_stochastically(last, *factors))
    assert round_stochastically(last, *factors).is_contiguous(memory_format=torch.channels_last)
