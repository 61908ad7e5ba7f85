"""Whole steps as single graphs for the compiler: forward, backward, and update or accumulation joined over the same
tensors. Several device iterations may be unrolled into one graph, which helps small models.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import fx

from tremula.frontends.torch.execute.folding import unwritten
from tremula.frontends.torch.graphs.program import TorchProgram, tensors_of

#: a compiler's time grows with the ops that it sees
_UNROLLED_OPS = 400
_MOST_UNROLLED = 8
#: Ops whose results have more elements than this, on average, keep the processor busy enough; unrolled, they only
#: get in the way of each other in its caches.
_SMALL_RESULT = 1000


@dataclass(frozen=True)
class WholeStep:
    """Graphs that together do all that a host call does.

    `turn` takes parameters and buffers (or what was prepared of them), then for training the loss scale and
    what follows the backward pass needs (state and hyperparameters, or accumulators and the factors of a running
    mean), then the inputs of each unrolled iteration. It returns the outputs of each iteration and writes
    everything else in place.
    `update`, if there is one, takes trained parameters, accumulators, state and hyperparameters, and leaves
    the accumulators at zero.
    """

    turn: fx.GraphModule
    update: fx.GraphModule | None
    unrolled: int


def whole_step(
    program: TorchProgram, step: fx.GraphModule, held: int, *, divisor: float, fixed_scale: bool
) -> WholeStep:
    """Join the graphs of a program. `held` tensors of the device's state are taken by `step`; `divisor` divides
    accumulated gradients; `fixed_scale`: the factor on the loss stays the same during a call.
    """
    loops = program.loops
    if program.accumulate is not None:
        return WholeStep(_turn_with(program, step, held, 1), _update(program, divisor), 1)
    alone = loops.gradient_accumulation * loops.replicas == 1
    unrolled = _unrolled(program) if alone and fixed_scale else 1
    return WholeStep(_turn_with(program, step, held, unrolled), None, unrolled)


def _unrolled(program: TorchProgram) -> int:
    results = [tensor.numel() for node in program.nodes() for tensor in tensors_of(node)]
    if sum(results) > _SMALL_RESULT * len(results):
        return 1
    ops = max(1, len(results))
    most = min(_MOST_UNROLLED, _UNROLLED_OPS // ops)
    iterations = program.loops.device_iterations
    return max((n for n in range(1, most + 1) if iterations % n == 0), default=1)


def _turn_with(program: TorchProgram, step: fx.GraphModule, held: int, unrolled: int) -> fx.GraphModule:
    """The step, followed by accumulation or update, `unrolled` times."""
    interface = program.interface
    inputs = len(interface.inputs)
    step_in = _placeholders(step)
    follow = program.accumulate if program.accumulate is not None else program.update
    count = len(interface.gradients)
    graph = fx.Graph()
    state = [_input(graph, node) for node in step_in[:held]]
    scale = [_input(graph, node) for node in step_in[held + inputs :]]
    extra: list[fx.Node] = []
    if follow is not None:
        follow_in = _placeholders(follow)
        # accumulators come before the gradients, trained parameters too: the latter are there already
        own = follow_in[:count] if program.accumulate is not None else []
        extra = [_input(graph, node) for node in [*own, *follow_in[2 * count :]]]
    micro_batches = [[_input(graph, node) for node in step_in[held : held + inputs]] for _ in range(unrolled)]
    positions = {name: position for position, name in enumerate(interface.parameters)}
    trained = [state[positions[name]] for name in interface.gradients]
    root = torch.nn.Module()
    results: list[fx.Node] = []
    for micro_batch in micro_batches:
        values = _inlined(graph, root, step, [*state, *micro_batch, *scale])
        first_gradient = len(values) - count
        results.extend(values[:first_gradient])
        if follow is None:
            continue
        if program.accumulate is not None:
            arguments = [*extra[:count], *values[first_gradient:], *extra[count:]]
        else:
            arguments = [*trained, *values[first_gradient:], *extra]
        _inlined(graph, root, follow, arguments)
    graph.output(results)
    return unwritten(root, graph)


def _update(program: TorchProgram, divisor: float) -> fx.GraphModule | None:
    """Division of the sums, the optimizer's update, and accumulators back to zero."""
    if program.update is None:
        return None
    graph = fx.Graph()
    root = torch.nn.Module()
    arguments = [_input(graph, node) for node in _placeholders(program.update)]
    count = len(program.interface.gradients)
    sums = arguments[count : 2 * count]
    aten = torch.ops.aten
    if divisor != 1.0:
        for node in sums:
            _call(graph, aten.div_.Tensor, node, divisor)
    _inlined(graph, root, program.update, arguments)
    for node in sums:
        _call(graph, aten.zero_.default, node)
    graph.output([])
    return unwritten(root, graph)


def _call(graph: fx.Graph, op: torch._ops.OpOverload, node: fx.Node, *rest: float) -> None:
    graph.call_function(op, (node, *rest)).meta["val"] = node.meta["val"]


def _inlined(
    graph: fx.Graph, root: torch.nn.Module, module: fx.GraphModule, arguments: Sequence[fx.Node]
) -> list[fx.Node]:
    """Copy a graph's ops into `graph`; what it returns."""
    copies: dict[fx.Node, fx.Node] = dict(zip(_placeholders(module), arguments, strict=True))
    for node in module.graph.nodes:
        if node.op == "placeholder":
            continue
        if node.op == "output":
            return [copies[value] for value in node.args[0]]
        copy = graph.node_copy(node, lambda operand: copies[operand])
        if node.op == "get_attr":
            copy.target = _kept(root, getattr(module, str(node.target)))
        copies[node] = copy
    raise LookupError("a graph without an output")


def _kept(root: torch.nn.Module, constant: torch.Tensor) -> str:
    """The name under which `root` holds a constant."""
    for name, tensor in root.named_buffers():
        if tensor is constant:
            return name
    name = f"_constant_{len(list(root.named_buffers()))}"
    root.register_buffer(name, constant)
    return name


def _placeholders(module: fx.GraphModule) -> list[fx.Node]:
    return [node for node in module.graph.nodes if node.op == "placeholder"]


def _input(graph: fx.Graph, node: fx.Node) -> fx.Node:
    copy = graph.placeholder(f"input_{len(graph.nodes)}")
    copy.meta["val"] = node.meta["val"]
    return copy


def op_count(module: fx.GraphModule) -> int:
    """Ops that compute something."""
    return sum(
        1
        for node in module.graph.nodes
        if node.op == "call_function" and node.target is not operator.getitem and tensors_of(node)
    )
