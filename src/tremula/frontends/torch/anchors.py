"""Tensors that a call returns besides the model's outputs, because the user named them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import fx

from tremula.execute.outputs import OutputRule
from tremula.frontends.torch.errors import compile_error
from tremula.frontends.torch.execute.executable import Executable
from tremula.frontends.torch.graphs.names import Names
from tremula.frontends.torch.graphs.program import (
    RECORD,
    Annotation,
    Record,
    TorchProgram,
    parameter_annotations,
)
from tremula.frontends.torch.optimize.loss_scale import FINAL_SCALE
from tremula.program.op import Phase

#: prefix of the name of a parameter's value after the update
_UPDATED = "UpdatedVar___"


class Anchors:
    """The anchored tensors of a program: additional outputs of the step, or weights and loss scale after the call."""

    def __init__(self, wanted: Mapping[str, OutputRule], *, training: bool) -> None:
        self._names = tuple(wanted)
        self._after_step = {
            name for name in wanted if training and (name == FINAL_SCALE or name.startswith(_UPDATED))
        }
        self._in_step = {name: rule for name, rule in wanted.items() if name not in self._after_step}

    def add_to(self, program: TorchProgram, names: Names) -> list[OutputRule]:
        """Make the step of `program` return them, after the outputs; the rule of each that was added."""
        if not self._in_step:
            return []
        output = program.step.graph.output_node()
        values = list(output.args[0])  # type: ignore[arg-type]
        trained = program.interface.gradients
        first_gradient = len(values) - len(trained)
        gradients = dict(zip((f"Gradient___{n}" for n in trained), values[first_gradient:], strict=True))
        added: list[fx.Node] = []
        for name in self._in_step:
            node = gradients.get(name) or names.tensors.get(name) or _copied(program, name)
            if node is None:
                raise compile_error(
                    f"The compiled model has no tensor {name} to anchor. getTensorNames() on a "
                    "model compiled without this anchor lists the names.",
                )
            added.append(node)
        output.args = ([*values[:first_gradient], *added, *values[first_gradient:]],)
        program.interface = replace(program.interface, anchors=tuple(self._in_step))
        return list(self._in_step.values())

    def split(
        self, values: list[torch.Tensor], executable: Executable
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Outputs and anchored tensors of a call that returned `values`."""
        if not self._names:
            return values, []
        count = len(executable.program.interface.outputs)
        in_step = dict(zip(self._in_step, values[count:], strict=True))
        return values[:count], [
            in_step[name] if name in in_step else _after_step(name, executable) for name in self._names
        ]


def _copied(program: TorchProgram, name: str) -> fx.Node | None:
    """A copy of a parameter, buffer or input, as the step finds it; None if there is none of that name."""
    interface, graph = program.interface, program.step.graph
    given = dict(
        zip(
            (*interface.parameters, *interface.buffers, *(each or "input" for each in interface.inputs)),
            (node for node in graph.nodes if node.op == "placeholder"),
            strict=False,  # in training, the loss scale follows
        )
    )
    source = given.get(name)
    if source is None:
        return None
    with graph.inserting_before(next(node for node in graph.nodes if node.op != "placeholder")):
        node = graph.call_function(torch.ops.aten.clone.default, (source,))
    annotation = parameter_annotations(program).get(name, Annotation())
    node.meta = {"val": source.meta["val"], RECORD: Record(Phase.FORWARD, annotation, None)}
    return node


def _after_step(name: str, executable: Executable) -> torch.Tensor:
    if name == FINAL_SCALE:
        return executable.loss_scale.clone()
    return executable.read_state()[name.removeprefix(_UPDATED)].clone()
