"""Output rules: which turns return their results, against the number of transfers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.execute.outputs import OutputRule, returned_turns
from tremula.execute.settings import ReplicaGrouping
from tremula.program.loops import Loops

LOOPS = st.builds(
    Loops,
    device_iterations=st.integers(1, 6),
    gradient_accumulation=st.integers(1, 3),
    replicas=st.integers(1, 3),
)


@given(LOOPS, st.sampled_from(["all", "final", "every_n"]), st.integers(1, 4))
def test_as_many_turns_return_as_there_are_transfers(loops, mode, period):
    rule = OutputRule(mode, period)
    turns = [
        (iteration, accumulation)
        for iteration in range(loops.device_iterations)
        for accumulation in range(loops.gradient_accumulation)
        if rule.returns(loops, iteration, accumulation)
    ]
    assert len(turns) * loops.replicas == returned_turns(rule, loops)


@given(LOOPS)
def test_a_sum_returns_no_turn_as_it_is_but_one_total_per_replica(loops):
    rule = OutputRule("sum")
    assert not rule.returns(loops, loops.device_iterations - 1, loops.gradient_accumulation - 1)
    assert returned_turns(rule, loops) == loops.replicas


@pytest.mark.parametrize(("consecutive", "groups"), [(True, [0, 0, 1, 1]), (False, [0, 1, 0, 1])])
def test_groups_of_replicas(consecutive, groups):
    grouping = ReplicaGrouping(2, consecutive)
    assert [grouping.group_of(replica, 4) for replica in range(4)] == groups
