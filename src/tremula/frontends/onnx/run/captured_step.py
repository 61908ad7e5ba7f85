"""A micro-batch as one captured graph, forward and backward, which the executor of torch programs runs and compiles.

Where nothing is trained the executor keeps the weights, and prepares them once; else they are inputs, never copied.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule

from tremula.execute.outputs import OutputRule
from tremula.execute.settings import ExecutionSettings
from tremula.frontends.onnx.model import Node
from tremula.frontends.onnx.run.program import GraphProgram
from tremula.frontends.onnx.run.step import EagerStep, TurnResult
from tremula.frontends.torch.capture.context import Capture, capturing
from tremula.frontends.torch.capture.record import Recorder, make_graph
from tremula.frontends.torch.execute.executable import Executable
from tremula.frontends.torch.execute.random_state import RandomState
from tremula.frontends.torch.graphs.effects import uses_random
from tremula.frontends.torch.graphs.program import Interface, TorchProgram
from tremula.program.loops import Loops

#: operators that draw numbers from the session's own generator, or that say something while they run
_STAY_EAGER = frozenset(
    [
        "Abort",
        "Dropout",
        "Multinomial",
        "PrintTensor",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
        "ShapedDropout",
    ]
)


def can_be_captured(program: GraphProgram) -> bool:
    """Whether a captured graph would do the same."""
    return not any(_stays_eager(node) for node in program.model.graph.all_nodes())


def _stays_eager(node: Node) -> bool:
    return node.type in _STAY_EAGER


class CapturedStep:
    """Runs a micro-batch as a whole."""

    def __init__(self, program: GraphProgram, eager: EagerStep, label: str, *, keeps_weights: bool) -> None:
        """With `keeps_weights` all turns have the same weights, which change only between sets of them."""
        self._program = program
        self._eager = eager
        self._label = label
        self._keeps_weights = keeps_weights
        self._kept: Mapping[str, Tensor] = {}
        self._executable: Executable | None = None
        #: weights and inputs, in this order
        self._names: list[str] = []
        #: which of the three parts of a result each output belongs to, and its name there
        self._places: list[tuple[int, str]] = []

    def __call__(
        self, weights: Mapping[str, Tensor], inputs: Mapping[str, Tensor], loss_scale: float
    ) -> TurnResult:
        scale = torch.tensor(loss_scale, dtype=torch.float32)
        if self._executable is None:
            self._names = [*weights, *inputs]
            self._executable = self._captured(weights, inputs, scale)
            self._kept = weights
        elif self._keeps_weights and weights is not self._kept:
            self._executable.write_state(weights)
            self._kept = weights
        values = inputs if self._keeps_weights else {**weights, **inputs}
        given = [values[name].detach() for name in self._names if name in values]
        outputs = self._executable.run([*given, scale])
        parts: tuple[dict[str, Tensor], ...] = ({}, {}, {})
        for (part, name), tensor in zip(self._places, outputs, strict=True):
            parts[part][name] = tensor
        return TurnResult(*parts)

    def _captured(
        self, weights: Mapping[str, Tensor], inputs: Mapping[str, Tensor], scale: Tensor
    ) -> Executable:
        graph = self._recorded(weights, inputs, scale)
        kept = dict(weights) if self._keeps_weights else {}
        program = TorchProgram(
            training=False,
            step=graph,
            interface=Interface(
                parameters=tuple(kept),
                buffers=(),
                inputs=(*(name for name in self._names if name not in kept), "loss scale"),
                outputs=tuple(f"output/{place}" for place in range(len(self._places))),
                gradients=(),
            ),
            loops=Loops(),
            mutated_buffers=frozenset(),
            mutated_inputs=frozenset(),
            uses_random=uses_random(graph.graph),
        )
        return Executable(
            program,
            kept,
            outputs=[OutputRule()] * len(self._places),
            random=RandomState(0, 1),
            clock=time.perf_counter,
            execution=ExecutionSettings(label=self._label),
        )

    def _recorded(
        self, weights: Mapping[str, Tensor], inputs: Mapping[str, Tensor], scale: Tensor
    ) -> GraphModule:
        def turn(*given: Tensor) -> list[Tensor]:
            values = dict(zip(self._names, given, strict=False))
            found = self._eager(
                {name: values[name] for name in weights},
                {name: values[name] for name in inputs},
                given[-1],
            )
            parts = (found.anchors, found.gradients, found.stored)
            self._places = [(part, name) for part, each in enumerate(parts) for name in each]
            return [parts[part][name] for part, name in self._places]

        mode = FakeTensorMode()
        examples = [*weights.values(), *inputs.values(), scale]
        fakes = [mode.from_tensor(each.detach()) for each in examples]
        capture = Capture(training=False)
        with capturing(capture):
            return make_graph(Recorder(capture), turn, *fakes)
