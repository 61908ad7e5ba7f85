"""Traffic to streaming memory: shares of the machine's rate, shards of the state."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.hardware import catalogue
from tremula.schedule.streaming import free_bytes_per_ipu, traffic

POD16 = catalogue.system("bow-pod16")
RATE = POD16.machine.streaming_bytes_per_second

amounts = st.floats(1, 1e12)


@given(amounts, amounts, st.integers(1, 4), st.floats(1, 10))
def test_time_grows_with_bytes(read, written, replicas, factor) -> None:
    less = traffic(POD16, read, written, replicas=replicas, ipus_per_replica=4)
    more = traffic(POD16, factor * read, written, replicas=replicas, ipus_per_replica=4)
    assert more.seconds >= less.seconds
    assert less.seconds >= less.machine_bytes / RATE


@given(amounts, st.sampled_from([1, 2, 4]))
def test_shards_divide_the_traffic(state, replicas) -> None:
    whole = traffic(POD16, state, state, replicas=replicas, ipus_per_replica=4)
    part = traffic(POD16, state, state, replicas=replicas, ipus_per_replica=4, sharded=True)
    assert part.seconds == pytest.approx(whole.seconds / replicas)
    assert part.ipu_bytes == pytest.approx(2 * state / 4 / replicas)


@given(amounts)
def test_ipus_of_a_machine_share_its_memory(state) -> None:
    one = traffic(POD16, state, 0)
    four = traffic(POD16, state, 0, replicas=4)
    sixteen = traffic(POD16, state, 0, replicas=16)
    assert four.seconds == pytest.approx(4 * one.seconds)
    assert sixteen.seconds == four.seconds  # the others have machines of their own
    assert traffic(POD16, state, 0, ipus_per_replica=4).seconds == pytest.approx(one.seconds)
    assert traffic(POD16, state, 0, ipus_per_replica=8).machine_bytes == pytest.approx(state / 2)


def test_bert_large_optimizer_state() -> None:
    # 336 M parameters with two fp32 moments, four replicas of a machine each: read and written once
    cost = traffic(POD16, 336e6 * 8, 336e6 * 8, replicas=4, ipus_per_replica=4, sharded=True)
    assert cost.machine_bytes == pytest.approx(2 * 336e6 * 8 / 4)
    assert cost.seconds == pytest.approx(cost.machine_bytes / RATE)


def test_the_fullest_ipu() -> None:
    even = traffic(POD16, 1e9, 0, ipus_per_replica=8)
    uneven = traffic(POD16, 1e9, 0, ipus_per_replica=8, fullest_share=0.9)
    assert uneven.seconds > even.seconds


def test_cards_stream_from_the_host() -> None:
    cost = traffic(catalogue.system("c600"), 32e9, 0)
    assert "host memory" in cost.why.plan
    assert cost.seconds >= 1.0
    assert free_bytes_per_ipu(catalogue.system("c600")) == 0
    assert free_bytes_per_ipu(POD16) == 64e9


def test_nothing_and_nonsense() -> None:
    assert traffic(POD16, 0, 0).seconds == 0
    with pytest.raises(Error, match="at least one replica"):
        traffic(POD16, 1, 0, replicas=0)
