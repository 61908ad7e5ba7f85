"""Which results of which micro-batches go back to the host: the four output modes, with micro-batches ordered by
device iteration, accumulation step and replica.
"""

from __future__ import annotations

from dataclasses import dataclass

from tremula.program.loops import Loops


@dataclass(frozen=True)
class OutputRule:
    """`mode` is one of final, all, sum, every_n; `period` counts device iterations for every_n."""

    mode: str = "all"
    period: int = 1

    def returns(self, loops: Loops, iteration: int, accumulation: int) -> bool:
        """Whether the results of this turn of the loops are returned as they are."""
        if self.mode == "all":
            return True
        if self.mode == "final":
            last = iteration == loops.device_iterations - 1
            return last and accumulation == loops.gradient_accumulation - 1
        return self.mode == "every_n" and (iteration + 1) % self.period == 0


def returned_turns(rule: OutputRule, loops: Loops) -> int:
    """How many transfers to the host one output tensor makes per call."""
    per_iteration = loops.gradient_accumulation * loops.replicas
    if rule.mode == "all":
        return loops.device_iterations * per_iteration
    if rule.mode == "every_n":
        return loops.device_iterations // rule.period * per_iteration
    return loops.replicas
