"""Farthest point sampling and nearest neighbours against plain loops."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.frontends.torch.ops.points import farthest_points, nearest


def farthest_by_hand(points: torch.Tensor, count: int) -> list[int]:
    chosen = [0]
    while len(chosen) < count:
        gaps = [min((p - points[c]).square().sum().item() for c in chosen) for p in points]
        chosen.append(gaps.index(max(gaps)))
    return chosen


@given(
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    ratio=st.sampled_from([0.3, 0.5, 1.0]),
    seed=st.integers(0, 9999),
)
def test_farthest_points_equal_a_plain_search(sizes: list[int], ratio: float, seed: int) -> None:
    src = torch.rand(sum(sizes), 3, generator=torch.Generator().manual_seed(seed))
    ptr = [sum(sizes[:n]) for n in range(len(sizes) + 1)]
    expected: list[int] = []
    for begin, size in zip(ptr, sizes, strict=False):
        chosen = farthest_by_hand(src[begin : begin + size], math.ceil(size * ratio))
        expected += [begin + index for index in chosen]
    assert farthest_points(src, ptr, ratio, random_start=False).tolist() == expected


def test_sizes_are_rounded_up_in_single_precision() -> None:
    assert 100 * 0.07 > 7  # in double precision the next integer would be 8
    assert farthest_points(torch.rand(100, 2), [0, 100], 0.07, random_start=False).numel() == 7


def test_random_start_takes_all_points_at_ratio_one_and_follows_the_seed(record: Any) -> None:
    src = torch.rand(9, 2)
    recorded = record(lambda w, x: farthest_points(x, [0, 4, 9], 1.0, random_start=True), torch.zeros(9, 2))
    starts = set()
    for seed in range(20):
        torch.manual_seed(seed)
        (chosen,) = recorded(src)
        assert sorted(chosen[:4].tolist()) == [0, 1, 2, 3]
        assert sorted(chosen[4:].tolist()) == [4, 5, 6, 7, 8]
        starts.add(int(chosen[0]))
    assert len(starts) > 1


@pytest.mark.parametrize(("ptr", "ratio"), [([0, 5], 0.0), ([0, 5], 1.5), ([0, 6], 0.5), ([3, 1], 0.5)])
def test_fps_refusals(ptr: list[int], ratio: float) -> None:
    with pytest.raises(Error, match="fps"):
        farthest_points(torch.rand(5, 2), ptr, ratio, random_start=False)


@given(
    batch_x=st.lists(st.integers(0, 2), min_size=1, max_size=6),
    extra=st.lists(st.integers(0, 2), max_size=4),
    seed=st.integers(0, 9999),
)
def test_nearest_equals_a_plain_search(batch_x: list[int], extra: list[int], seed: int) -> None:
    batch_x, batch_y = sorted(batch_x), sorted([*set(batch_x), *extra])
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(len(batch_x), 2, generator=generator)
    y = torch.rand(len(batch_y), 2, generator=generator)
    expected = []
    for point, sample in zip(x, batch_x, strict=True):
        candidates = [index for index, other in enumerate(batch_y) if other == sample]
        expected.append(min(candidates, key=lambda index: (point - y[index]).square().sum().item()))
    assert nearest(x, y, batch_x, batch_y).tolist() == expected
    assert nearest(x, y, torch.tensor(batch_x), torch.tensor(batch_y)).tolist() == expected


def test_nearest_without_samples_and_recorded(record: Any) -> None:
    y = torch.tensor([[0.0], [10.0]])
    recorded = record(lambda w, x: nearest(x, x.flip(0), [], []), torch.zeros(3, 1))
    (found,) = recorded(torch.tensor([[1.0], [2.0], [3.0]]))
    assert found.tolist() == [2, 1, 0]
    assert nearest(torch.tensor([[9.0], [1.0]]), y, [], []).tolist() == [1, 0]


def test_a_sample_without_candidates_is_refused() -> None:
    x, y = torch.rand(2, 1), torch.rand(2, 1)
    with pytest.raises(ValueError, match="samples \\[1\\]"):
        nearest(x, y, [0, 1], [0, 0])
    with pytest.raises(ValueError, match="samples \\[1\\]"):
        nearest(x, y, torch.tensor([0, 1]), torch.tensor([0, 0]))
    with pytest.raises(ValueError, match="samples \\[1\\]"):
        nearest(x, y, [0, 1], [])


def test_sample_numbers_must_fit_the_points() -> None:
    with pytest.raises(ValueError, match="batch_y has shape"):
        nearest(torch.rand(2, 1), torch.rand(2, 1), [0, 0], [0])
