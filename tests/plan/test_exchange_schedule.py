import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.exchange_schedule import Neighbour, first_fit, slowest_cycles

OFFSETS = [offset for offset in itertools.product((-1, 0, 1), repeat=2) if any(offset)]


def box(rows: int, columns: int, words: int = 1) -> list[Neighbour]:
    """Halo of a block: two rows, two columns and four corners."""
    return [(o, (rows if not o[0] else 1) * (columns if not o[1] else 1) * words) for o in OFFSETS]


def test_one_neighbour_takes_its_words() -> None:
    found = first_fit([5, 2], [((0, 1), 70)])
    assert found.slowest == 70
    assert found.taking_part == 0.5  # the last column has no neighbour on that side
    assert found.mean == 35


def test_all_tiles_may_send_to_one_side_at_once() -> None:
    found = first_fit([10, 10], [((-1, 0), 40), ((1, 0), 40)])
    assert found.slowest == 80
    assert found.mean < 80  # tiles at the edge have one neighbour


def test_a_transfer_waits_for_its_sender() -> None:
    # the middle one of three tiles sends to both others, one after the other
    assert first_fit([3], [((-1,), 10), ((1,), 10)]).slowest == 20


@pytest.mark.parametrize(
    ("block", "words", "slowest", "mean"),
    [
        # thorbenlouw/lbm-graphcore on Mk1: exchange-vs-compute.csv and .txt, one step
        ((47, 45), 2, 637, 494.4),
        ((47, 45), 4, 1173, 899.9),
        ((12, 12), 2, 263, None),
        ((12, 12), 4, 397, None),
    ],
)
def test_exchanges_of_a_blur_are_those_that_were_measured(
    block: tuple[int, int], words: int, slowest: float, mean: float | None
) -> None:
    mk1 = chip("mk1")
    found = first_fit([24, 49], box(*block, words))
    assert found.slowest + mk1.exchange_latency_cycles == pytest.approx(slowest, rel=0.10)
    if mean is not None:
        assert found.mean + mk1.exchange_mean_latency_cycles == pytest.approx(mean, rel=0.06)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.lists(st.integers(0, 50), min_size=8, max_size=8))
def test_no_tile_is_done_before_its_words_and_none_after_all_of_them(
    rows: int, columns: int, words: list[int]
) -> None:
    around = list(zip(OFFSETS, words, strict=True))
    found = first_fit([rows, columns], around)
    most = max(
        sum(w for (r, c), w in around if 0 <= at[0] + r < rows and 0 <= at[1] + c < columns)
        for at in itertools.product(range(rows), range(columns))
    )
    assert most <= found.slowest <= max(0, 2 * sum(words))
    assert found.mean <= found.slowest


def test_a_large_grid_is_taken_as_a_patch() -> None:
    around = [((-1, 0, 0), 5), ((1, 0, 0), 5)]
    assert slowest_cycles([400, 400, 400], around) == first_fit([6, 6, 6], around).slowest
