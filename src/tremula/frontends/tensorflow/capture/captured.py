"""A traced program as the rules and the chip model's front door see it: nodes, loops, variables and feeds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tremula.frontends.tensorflow.capture.gradients import Trained
from tremula.frontends.tensorflow.capture.loops import LoopCounts
from tremula.frontends.tensorflow.capture.nodes import Node, Value, Variable


@dataclass
class Captured:
    """One program."""

    #: in the order in which a step runs them
    nodes: list[Node]
    variables: list[Variable]
    #: what the host sends for a micro-batch, and what it gets
    inputs: list[Value]
    outputs: list[Value]
    trained: list[Trained]
    counts: LoopCounts
    #: nodes with sizes that are not known before the program runs
    unknown_sizes: list[Node] = field(default_factory=list)
    #: what pipelines and accumulating optimizers noted for the device, by name
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def kept(self) -> set[Value]:
        """Values that stay in memory whatever else uses them: results, gradients and accumulators."""
        gradients = {each.gradient for each in self.trained}
        return {*self.outputs, *gradients, *(total for each in self.trained for total in each.totals)}

    @property
    def training(self) -> bool:
        """Whether it updates weights."""
        return bool(self.trained)
