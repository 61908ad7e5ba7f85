"""The learning rate of each step.

`epochs` is the original's schedule: a linear warm-up from 1e-5, a flat part, an exponential decay to 1e-4. It is
counted in epochs of the whole run, so that it does not change with the number of replicas. `one_cycle` fits a
short run: up for a tenth of it, then down along a cosine to a hundredth of the greatest rate.
"""

from __future__ import annotations

import math

from cosmictagger.config.groups import Optimizer, Schedule

_START = 1e-5
_FLOOR = 1e-4
_DECAY = 0.999
_ONE_CYCLE_WARM_UP = 0.1
_ONE_CYCLE_END = 0.01


def learning_rate(settings: Optimizer, iterations: int, step: int, epochs: float) -> float:
    """The rate of one step.

    Args:
        settings: greatest rate, kind of schedule, its epochs.
        iterations: steps of the whole run.
        step: number of the step, from 0.
        epochs: how often the training events have been seen before it, by all replicas together.
    """
    most = settings.learning_rate
    if settings.schedule is Schedule.constant:
        return most
    if settings.schedule is Schedule.one_cycle:
        done = step / iterations
        if done < _ONE_CYCLE_WARM_UP:
            return most * max(done / _ONE_CYCLE_WARM_UP, _ONE_CYCLE_END)
        down = (done - _ONE_CYCLE_WARM_UP) / (1 - _ONE_CYCLE_WARM_UP)
        return most * (_ONE_CYCLE_END + (1 - _ONE_CYCLE_END) * (1 + math.cos(math.pi * min(down, 1.0))) / 2)
    if epochs < settings.warmup_epochs:
        start = min(_START, most)
        return start + (most - start) * epochs / settings.warmup_epochs
    past = epochs - settings.warmup_epochs - settings.flat_epochs
    if past <= 0:
        return most
    floor = min(_FLOOR, most)
    return floor + (most - floor) * math.exp(-_DECAY * past)
