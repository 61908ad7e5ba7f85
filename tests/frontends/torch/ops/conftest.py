"""A small capture for ops: record a function on fake tensors, replay it on real ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import fx

from tremula.frontends.torch.capture.context import Capture
from tremula.frontends.torch.capture.step import capture_step
from tremula.frontends.torch.graphs.program import record_of
from tremula.frontends.torch.structure import flattenTensorStructure


@dataclass
class Recorded:
    """A recorded function: its graph and what the capture saw."""

    graph: fx.GraphModule
    capture: Capture
    weight: torch.Tensor

    def __call__(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        scale = [torch.ones(())] if self.capture.training else []
        with torch.no_grad():
            return self.graph(self.weight, *inputs, *scale)

    def attributes(self, name: str) -> list[Any]:
        """Attributes of the ops whose aten or tremula name is `name`, in order."""
        return [
            dict(record_of(node).annotation.attributes)
            for node in self.graph.graph.nodes
            if node.op == "call_function" and name in str(node.target)
        ]


@pytest.fixture
def record() -> Callable[..., Recorded]:
    """`record(function, *inputs, training=False)`; `function` takes a scalar weight 2.0 and the inputs."""

    def run(
        function: Callable[..., Any], *inputs: torch.Tensor, training: bool = False, rule: Any = None
    ) -> Recorded:
        class Model(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.weight = torch.nn.Parameter(torch.tensor(2.0))

            def forward(self, *arguments: torch.Tensor) -> Any:
                return function(self.weight, *arguments)

        model = Model()
        capture = Capture(training, rule)

        def call(arguments: Sequence[torch.Tensor]) -> Any:
            return model(*arguments)

        step = capture_step(model, call, list(inputs), capture=capture, flatten=flattenTensorStructure)
        return Recorded(step.graph, capture, model.weight)

    return run
