"""Which results of which micro-batches go back to the host, and in what shape.

The four output modes of the batch algebra, with micro-batches ordered by device iteration, accumulation
step and replica. Only what will be returned is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from tremula.program.loops import Loops


@dataclass(frozen=True)
class OutputRule:
    """`mode` is one of final, all, sum, every_n; `period` counts device iterations for every_n."""

    mode: str = "all"
    period: int = 1


class OutputCollector:
    """Collects one output tensor over the micro-batches of a host call."""

    def __init__(self, rule: OutputRule, loops: Loops) -> None:
        self._rule = rule
        self._loops = loops
        self._kept: list[torch.Tensor] = []
        self._sums: list[torch.Tensor | None] = [None] * loops.replicas
        self._last: torch.Tensor | None = None

    def add(self, value: torch.Tensor, iteration: int, accumulation: int, replica: int) -> None:
        """Take note of the value that one micro-batch produced."""
        self._last = value
        if self._rule.mode == "sum":
            total = self._sums[replica]
            self._sums[replica] = value if total is None else total + value
        elif self.wanted(iteration, accumulation):
            self._kept.append(value)

    def wanted(self, iteration: int, accumulation: int) -> bool:
        """Whether results of this turn of the loops are returned as they are."""
        loops = self._loops
        if self._rule.mode == "all":
            return True
        if self._rule.mode == "final":
            last = iteration == loops.device_iterations - 1
            return last and accumulation == loops.gradient_accumulation - 1
        return (iteration + 1) % self._rule.period == 0

    def result(self) -> torch.Tensor:
        """The tensor that the host sees, in the usual order in memory."""
        return self._result().contiguous()

    def _result(self) -> torch.Tensor:
        kept = [t for t in self._sums if t is not None] if self._rule.mode == "sum" else self._kept
        if len(kept) == 1:
            return kept[0]
        if not kept:  # a period longer than the run
            assert self._last is not None
            return self._last.new_empty((0, *self._last.shape[1:]))
        if kept[0].dim() == 0:
            return torch.stack(kept)
        return torch.cat(kept)


def returned_turns(rule: OutputRule, loops: Loops) -> int:
    """How many transfers to the host one output tensor makes per call."""
    per_iteration = loops.gradient_accumulation * loops.replicas
    if rule.mode == "all":
        return loops.device_iterations * per_iteration
    if rule.mode == "every_n":
        return loops.device_iterations // rule.period * per_iteration
    return loops.replicas
