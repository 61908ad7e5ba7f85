"""Control flow. Loops are unrolled. A branch whose condition is known only when the graph runs computes both sides."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from tremula.errors import Error
from tremula.frontends.onnx.call import Call
from tremula.frontends.onnx.host_values import host
from tremula.frontends.onnx.model import Graph
from tremula.frontends.onnx.ops.broadcasting import axis_of
from tremula.frontends.onnx.ops.table import GRAPHCORE, op

#: turns of a loop that are unrolled
_MOST_STEPS = 1_000_000


@op("If")
def branch(call: Call, condition: Tensor) -> list[Tensor]:
    if condition.numel() != 1:
        raise Error(f"the condition must be one value; it has the shape {list(condition.shape)}.")
    then, otherwise = call.graph("then_branch"), call.graph("else_branch")
    known = call.scalar(0)
    if known is not None:
        return call.run_graph(then if known else otherwise, [])
    chosen = condition.reshape(()).bool()
    return [
        _chosen(chosen, *pair) for pair in _pairs(call.run_graph(then, []), call.run_graph(otherwise, []))
    ]


def _pairs(first: Sequence[Tensor], second: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
    if len(first) != len(second):
        raise Error(f"one branch gives {len(first)} tensors, the other {len(second)}.")
    return list(zip(first, second, strict=True))


def _chosen(condition: Tensor, first: Tensor, second: Tensor) -> Tensor:
    if first.shape != second.shape:
        raise Error(
            f"shapes are fixed when a graph is compiled, but this is {list(first.shape)} or {list(second.shape)}, by a "
            "condition that is known only when the graph runs."
        )
    return torch.where(condition, _lifted(first), _lifted(second))


def _lifted(tensor: Tensor) -> Tensor:
    if isinstance(tensor, FakeTensor):
        return tensor
    lifted: Tensor = torch.ops.aten.lift_fresh_copy.default(tensor)
    return lifted


@op("Loop")
def loop(
    call: Call, count: Tensor | None = None, condition: Tensor | None = None, *carried: Tensor
) -> list[Tensor]:
    body = call.graph("body")
    known_count, known_condition = call.scalar(0), call.scalar(1)
    if count is not None and known_count is None:
        raise Error("the number of turns must be of type Constant: it is not known before the graph runs.")
    limit = None if known_count is None else max(int(known_count), 0)
    #: whether the loop still runs; None: yes
    running = None if condition is None else condition
    if known_condition is not None:
        if not known_condition:
            limit = 0
        running = None
    state = list(carried)
    scanned: list[list[Tensor]] = [[] for _ in range(len(body.outputs) - 1 - len(state))]
    step = 0
    while limit is None or step < limit:
        number = _known(step)
        going = _known(True) if running is None else running
        new_condition, *results = call.run_graph(body, [number, going, *state])
        new, outputs = results[: len(state)], results[len(state) :]
        if running is None:
            state = new
        else:
            state = [_chosen(running.reshape(()), now, before) for now, before in _pairs(new, state)]
        for collected, output in zip(scanned, outputs, strict=True):
            collected.append(output)
        step += 1
        if isinstance(new_condition, FakeTensor):
            if limit is None:
                raise Error(
                    "how often a loop without a number of turns runs is not known before the graph runs."
                )
            still = new_condition.reshape(())
            running = still if running is None else running.reshape(()) & still
        elif not _holds(new_condition):
            break
        if step >= _MOST_STEPS and step != limit:
            raise Error(f"a loop has run {_MOST_STEPS:,} times, and goes on.")
    return [*state, *(_stacked(each, body, place) for place, each in enumerate(scanned))]


def _known(value: int) -> Tensor:
    """A real tensor, also in a recording."""
    with host():
        return torch.tensor(value)


def _holds(condition: Tensor) -> bool:
    with host():
        return bool(condition.item())


def _stacked(values: list[Tensor], body: Graph, place: int) -> Tensor:
    if not values:
        value = body.outputs[len(body.outputs) - 1 - place]
        shape = [extent if isinstance(extent, int) else 0 for extent in value.shape or ()]
        dtype = torch.float32 if value.type is None else value.type.torch
        return torch.zeros((0, *shape), dtype=dtype)
    if any(isinstance(each, FakeTensor) for each in values):
        values = [_lifted(each) for each in values]
    return torch.stack(values)


@op("Scan", since=9)
def scan(call: Call, *tensors: Tensor) -> list[Tensor]:
    body = call.graph("body")
    scanned = call.integer("num_scan_inputs")
    states = list(tensors[: len(tensors) - scanned])
    inputs = tensors[len(tensors) - scanned :]
    axes = call.integers("scan_input_axes", ()) or [0] * scanned
    backward = call.integers("scan_input_directions", ()) or [0] * scanned
    moved = [
        tensor.movedim(axis_of(axis, tensor.dim()), 0).flip(0) if reverse else tensor.movedim(axis, 0)
        for tensor, axis, reverse in zip(inputs, axes, backward, strict=True)
    ]
    lengths = {each.shape[0] for each in moved}
    if len(lengths) != 1:
        raise Error(f"the inputs to scan have different lengths: {sorted(lengths)}.")
    collected: list[list[Tensor]] = [[] for _ in range(len(body.outputs) - len(states))]
    if max(lengths) > _MOST_STEPS:
        raise Error(f"a scan of {max(lengths):,} steps is too long to be unrolled.")
    joined = call.settings.as_device
    for step in range(lengths.pop()):
        slices = [each[step : step + 1] if joined and each.dim() == 1 else each[step] for each in moved]
        results = call.run_graph(body, [*states, *slices])
        states = results[: len(states)]
        for each, result in zip(collected, results[len(states) :], strict=True):
            each.append(result)
    out_axes = call.integers("scan_output_axes", ()) or [0] * len(collected)
    out_backward = call.integers("scan_output_directions", ()) or [0] * len(collected)
    stacked = []
    for values, axis, reverse in zip(collected, out_axes, out_backward, strict=True):
        parts = [_lifted(each) if call.recording else each for each in values]
        parts = parts[::-1] if reverse else parts
        if joined:
            stacked.append(torch.cat(parts, axis_of(axis, parts[0].dim())))
        else:
            stacked.append(torch.stack(parts, axis_of(axis, parts[0].dim() + 1)))
    return [*states, *stacked]


@op("Call", domain=GRAPHCORE)
def call_graph(call: Call, *tensors: Tensor) -> list[Tensor]:
    callee = call.graph("callee")
    if len(callee.inputs) != len(tensors):
        raise Error(f"the graph {callee.name} takes {len(callee.inputs)} tensors, not {len(tensors)}.")
    return call.run_graph(callee, tensors)
