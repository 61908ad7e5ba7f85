"""Every event once per epoch, over all ranks, in an order that seed and epoch decide."""

from __future__ import annotations

import numpy as np
import pytest
from cosmictagger.data import split
from hypothesis import assume, given
from hypothesis import strategies as st

from tremula.frontends.torch.data.epochs import EpochSampler

COUNTS = st.integers(1, 60)
RANKS = st.integers(1, 5)
SEEDS = st.integers(0, 2**63)


@given(events=COUNTS, seed=SEEDS, ranks=RANKS, multiple=st.integers(1, 4), epoch=st.integers(0, 100))
def test_ranks_share_the_events_of_an_epoch(
    events: int, seed: int, ranks: int, multiple: int, epoch: int
) -> None:
    samplers = [
        EpochSampler(events, seed, rank=rank, ranks=ranks, multiple=multiple, epoch=epoch)
        for rank in range(ranks)
    ]
    lengths = {len(sampler) for sampler in samplers}
    parts = [list(sampler) for sampler in samplers]
    assert {len(part) for part in parts} == lengths
    together = [event for part in parts for event in part]
    assert len(set(together)) == len(together)
    # what is left out is less than one more round of batches would take
    assert events - len(together) < ranks * multiple
    assert all(len(part) % multiple == 0 for part in parts)


@given(events=COUNTS, seed=SEEDS, ranks=RANKS, multiple=st.integers(1, 4), shuffle=st.booleans())
def test_with_repeats_every_event_comes(
    events: int, seed: int, ranks: int, multiple: int, shuffle: bool
) -> None:
    parts = [
        list(
            EpochSampler(
                events, seed, rank=rank, ranks=ranks, multiple=multiple, shuffle=shuffle, remainder="repeat"
            )
        )
        for rank in range(ranks)
    ]
    assert set().union(*parts) == set(range(events))
    assert len({len(part) for part in parts}) == 1
    assert len(parts[0]) % multiple == 0
    assert sum(map(len, parts)) - events < ranks * multiple


@given(events=COUNTS, seed=SEEDS, one=RANKS, other=RANKS, data=st.data())
def test_an_epoch_can_be_continued_with_other_ranks(
    events: int, seed: int, one: int, other: int, data: st.DataObject
) -> None:
    each = data.draw(st.integers(0, events // one))
    before = [
        event
        for rank in range(one)
        for event in EpochSampler(events, seed, rank=rank, ranks=one, epoch=3).indices(3)[:each].tolist()
    ]
    after = [
        event
        for rank in range(other)
        for event in EpochSampler(events, seed, rank=rank, ranks=other, epoch=3, done=each * one)
    ]
    assert not set(before) & set(after)
    assert events - len(before) - len(after) < other


def test_a_step_of_several_ranks_is_the_step_of_one_with_a_larger_batch() -> None:
    alone = list(EpochSampler(24, 1))
    pairs = [list(EpochSampler(24, 1, rank=rank, ranks=2)) for rank in range(2)]
    for step in range(4):
        assert sorted(alone[step * 6 : step * 6 + 6]) == sorted(
            pairs[0][step * 3 : step * 3 + 3] + pairs[1][step * 3 : step * 3 + 3]
        )


@given(events=st.integers(8, 60), seed=SEEDS)
def test_each_pass_is_the_next_epoch(events: int, seed: int) -> None:
    sampler = EpochSampler(events, seed)
    iter(sampler)  # not used, so no epoch
    passes = [list(sampler) for _ in range(3)]
    assert sampler.epoch == 3
    assert passes[0] != passes[1]
    assert passes == [list(EpochSampler(events, seed, epoch=epoch)) for epoch in range(3)]


def test_what_is_left_out_changes_from_epoch_to_epoch() -> None:
    sampler = EpochSampler(11, 4, ranks=2, multiple=2)
    partner = EpochSampler(11, 4, rank=1, ranks=2, multiple=2)
    left_out = [frozenset(range(11)) - set(sampler) - set(partner) for _ in range(12)]
    assert all(len(events) == 3 for events in left_out)
    assert len(set(left_out)) > 6
    assert frozenset().union(*left_out) == set(range(11))


def test_without_shuffling_the_order_is_that_of_the_data() -> None:
    sampler = EpochSampler(7, 9, rank=1, ranks=2, shuffle=False)
    assert [list(sampler), list(sampler)] == [[1, 3, 5]] * 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"rank": 2, "ranks": 2},
        {"rank": -1},
        {"multiple": 0},
        {"remainder": "pad"},
        {"epoch": -1},
        {"done": 6},
    ],
)
def test_impossible_shares_are_refused(arguments: dict) -> None:
    with pytest.raises(ValueError, match="must be"):
        EpochSampler(5, **arguments)


@given(
    events=st.integers(3, 500),
    shares=st.lists(st.integers(1, 8), min_size=1, max_size=4),
    seed=SEEDS,
)
def test_a_split_is_without_overlap_and_repeatable(events: int, shares: list[int], seed: int) -> None:
    fractions = [share / sum(shares) for share in shares]
    assume(min(fractions) * events >= 1)
    parts = split(events, fractions, seed)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(events))
    for part, fraction in zip(parts, fractions, strict=True):
        assert abs(len(part) - fraction * events) <= 1
        assert (np.diff(part) > 0).all()
    assert all(
        np.array_equal(one, other) for one, other in zip(parts, split(events, fractions, seed), strict=True)
    )


def test_a_split_may_leave_events_out_but_no_part_empty() -> None:
    assert [len(part) for part in split(100, (0.5, 0.2))] == [50, 20]
    for fractions in ((0.9, 0.2), (), (0.5, -0.1), (0.99, 0.01)):
        with pytest.raises(ValueError, match="Fractions"):
            split(10, fractions)
