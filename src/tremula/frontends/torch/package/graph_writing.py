"""A captured program as JSON data and tensors; `graph_reading` reads them."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

from tremula.frontends.torch.graphs.program import RECORD, Record, TorchProgram, tensors_of
from tremula.frontends.torch.package import allowed_ops
from tremula.frontends.torch.package.operand_data import encode_operand
from tremula.frontends.torch.package.operand_rules import broken_rule
from tremula.frontends.torch.package.plain_data import NotData, dtype_name, encode

GRAPHS = ("step", "accumulate", "update")
#: names of the interface that are kept: nothing is anchored in a file
INTERFACE_NAMES = ("parameters", "buffers", "inputs", "outputs", "gradients")

#: records of a program by their text, each written once: its position and its data
_Records = dict[str, tuple[int, Any]]


def encode_program(program: TorchProgram, tensors: dict[str, torch.Tensor]) -> dict[str, Any]:
    """The program, without anchored tensors, as JSON data; its constants are added to `tensors`.

    Raises NotData if the program cannot leave this process, for the reason given.
    """
    records: _Records = {}
    graphs = {
        name: None if graph is None else _encode_graph(graph, name, program, records, tensors)
        for name, graph in ((name, getattr(program, name)) for name in GRAPHS)
    }
    return {
        "training": program.training,
        "interface": {name: list(getattr(program.interface, name)) for name in INTERFACE_NAMES},
        "loops": dict(vars(program.loops)),
        "mutated_buffers": sorted(program.mutated_buffers),
        "mutated_inputs": sorted(program.mutated_inputs),
        "uses_random": program.uses_random,
        "records": [data for _, data in records.values()],
        **graphs,
    }


def _encode_graph(
    module: fx.GraphModule,
    label: str,
    program: TorchProgram,
    records: _Records,
    tensors: dict[str, torch.Tensor],
) -> list[Any]:
    numbers: dict[fx.Node, int] = {}
    nodes = []
    other = encode_operand(numbers)
    for node in module.graph.nodes:
        where = f"an argument of the op {node.name}"
        if node.op == "placeholder":
            data: dict[str, Any] = {"kind": "input", "result": _meta(node)}
        elif node.op == "get_attr":
            key = f"{label}.{len(numbers)}"
            constant = getattr(module, str(node.target), None)
            if not isinstance(constant, torch.Tensor) or isinstance(constant, FakeTensor):
                raise NotData(f"the constant {node.target} of the program", constant)
            tensors[key] = constant
            data = {"kind": "constant", "tensor": key}
        elif node.op == "output":
            values = _without_anchors(list(node.args[0]), program) if label == "step" else list(node.args[0])
            data = {"kind": "output", "values": encode(values, other, where)}
        else:
            name = allowed_ops.name_of(node.target) if node.op == "call_function" else None
            if name is None or allowed_ops.refusal(name) is not None:
                raise NotData(
                    f"the op {node.name} ({node.target}), which a program from a file may not call,",
                    node.target,
                )
            data = {
                "kind": "call",
                "op": name,
                "args": encode(list(node.args), other, where),
                "kwargs": encode(dict(node.kwargs), other, where),
                "result": _meta(node),
                "record": _encode_record(node.meta[RECORD], records),
            }
        numbers[node] = len(numbers)
        nodes.append(data)
    broken = broken_rule(module.graph)
    if broken is not None:
        raise NotData(f"the program {broken}, which a program from a file may not do: it", module)
    return nodes


def _without_anchors(values: list[Any], program: TorchProgram) -> list[Any]:
    """What the step returns when nothing is anchored."""
    outputs, gradients = len(program.interface.outputs), len(program.interface.gradients)
    return values[:outputs] + values[len(values) - gradients :]


def _meta(node: fx.Node) -> list[Any]:
    return [[list(tensor.shape), dtype_name(tensor.dtype)] for tensor in tensors_of(node)]


def _encode_record(record: Record, records: _Records) -> int:
    place, source = record.annotation.placement, record.source
    data = {
        "phase": record.phase.value,
        "placement": [place.ipu, place.stage, place.phase, place.block],
        "scope": list(record.annotation.scope),
        "module": record.annotation.module,
        "attributes": encode(dict(record.annotation.attributes), None, "an attribute of an op"),
        "source": None if source is None else [source.file, source.line, source.function],
    }
    return records.setdefault(repr(data), (len(records), data))[0]
