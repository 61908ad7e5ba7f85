"""Output modes: what comes back of which micro-batch, against a direct statement of the batch algebra."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from tremula.execute.outputs import OutputRule, returned_turns
from tremula.frontends.torch.execute.outputs import OutputCollector
from tremula.program.loops import Loops

LOOPS = st.builds(
    Loops,
    device_iterations=st.integers(1, 4),
    gradient_accumulation=st.integers(1, 3),
    replicas=st.integers(1, 3),
)


def collect(rule: OutputRule, loops: Loops, value_of) -> torch.Tensor:
    collector = OutputCollector(rule, loops)
    for iteration in range(loops.device_iterations):
        for accumulation in range(loops.gradient_accumulation):
            for replica in range(loops.replicas):
                collector.add(value_of(iteration, accumulation, replica), iteration, accumulation, replica)
    return collector.result()


def number(loops: Loops):
    """A value that tells its iteration, accumulation step and replica."""
    return lambda i, a, r: torch.tensor([float(100 * i + 10 * a + r)])


@given(LOOPS)
def test_all_returns_every_micro_batch_with_replicas_innermost(loops):
    expected = [
        100.0 * i + 10 * a + r
        for i in range(loops.device_iterations)
        for a in range(loops.gradient_accumulation)
        for r in range(loops.replicas)
    ]
    assert collect(OutputRule("all"), loops, number(loops)).tolist() == expected


@given(LOOPS)
def test_final_returns_the_last_turn_of_each_replica(loops):
    last = 100.0 * (loops.device_iterations - 1) + 10 * (loops.gradient_accumulation - 1)
    assert collect(OutputRule("final"), loops, number(loops)).tolist() == [
        last + r for r in range(loops.replicas)
    ]


@given(LOOPS)
def test_sum_adds_over_iterations_and_accumulation_per_replica(loops):
    value = number(loops)
    expected = [
        sum(
            value(i, a, r).item()
            for i in range(loops.device_iterations)
            for a in range(loops.gradient_accumulation)
        )
        for r in range(loops.replicas)
    ]
    assert collect(OutputRule("sum"), loops, value).tolist() == expected


@given(LOOPS, st.integers(1, 4))
def test_every_n_counts_device_iterations(loops, period):
    loops = Loops(loops.device_iterations * period, loops.gradient_accumulation, loops.replicas)
    kept = collect(OutputRule("every_n", period), loops, number(loops)).tolist()
    assert {int(value) // 100 for value in kept} == {
        i for i in range(loops.device_iterations) if (i + 1) % period == 0
    }
    assert len(kept) == returned_turns(OutputRule("every_n", period), loops)


@given(LOOPS, st.sampled_from(["all", "final", "sum"]))
def test_scalars_stay_scalars_only_if_one_is_returned(loops, mode):
    rule = OutputRule(mode)
    result = collect(rule, loops, lambda i, a, r: torch.tensor(1.0))
    turns = returned_turns(rule, loops)
    assert result.shape == (() if turns == 1 else (turns,))
