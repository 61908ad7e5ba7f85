"""Counters of calls, and the latencies that follow from them."""

from __future__ import annotations

from tremula.device import counters
from tremula.device.chip_model import TurnTime
from tremula.execute.executable import TurnTimes


def test_a_model_that_has_not_run_has_no_latency() -> None:
    found = counters.no_ticks()
    assert found == {event: [[]] for event in counters.EVENTS}
    assert counters.latency(found, "input", min, "output_complete", max) == (0.0, 0.0, 0.0)


def test_readings_of_the_clock_are_repeated_for_each_tensor() -> None:
    found = counters.ticks(TurnTimes([0.0, 0.1004], [0.05, 0.2]), inputs=2, outputs=1, returned=1)
    assert found["input"] == [[0.0, 0.1], [0.0, 0.1]]
    assert found["output"] == [[0.2]]


def test_modelled_turns_follow_each_other_and_the_last_ones_return() -> None:
    turn = TurnTime(period=1.0, inputs=0.25, compute=0.5, outputs=0.125)
    found = counters.modelled_ticks(turn, turns=4, inputs=1, outputs=2, returned=2)
    assert found["input"] == [[0.0, 1.0, 2.0, 3.0]]
    assert found["input_complete"] == [[0.25, 1.25, 2.25, 3.25]]
    assert found["output"] == [[2.75, 3.75]] * 2
    assert counters.latency(found, "output", min, "output_complete", max) == (0.125, 0.125, 0.125)


def test_of_several_inputs_for_one_output_the_earliest_counts() -> None:
    turn = TurnTime(period=1.0, inputs=0.25, compute=0.5, outputs=0.25)
    found = counters.modelled_ticks(turn, turns=4, inputs=1, outputs=1, returned=2)
    assert counters.latency(found, "input", min, "output_complete", max) == (2.0, 3.0, 2.5)
