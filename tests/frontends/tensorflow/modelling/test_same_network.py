"""The same network in Keras and in PyTorch is the same to the chip model (benchmarks/same_network.py has more)."""

from __future__ import annotations

import pytest
from benchmarks.same_network import GOAL, compare


@pytest.mark.parametrize("network", ["mnist", "cosmoflow", "lstm"])
def test_time_and_memory_are_the_same_from_both_front_ends(network: str) -> None:
    row = compare(network, ops=0)
    assert row.time == pytest.approx(1.0, abs=GOAL)
    assert row.memory == pytest.approx(1.0, abs=GOAL)
