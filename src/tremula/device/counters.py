"""Performance counters of a call and the latencies that follow from them: modelled transfers, one turn of the device's
loops after the other, or readings of the host's clock where the chip model is off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tremula.execute.executable import TurnTimes

if TYPE_CHECKING:
    from tremula.device.chip_model import TurnTime

Ticks = list[list[float]]
Latency = tuple[float, float, float]

EVENTS = ("input", "input_complete", "output", "output_complete")


def no_ticks() -> dict[str, Ticks]:
    """Counters of a model that has not run, or that moves nothing between host and device."""
    return {event: [[]] for event in EVENTS}


def ticks(times: TurnTimes, inputs: int, outputs: int, returned: int) -> dict[str, Ticks]:
    """Counters per tensor and transfer, in seconds with millisecond resolution. Inputs are transferred once per turn,
    an output `returned` times, in the last turns.
    """
    started = [round(value, 3) for value in times.started]
    ended = [round(value, 3) for value in times.ended[len(times.ended) - returned :]] if returned else []
    return {
        "input": _per_tensor(started, inputs),
        "input_complete": _per_tensor(started, inputs),
        "output": _per_tensor(ended, outputs),
        "output_complete": _per_tensor(ended, outputs),
    }


def modelled_ticks(turn: TurnTime, turns: int, inputs: int, outputs: int, returned: int) -> dict[str, Ticks]:
    """Counters of a modelled call of `turns` turns, in seconds from its start."""
    started = [index * turn.period for index in range(turns)]
    arrived = [moment + turn.inputs for moment in started]
    computed = [moment + turn.compute for moment in arrived][turns - returned :] if returned else []
    return {
        "input": _per_tensor(started, inputs),
        "input_complete": _per_tensor(arrived, inputs),
        "output": _per_tensor(computed, outputs),
        "output_complete": _per_tensor([moment + turn.outputs for moment in computed], outputs),
    }


def _per_tensor(moments: list[float], tensors: int) -> Ticks:
    return [list(moments) for _ in range(tensors)] or [[]]


def latency(
    counters: dict[str, Ticks],
    begin: str,
    begin_of: Callable[[Sequence[float]], float],
    end: str,
    end_of: Callable[[Sequence[float]], float],
) -> Latency:
    """(least, most, mean) seconds from `begin` to `end`; of several inputs for one output the earliest counts."""
    starts = [begin_of(step) for step in zip(*counters[begin], strict=True)]
    ends = [end_of(step) for step in zip(*counters[end], strict=True)]
    if not starts or not ends:
        return (0.0, 0.0, 0.0)
    per_output = len(starts) // len(ends)
    durations = [stop - min(starts[i * per_output : (i + 1) * per_output]) for i, stop in enumerate(ends)]
    least, most = min(durations), max(durations)
    # a sum is rounded: the mean of equal times must not lie beside them
    return (least, most, min(most, max(least, sum(durations) / len(durations))))
