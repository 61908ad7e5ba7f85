"""Checks that a captured program is one that can be executed and modelled.

Run once after every capture. A failure is a defect of ours, so the message names the op and asks for a
report; nothing here is caused by a user's model alone.
"""

from __future__ import annotations

import torch
from torch import fx

from tremula.frontends.torch.graphs.program import RECORD, Record, TorchProgram, tensors_of
from tremula.program.op import Phase
from tremula.program.verify import InvalidProgram

_ORDER = {Phase.FORWARD: 0, Phase.BACKWARD: 1, Phase.ACCUMULATE: 2, Phase.UPDATE: 3}


def verify(program: TorchProgram) -> None:
    """Raise `InvalidProgram` if the program breaks an invariant of the graph."""
    for module in program.graphs():
        _verify_graph(module.graph)
    _verify_interface(program)


def _verify_graph(graph: fx.Graph) -> None:
    graph.lint()
    last = 0
    for node in graph.nodes:
        if node.op in ("placeholder", "output", "get_attr"):
            continue
        if node.op != "call_function":
            raise _invalid(node, f"is a {node.op}; captured programs contain only calls of functions")
        record = node.meta.get(RECORD)
        if not isinstance(record, Record):
            raise _invalid(node, "carries no record of phase, placement and source line")
        if _ORDER[record.phase] < last:
            raise _invalid(node, f"belongs to the {record.phase.value} phase but comes after a later one")
        last = _ORDER[record.phase]
        for tensor in tensors_of(node):
            if not all(isinstance(extent, int) for extent in tensor.shape):
                raise _invalid(node, f"has a shape that is not static: {tuple(tensor.shape)}")
            if tensor.device.type != "cpu":
                raise _invalid(node, f"is on {tensor.device}; captured tensors live on the host")


def _verify_interface(program: TorchProgram) -> None:
    interface = program.interface
    nodes = list(program.step.graph.nodes)
    placeholders = [node for node in nodes if node.op == "placeholder"]
    expected = len(interface.parameters) + len(interface.buffers) + len(interface.inputs) + program.training
    if len(placeholders) != expected:
        raise InvalidProgram(f"the step takes {len(placeholders)} tensors, its interface names {expected}")
    outputs = nodes[-1].args[0]
    named = len(interface.outputs) + len(interface.anchors) + len(interface.gradients)
    if not isinstance(outputs, list | tuple) or len(outputs) != named:
        raise InvalidProgram(f"the step returns {outputs!r}, its interface names {named} tensors")
    if not program.training:
        return
    by_name = dict(zip(interface.parameters, placeholders, strict=False))
    gradients = outputs[len(outputs) - len(interface.gradients) :]
    for name, gradient in zip(interface.gradients, gradients, strict=True):
        parameter: torch.Tensor = tensors_of(by_name[name])[0]
        value = tensors_of(gradient)[0]
        if value.shape != parameter.shape or value.dtype != parameter.dtype:
            raise InvalidProgram(
                f"the gradient of {name} is {tuple(value.shape)} {value.dtype}, the parameter is "
                f"{tuple(parameter.shape)} {parameter.dtype}"
            )


def _invalid(node: fx.Node, what: str) -> InvalidProgram:
    return InvalidProgram(f"op {node.name} ({node.target}) {what}; please report this program")
