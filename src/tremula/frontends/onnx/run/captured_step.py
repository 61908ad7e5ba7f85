"""A micro-batch as one captured graph, forward and backward, which the executor of torch programs runs and compiles.
Where each turn ends with an update of the weights, the update is part of the graph.

Where nothing is trained the executor keeps the weights, and prepares them once; else they are inputs, never copied.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule

from tremula.execute.outputs import OutputRule
from tremula.execute.settings import ExecutionSettings
from tremula.frontends.onnx.model import Node
from tremula.frontends.onnx.run.program import GraphProgram
from tremula.frontends.onnx.run.session_random import SessionRandom
from tremula.frontends.onnx.run.step import EagerStep, TurnResult
from tremula.frontends.onnx.run.updating import Updater
from tremula.frontends.torch.capture.context import Capture, capturing
from tremula.frontends.torch.capture.record import Recorder, make_graph
from tremula.frontends.torch.execute.executable import Executable
from tremula.frontends.torch.graphs.effects import mutated_placeholders, uses_random
from tremula.frontends.torch.graphs.program import Interface, TorchProgram
from tremula.program.loops import Loops

#: operators that say something while they run
_STAY_EAGER = frozenset(["Abort", "PrintTensor"])
_SCALE = "loss scale"


def can_be_captured(program: GraphProgram) -> bool:
    """Whether a captured graph would do the same."""
    return not any(_stays_eager(node) for node in program.model.graph.all_nodes())


def _stays_eager(node: Node) -> bool:
    return node.type in _STAY_EAGER


class CapturedStep:
    """Runs a micro-batch as a whole."""

    def __init__(
        self,
        program: GraphProgram,
        eager: EagerStep,
        generator: torch.Generator,
        execution: ExecutionSettings,
        *,
        keeps_weights: bool,
        updater: Updater | None = None,
    ) -> None:
        """With `keeps_weights` all turns have the same weights, which change only between sets of them. With `updater`
        a turn updates the weights that it is given.
        """
        self._program = program
        self._eager = eager
        self._generator = generator
        self._execution = execution
        self._keeps_weights = keeps_weights
        self._updater = updater
        self._kept: Mapping[str, Tensor] = {}
        self._executable: Executable | None = None
        #: names of what the executable takes: weights that it does not keep, and inputs
        self._weights: tuple[str, ...] = ()
        self._inputs: tuple[str, ...] = ()
        #: the same of the optimizer's state, and of its values that vary
        self._slots: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        #: which of the three parts of a result each output belongs to, and its name there
        self._places: list[tuple[int, str]] = []
        self._scale = torch.ones(())
        self._scale_value = 1.0

    @property
    def settled(self) -> bool:
        """Whether the executable will stay in the form that it runs in now."""
        return self._executable is not None and not self._executable.choice.open

    @property
    def form(self) -> str:
        """The form in use."""
        return "quick" if self._executable is None else self._executable.form

    def __call__(
        self, weights: Mapping[str, Tensor], inputs: Mapping[str, Tensor], loss_scale: float
    ) -> TurnResult:
        if loss_scale != self._scale_value:
            self._scale, self._scale_value = torch.tensor(loss_scale, dtype=torch.float32), loss_scale
        if self._executable is None:
            self._executable = self._captured(weights, inputs)
            self._kept = weights
        elif self._keeps_weights and weights is not self._kept:
            self._executable.write_state(weights)
            self._kept = weights
        given = [weights[name] for name in self._weights]
        given += [inputs[name] for name in self._inputs]
        given.append(self._scale)
        if self._updater is not None:
            for names, tensors in zip(self._slots, self._updater.slots(), strict=True):
                given += [tensors[name] for name in names]
        parts: tuple[dict[str, Tensor], ...] = ({}, {}, {})
        for (part, name), tensor in zip(self._places, self._executable.run(given), strict=True):
            parts[part][name] = tensor
        return TurnResult(*parts)

    def _captured(self, weights: Mapping[str, Tensor], inputs: Mapping[str, Tensor]) -> Executable:
        slots = ({}, {}) if self._updater is None else self._updater.slots()
        self._slots = (tuple(slots[0]), tuple(slots[1]))
        graph = self._recorded(weights, inputs, slots)
        kept = dict(weights) if self._keeps_weights else {}
        self._weights = tuple(name for name in weights if name not in kept)
        self._inputs = tuple(inputs)
        written = mutated_placeholders(graph.graph)
        before_state = len(self._weights) + len(self._inputs) + 1
        program = TorchProgram(
            training=False,
            step=graph,
            interface=Interface(
                parameters=tuple(kept),
                buffers=(),
                inputs=(*self._weights, *self._inputs, _SCALE, *self._slots[0], *self._slots[1]),
                outputs=tuple(f"output/{place}" for place in range(len(self._places))),
                gradients=(),
            ),
            loops=Loops(),
            mutated_buffers=frozenset(),
            mutated_inputs=frozenset(written),
            state_inputs=frozenset(place for place in written if place >= before_state),
            uses_random=uses_random(graph.graph),
        )
        return Executable(
            program,
            kept,
            outputs=[OutputRule()] * len(self._places),
            random=SessionRandom(self._generator),
            clock=time.perf_counter,
            execution=self._execution,
        )

    def _recorded(
        self,
        weights: Mapping[str, Tensor],
        inputs: Mapping[str, Tensor],
        slots: Sequence[Mapping[str, Tensor]],
    ) -> GraphModule:
        def turn(*given: Tensor) -> list[Tensor]:
            values = iter(given)
            present = {name: next(values) for name in weights}
            found = self._eager(present, {name: next(values) for name in inputs}, next(values))
            anchors, gradients = found.anchors, found.gradients
            if self._updater is not None:
                state, varying = ({name: next(values) for name in names} for names in slots)
                trained = {name: present[name] for name in self._program.trained}
                anchors = {name: _apart(tensor, trained) for name, tensor in anchors.items()}
                self._updater.update_with(trained, gradients, state, varying)
                gradients = {}
            parts = (anchors, gradients, found.stored)
            self._places = [(part, name) for part, each in enumerate(parts) for name in each]
            return [parts[part][name] for part, name in self._places]

        mode = FakeTensorMode()
        examples = [*weights.values(), *inputs.values(), self._scale]
        examples += [tensor for table in slots for tensor in table.values()]
        fakes = [mode.from_tensor(each.detach()) for each in examples]
        capture = Capture(training=False)
        with capturing(capture):
            return make_graph(Recorder(capture), turn, *fakes)


def _apart(tensor: Tensor, weights: Mapping[str, Tensor]) -> Tensor:
    """`tensor`, as it is before the update if it shares memory with a weight."""
    shared = any(
        torch._C._is_alias_of(tensor, weight)  # type: ignore[attr-defined]
        for weight in weights.values()
    )
    return tensor.clone() if shared else tensor
