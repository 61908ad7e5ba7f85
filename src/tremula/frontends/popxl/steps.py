"""One op of a compiled graph as a function over the frames of all replicas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from tremula.frontends.popxl.aliases import inner_inputs
from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.machine import Machine, meta_tensor
from tremula.frontends.popxl.model import Graph, Op
from tremula.frontends.popxl.ops.collectives import EXCHANGES
from tremula.frontends.popxl.ops.table import find

if TYPE_CHECKING:
    from tremula.frontends.popxl.compiled import CompiledGraph, Compiler, Frame, Step

#: source slot, target slot, whether the value is copied
Move = tuple[int, int, bool]


def step_of(op: Op, made: CompiledGraph, compiler: Compiler) -> Step:
    """What runs `op`."""
    special = _SPECIAL.get(op.kind)
    if special is not None:
        return special(op, made, compiler)
    if op.kind in EXCHANGES:
        return _collective(op, made, compiler)
    function = find(op.kind).make(op)
    inputs = [made.slots[tensor] for tensor in op.input_list]
    outputs = [made.slots[tensor] for tensor in op.output_list]
    if len(outputs) == 1 and len(inputs) == 1:
        return _one_to_one(function, inputs[0], outputs[0])
    if len(outputs) == 1 and len(inputs) == 2:
        return _two_to_one(function, inputs[0], inputs[1], outputs[0])
    return _general(function, inputs, outputs)


def _one_to_one(function: Callable[..., Any], source: int, target: int) -> Step:
    def step(frames: list[Frame]) -> None:
        for frame in frames:
            result = function(frame[source])
            frame[target] = result[0] if isinstance(result, tuple | list) else result

    return step


def _two_to_one(function: Callable[..., Any], first: int, second: int, target: int) -> Step:
    def step(frames: list[Frame]) -> None:
        for frame in frames:
            result = function(frame[first], frame[second])
            frame[target] = result[0] if isinstance(result, tuple | list) else result

    return step


def _general(function: Callable[..., Any], inputs: Sequence[int], outputs: Sequence[int]) -> Step:
    def step(frames: list[Frame]) -> None:
        for frame in frames:
            result = function(*[frame[each] for each in inputs])
            if isinstance(result, tuple | list):
                for slot, value in zip(outputs, result, strict=False):
                    frame[slot] = value
            elif outputs:
                frame[outputs[0]] = result

    return step


def _host_load(op: Op, made: CompiledGraph, compiler: Compiler) -> Step:
    machine, stream, target = compiler.machine, op.attributes["stream"], made.slots[op.outputs[0]]

    def step(frames: list[Frame]) -> None:
        for frame in frames:
            frame[target] = machine.host_load(frame[0], stream)

    return step


def _host_store(op: Op, made: CompiledGraph, compiler: Compiler) -> Step:
    machine, stream, source = compiler.machine, op.attributes["stream"], made.slots[op.inputs[0]]

    def step(frames: list[Frame]) -> None:
        for frame in frames:
            machine.host_store(frame[0], stream, frame[source])

    return step


def _remote_load(op: Op, made: CompiledGraph, compiler: Compiler) -> Step:
    machine, number = compiler.machine, op.attributes["buffer"]
    offset, target = made.slots[op.inputs[1]], made.slots[op.outputs[0]]
    into = made.slots[op.inputs[0]] if op.kind == "RemoteLoadInplace" else None

    def step(frames: list[Frame]) -> None:
        for frame in frames:
            value = machine.remote_load(frame[0], number, frame[offset])
            frame[target] = value if into is None else frame[into].copy_(value)

    return step


def _remote_store(op: Op, made: CompiledGraph, compiler: Compiler) -> Step:
    machine, number = compiler.machine, op.attributes["buffer"]
    source, offset = made.slots[op.inputs[0]], made.slots[op.inputs[1]]

    def step(frames: list[Frame]) -> None:
        for frame in frames:
            machine.remote_store(frame[0], number, frame[offset], frame[source])

    return step


def _nothing(op: Op, made: CompiledGraph, compiler: Compiler) -> Step:
    return lambda frames: None


def _inputs_of(op: Op, made: CompiledGraph, callee: CompiledGraph, place: int) -> list[Move]:
    """How a frame of the graph at `place` is filled."""
    copied = made.sharing.copied_inputs.get(op, set())
    moves, seen = [], set()
    for outer, targets in inner_inputs(op).items():
        for graph, inner in targets:
            if graph == place:
                tensor = callee.graph.inputs[inner]
                moves.append((made.slots[op.inputs[outer]], callee.slots[tensor], outer in copied))
                seen.add(inner)
    implicit = 2 if op.kind == "Loop" else 0
    for index, tensor in enumerate(callee.graph.inputs):
        if index >= implicit and index not in seen:
            raise graph_error(
                f"Nothing is connected to the input {tensor.identifier} of the graph {callee.graph.identifier}, "
                f"which is called in {op.graph.identifier or 'the main graph'}."
            )
    return moves


def _filled(callee: CompiledGraph, moves: Sequence[Move], frames: list[Frame]) -> list[Frame]:
    inner_frames = []
    for frame in frames:
        inner = callee.frame(frame[0])
        for source, target, copied in moves:
            inner[target] = frame[source].clone() if copied else frame[source]
        inner_frames.append(inner)
    return inner_frames


def _call(op: Op, made: CompiledGraph, compiler: Compiler) -> Step:
    callee = compiler.compiled(op.called[0])
    moves = _inputs_of(op, made, callee, 0)
    results = [
        (callee.slots[callee.graph.outputs[index]], made.slots[tensor])
        for index, tensor in op.outputs.items()
    ]

    def step(frames: list[Frame]) -> None:
        inner_frames = _filled(callee, moves, frames)
        callee.run(inner_frames)
        for frame, inner in zip(frames, inner_frames, strict=True):
            for source, target in results:
                frame[target] = inner[source]

    return step


def _loop(op: Op, made: CompiledGraph, compiler: Compiler) -> Step:
    """Inputs of the body: the number of the turn, whether to go on, carried values, then those of all turns."""
    body = compiler.compiled(op.called[0])
    turns: int = op.attributes["trip_count"]
    moves = _inputs_of(op, made, body, 0)
    counter = body.slots[body.graph.inputs[0]]
    going = body.slots[body.graph.inputs[1]]
    carried = [
        (body.slots[output], body.slots[body.graph.inputs[index + 1]])
        for index, output in enumerate(body.graph.outputs)
        if index
    ]
    first = [slot for _, slot in carried]
    results = {index: made.slots[tensor] for index, tensor in op.outputs.items()}

    def step(frames: list[Frame]) -> None:
        inner_frames = _filled(body, moves, frames)
        kept = [[(target, inner[target]) for _, target, _ in moves] for inner in inner_frames]
        values = [[inner[slot] for slot in first] for inner in inner_frames]
        for turn in range(1 if compiler.machine.describing else turns):
            number = torch.tensor(turn, dtype=torch.int32)
            for place, inner in enumerate(inner_frames):
                if turn:
                    inner[:] = body.template
                    inner[0] = frames[place][0]
                    for slot, value in kept[place]:
                        inner[slot] = value
                    for slot, value in zip(first, values[place], strict=True):
                        inner[slot] = value
                inner[counter], inner[going] = number, True
            body.run(inner_frames)
            values = [[inner[source] for source, _ in carried] for inner in inner_frames]
        for frame, found in zip(frames, values, strict=True):
            for index, slot in results.items():
                frame[slot] = found[index]

    return step


def _if(op: Op, made: CompiledGraph, compiler: Compiler) -> Step:
    branches = [compiler.compiled(graph) for graph in op.called]
    moves = [_inputs_of(op, made, branch, place) for place, branch in enumerate(branches)]
    condition = made.slots[op.inputs[0]]
    results = [
        [(branch.slots[branch.graph.outputs[index]], made.slots[t]) for index, t in op.outputs.items()]
        for branch in branches
    ]
    machine = compiler.machine
    meets = [_meets_others(graph, machine) for graph in op.called]

    def step(frames: list[Frame]) -> None:
        chosen: list[list[Frame]] = [[], []]
        for frame in frames:
            value = frame[condition]
            taken = True if isinstance(value, FakeTensor) else bool(value.all())
            chosen[0 if taken else 1].append(frame)
        anywhere = _taken_anywhere(machine, chosen) if any(meets) else set()
        for place, group in enumerate(chosen):
            if not group and not (meets[place] and place in anywhere):
                continue
            inner_frames = _filled(branches[place], moves[place], group)
            branches[place].run(inner_frames)
            for frame, inner in zip(group, inner_frames, strict=True):
                for source, target in results[place]:
                    frame[target] = inner[source]

    return step


def _meets_others(graph: Graph, machine: Machine) -> bool:
    """Whether replicas of several instances exchange tensors in a graph, or in one that it calls."""
    if not machine.share.several or machine.describing:
        return False
    return any(
        (op.kind in EXCHANGES and machine.share.crosses(op.attributes["assignment"]))
        or any(_meets_others(called, machine) for called in op.called)
        for op in graph.ops
    )


def _taken_anywhere(machine: Machine, chosen: Sequence[Sequence[Frame]]) -> set[int]:
    """The branches that replicas of any instance take: an instance without one takes part in their exchanges."""
    own = {
        machine.share.first + frame[0]: [torch.tensor(place)]
        for place, group in enumerate(chosen)
        for frame in group
    }
    every = machine.exchange.gathered(own, [torch.tensor(0)])
    return {int(place) for (place,) in every.values()}


def _collective(op: Op, made: CompiledGraph, compiler: Compiler) -> Step:
    exchange = EXCHANGES[op.kind](op)
    assignment: Sequence[int] = op.attributes["assignment"]
    groups: dict[int, list[int]] = {}
    for replica, group in enumerate(assignment):
        groups.setdefault(group, []).append(replica)
    sources = [made.slots[tensor] for tensor in op.input_list]
    targets = [made.slots[tensor] for tensor in op.output_list]
    in_place = op.kind.endswith("Inplace")
    machine = compiler.machine
    crosses = machine.share.crosses(assignment)
    types = [tensor.type for tensor in op.input_list]

    def deliver(frame: Frame, results: Sequence[Any]) -> None:
        for target, result in zip(targets, results, strict=False):
            frame[target] = frame[sources[0]].copy_(result) if in_place else result

    def describe(only: Frame) -> None:
        alone = op.kind not in ("ReplicatedAllGather", "ReplicatedReduceScatter")
        size = 1 if alone else len(groups[assignment[0]])
        deliver(only, exchange([[only[source] for source in sources]] * size)[0])

    def step(frames: list[Frame]) -> None:
        if machine.describing:
            describe(frames[0])
            return
        own = {machine.share.first + frame[0]: frame for frame in frames}
        given = {replica: [frame[source] for source in sources] for replica, frame in own.items()}
        if crosses:
            given = machine.exchange.gathered(given, list(map(meta_tensor, types))) | given
        for members in groups.values():
            if not any(each in own for each in members):
                continue
            present = [each for each in members if each in given]
            if len(present) != len(members):
                raise graph_error(
                    "A collective is reached by some replicas of its group only: their conditions differ."
                )
            for replica, result in zip(present, exchange([given[each] for each in present]), strict=True):
                if replica in own:
                    deliver(own[replica], result)

    return step


_SPECIAL: dict[str, Callable[[Op, CompiledGraph, Compiler], Step]] = {
    "HostLoad": _host_load,
    "HostStore": _host_store,
    "RemoteLoad": _remote_load,
    "RemoteLoadInplace": _remote_load,
    "RemoteStore": _remote_store,
    "RemoteCodeLoad": _nothing,
    "Call": _call,
    "Loop": _loop,
    "If": _if,
}
