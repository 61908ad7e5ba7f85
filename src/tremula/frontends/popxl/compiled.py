"""Graphs as straight lists of Python functions over frames, made once before anything runs.

A frame holds the values of one graph on one replica, by slot; slot 0 is the number of the replica among those of this
instance. All replicas take a step before any takes the next, so that collectives find what they exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tremula.frontends.popxl.aliases import Sharing, Summary, sharing_of
from tremula.frontends.popxl.elements import to_carrier
from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.info import Fragment, TensorKind
from tremula.frontends.popxl.invariants import present_data
from tremula.frontends.popxl.machine import Machine
from tremula.frontends.popxl.model import Graph, Op, Tensor

Frame = list[Any]
Step = Callable[[list[Frame]], None]
#: called with each op before it runs
Watch = Callable[[Op], None]


@dataclass
class CompiledGraph:
    """A graph ready to run.

    Attributes:
        template: a frame with the constants in it.
        slots: where the value of each tensor lies.
    """

    graph: Graph
    template: Frame
    slots: dict[Tensor, int]
    sharing: Sharing
    steps: list[Step] = field(default_factory=list)

    @property
    def summary(self) -> Summary:
        """What callers have to know."""
        return self.sharing.summary

    def frame(self, replica: int) -> Frame:
        """A new frame for a replica."""
        frame = self.template.copy()
        frame[0] = replica
        return frame

    def run(self, frames: list[Frame]) -> None:
        """Run all ops on the frames of all replicas."""
        for step in self.steps:
            step(frames)


class Compiler:
    """Makes compiled graphs for one machine, each once."""

    def __init__(
        self, machine: Machine, constant: Callable[[Tensor], Any] | None = None, watch: Watch | None = None
    ) -> None:
        self.machine = machine
        self._constant = constant or (lambda tensor: to_carrier(present_data(tensor), tensor.type.dtype))
        self._watch = watch
        self._made: dict[Graph, CompiledGraph] = {}
        self._under_way: list[Graph] = []

    def compiled(self, graph: Graph) -> CompiledGraph:
        """`graph`, ready to run."""
        if graph not in self._made:
            if graph in self._under_way:
                raise graph_error(f"The graph {graph.identifier} calls itself.")
            self._under_way.append(graph)
            made = self._frame_of(graph, graph.schedule())
            self._add_steps(made, graph.schedule(), set(graph.outputs))
            self._made[graph] = made
            self._under_way.pop()
        return self._made[graph]

    def fragments(self, graph: Graph) -> tuple[CompiledGraph, dict[Fragment, list[Step]]]:
        """The main graph, and its steps by when they run; values are kept from one fragment to the others."""
        ops = graph.schedule()
        made = self._frame_of(graph, ops)
        steps: dict[Fragment, list[Step]] = {}
        kept = {tensor for tensor in graph.tensors.values() if _crosses_fragments(tensor)}
        for fragment in Fragment:
            made.steps = []
            chosen = [op for op in ops if op.settings.fragment is fragment]
            self._add_steps(made, chosen, kept | set(graph.outputs))
            steps[fragment] = made.steps
        return made, steps

    def _frame_of(self, graph: Graph, ops: list[Op]) -> CompiledGraph:
        sharing = sharing_of(graph, ops, lambda called: self.compiled(called).summary)
        slots = {tensor: place for place, tensor in enumerate(graph.tensors.values(), 1)}
        template: Frame = [None] * (len(slots) + 1)
        for tensor, slot in slots.items():
            if tensor.kind is TensorKind.CONST:
                template[slot] = self._constant(tensor)
        return CompiledGraph(graph, template, slots, sharing)

    def _add_steps(self, made: CompiledGraph, ops: Sequence[Op], kept: set[Tensor]) -> None:
        from tremula.frontends.popxl.steps import step_of

        for tensor in made.sharing.copied_constants:
            made.steps.append(_renewed(made.slots[tensor], made.template[made.slots[tensor]]))
        last = _last_uses(ops)
        for place, op in enumerate(ops):
            step = step_of(op, made, self)
            made.steps.append(step if self._watch is None else _watched(op, step, self._watch))
            copies = [made.slots[t] for t in op.outputs.values() if t in made.sharing.copied_outputs]
            if copies:
                made.steps.append(_cloned(copies))
            done = [
                made.slots[tensor]
                for tensor in last.get(place, ())
                if tensor.producer is not None and tensor not in kept
            ]
            if done:
                made.steps.append(_freed(done))


def _crosses_fragments(tensor: Tensor) -> bool:
    if tensor.producer is None:
        return True
    fragment = tensor.producer.settings.fragment
    return fragment is not Fragment.NORMAL or any(
        op.settings.fragment is not fragment for op in tensor.consumers
    )


def _last_uses(ops: Sequence[Op]) -> dict[int, list[Tensor]]:
    """By place of an op, the tensors that no later op reads."""
    last: dict[Tensor, int] = {}
    for place, op in enumerate(ops):
        for tensor in (*op.inputs.values(), *op.outputs.values()):
            last[tensor] = place
    found: dict[int, list[Tensor]] = {}
    for tensor, place in last.items():
        found.setdefault(place, []).append(tensor)
    return found


def _watched(op: Op, step: Step, watch: Watch) -> Step:
    def both(frames: list[Frame]) -> None:
        watch(op)
        step(frames)

    return both


def _renewed(slot: int, value: Any) -> Step:
    def step(frames: list[Frame]) -> None:
        for frame in frames:
            frame[slot] = value.clone()

    return step


def _cloned(slots: Sequence[int]) -> Step:
    def step(frames: list[Frame]) -> None:
        for frame in frames:
            for slot in slots:
                frame[slot] = frame[slot].clone()

    return step


def _freed(slots: Sequence[int]) -> Step:
    def step(frames: list[Frame]) -> None:
        for frame in frames:
            for slot in slots:
                frame[slot] = None

    return step
