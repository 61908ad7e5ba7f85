"""The tensors that a host call returns, collected over its micro-batches. Only what will be returned is kept."""

from __future__ import annotations

import torch

from tremula.execute.outputs import OutputRule
from tremula.invariants import present
from tremula.program.loops import Loops


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
        elif self._rule.returns(self._loops, iteration, accumulation):
            self._kept.append(value)

    def result(self) -> torch.Tensor:
        """The tensor that the host sees, in the usual order in memory."""
        return self._result().contiguous()

    def _result(self) -> torch.Tensor:
        kept = [t for t in self._sums if t is not None] if self._rule.mode == "sum" else self._kept
        if len(kept) == 1:
            return kept[0]
        if not kept:  # a period longer than the run
            last = present(self._last, "an output of the run")
            return last.new_empty((0, *last.shape[1:]))
        if kept[0].dim() == 0:
            return torch.stack(kept)
        return torch.cat(kept)
