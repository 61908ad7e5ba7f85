"""The program graph: what one step does, op by op, before anyone asks how fast or where.

A `TorchProgram` is the captured torch graphs (forward with backward, accumulation, update) plus what every op
carries: phase, placement, name scope, attributes and the user's source line. The host executes these very
graphs and the chip model reads them; nothing else describes the program.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

from tremula.program.loops import Loops
from tremula.program.op import Phase, Placement, SourceLine

#: key in `fx.Node.meta` under which an op's record is kept
RECORD = "tremula"


@dataclass(frozen=True)
class Annotation:
    """What the user's annotations said when an op was recorded."""

    placement: Placement = Placement()
    scope: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    #: dotted path of the innermost module of the user's that was running, as `named_modules` has it
    module: str = ""


@dataclass(frozen=True)
class Record:
    """What the capture knows of an op beyond the op itself."""

    phase: Phase
    annotation: Annotation
    source: SourceLine | None


@dataclass(frozen=True)
class TensorInfo:
    """A tensor of the program: static shape and dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def elements(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def size_bytes(self) -> int:
        """Bytes of the dense tensor."""
        return self.elements * self.dtype.itemsize


@dataclass(frozen=True)
class GraphOp:
    """One operation, as readers of the program see it."""

    name: str
    target: str
    phase: Phase
    placement: Placement
    scope: tuple[str, ...]
    attributes: Mapping[str, Any]
    source: SourceLine | None
    inputs: tuple[str, ...]
    outputs: tuple[TensorInfo, ...]
    node: fx.Node = field(repr=False, compare=False)


@dataclass(frozen=True)
class Interface:
    """The names of what goes into and comes out of the step graph, in graph order.

    Inputs of the step graph are parameters, buffers, model inputs and, in training, the loss scale.
    Its outputs are the model's outputs, the anchored tensors, and the gradients of `gradients`.
    """

    parameters: tuple[str, ...]
    buffers: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    anchors: tuple[str, ...] = ()
    gradients: tuple[str, ...] = ()


@dataclass
class TorchProgram:
    """A captured program. `accumulate` and `update` are None for inference. A program may also write to its inputs: to
    weights that its caller keeps, and to the optimizer's state (`state_inputs`).
    """

    training: bool
    step: fx.GraphModule
    interface: Interface
    loops: Loops = Loops()
    accumulate: fx.GraphModule | None = None
    update: fx.GraphModule | None = None
    mutated_buffers: frozenset[str] = frozenset()
    mutated_inputs: frozenset[int] = frozenset()
    state_inputs: frozenset[int] = frozenset()
    uses_random: bool = False

    def graphs(self) -> Iterator[fx.GraphModule]:
        """The torch graphs in the order in which a step runs them."""
        yield self.step
        if self.accumulate is not None:
            yield self.accumulate
        if self.update is not None:
            yield self.update

    def nodes(self) -> Iterator[fx.Node]:
        """Every node that computes something."""
        for module in self.graphs():
            for node in module.graph.nodes:
                if node.op == "call_function":
                    yield node


def parameter_annotations(program: TorchProgram) -> dict[str, Annotation]:
    """Where each parameter belongs: placed with the first op that reads it, under the module that owns it."""
    annotations = {}
    placeholders = (node for node in program.step.graph.nodes if node.op == "placeholder")
    for name, node in zip(program.interface.parameters, placeholders, strict=False):
        records = (user.meta.get(RECORD) for user in node.users)
        first = next((record for record in records if isinstance(record, Record)), None)
        if first is not None:
            owner = name.rpartition(".")[0]
            scope = tuple(owner.split(".")) if owner else ()
            annotations[name] = Annotation(first.annotation.placement, scope, module=owner)
    return annotations


def tensors_of(node: fx.Node) -> tuple[torch.Tensor, ...]:
    """The (fake) tensors a node produces."""
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return (value,)
    if isinstance(value, list | tuple):
        return tuple(item for item in value if isinstance(item, torch.Tensor))
    return ()


def makes_one_tensor(node: fx.Node) -> bool:
    """Whether a node produces just one tensor. Of many results it looks at two, so that it takes no longer for them."""
    value = node.meta.get("val")
    if isinstance(value, list | tuple):
        tensors = (item for item in value if isinstance(item, torch.Tensor))
        return len(tuple(itertools.islice(tensors, 2))) == 1
    return isinstance(value, torch.Tensor)


def record_of(node: fx.Node) -> Record:
    """The record that the capture attached to `node`."""
    record = node.meta.get(RECORD)
    if not isinstance(record, Record):
        raise LookupError(f"op {node.name} carries no record: it was not made by a capture")
    return record
