"""The order in which a step runs its ops, stage by stage.

Ops belong to stages as in the schedule; within a stage they follow each other as in the memory model: recomputed ones
just before the gradient that needs them, accumulation right after its gradient.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.estimate.estimate import Estimate
from tremula.program.op import Phase


@dataclass(frozen=True)
class Sequenced:
    """Ops that run one after the other, by their numbers in the program; `again`: for a second time."""

    ops: NDArray[np.int64]
    again: NDArray[np.bool_]


@dataclass(frozen=True)
class Order:
    """The ops of a step."""

    stages: dict[int, Sequenced]
    update: Sequenced


def order(estimate: Estimate, op_rows: Sequence[int]) -> Order:
    """The ops of `estimate` that do work: those whose row in `op_rows` is not -1."""
    program = estimate.program
    last = program.forward_stages - 1
    stages: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    home: dict[int, int] = {}
    for number in program.of_phase(Phase.BACKWARD):
        op = program.ops[number]
        home[op.ipu] = max(home.get(op.ipu, 0), op.stage)
    for number in (*program.of_phase(Phase.FORWARD), *program.of_phase(Phase.BACKWARD)):
        stages[program.ops[number].stage].append((number, False))
    for number in estimate.again.again:
        stages[2 * last - program.ops[number].stage].append((number, True))
    for number in program.of_phase(Phase.ACCUMULATE):
        stages[home.get(program.ops[number].ipu, 2 * last)].append((number, False))
    update = [(number, False) for number in program.of_phase(Phase.UPDATE)]
    events = estimate.memory.liveness.events
    position = {(event.op, event.again): at for at, event in enumerate(events)}

    def sequenced(listed: list[tuple[int, bool]]) -> Sequenced:
        working = [each for each in listed if op_rows[each[0]] >= 0]
        working.sort(key=lambda each: position.get(each, len(events)))
        return Sequenced(
            np.array([each[0] for each in working], dtype=np.int64),
            np.array([each[1] for each in working], dtype=bool),
        )

    return Order({stage: sequenced(listed) for stage, listed in sorted(stages.items())}, sequenced(update))
