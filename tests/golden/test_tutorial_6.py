"""The cost function of Graphcore's Poplar tutorial 6, which prints its best split and its worst cost.

Source: graphcore/examples, tutorials/poplar/tut6_matrix_vector_opt (README.md and tests/test_tut6.py): a matrix of
10000 x 1000 fp32 times a vector.
"""

import pytest

from tremula.hardware.catalogue import chip
from tremula.plan.matvec import best_split, explain, split_cycles


@pytest.mark.parametrize(
    ("name", "tiles", "best", "worst"), [("mk2", 1472, 3_996, 53_807), ("mk1", 1216, 4_751, 64_373)]
)
def test_best_and_worst(name: str, tiles: int, best: int, worst: int) -> None:
    device = chip(name)
    assert device.tiles == tiles
    cheapest, dearest = best_split(10_000, 1_000, device)
    assert cheapest.cycles == best
    assert dearest.cycles == worst


def test_parts_of_the_best_split_on_mk2() -> None:
    best, _ = best_split(10_000, 1_000, chip("mk2"))
    assert best.segments == 7
    assert (best.compute, best.exchange, best.join_exchange, best.join_compute) == (3_696, 143, 49, 108)


def test_any_split_can_be_asked_for_and_explained() -> None:
    device = chip("mk2")
    whole = split_cycles(10_000, 1_000, 1, device)
    why = explain(10_000, 1_000, device)
    assert why.figures["compute"] == 3_696
    assert whole.cycles in [alternative.cycles for alternative in why.alternatives]
