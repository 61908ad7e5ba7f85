"""Whether a program from a file can run with a given model, optimizer and settings.

Everything that the graphs will be handed is compared with what they were compiled for, before anything runs;
what differs is listed in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from tremula.errors import Error
from tremula.execute.settings import ReplicaGrouping
from tremula.frontends.torch.execute.device_state import TrainingState
from tremula.frontends.torch.graphs.program import TorchProgram, tensors_of
from tremula.frontends.torch.package.saved_program import SavedProgram
from tremula.program.loops import Loops

_LISTED = 12


@dataclass(frozen=True)
class Expected:
    """What a program from a file is to run with."""

    training: bool
    loops: Loops
    running_mean: bool
    groupings: Mapping[str, ReplicaGrouping]
    parameters: tuple[str, ...]  #: names in the order of the model; `buffers` likewise
    buffers: tuple[str, ...]
    state: Mapping[str, torch.Tensor]  #: parameters and buffers by name, in device dtypes
    inputs: Sequence[torch.Tensor]  #: one micro-batch in device dtypes
    optimizer: TrainingState | None  #: state of the optimizer that training would go on with
    instances: int = 1  #: how many processes train the model together


def check_fit(saved: SavedProgram, given: Expected) -> None:
    """Raise an Error that lists the differences, if there are any."""
    found = _setting_differences(saved, given) or _tensor_differences(saved.program, given)
    if not found:
        return
    if len(found) > _LISTED:
        found = [*found[:_LISTED], f"... and {len(found) - _LISTED} more"]
    lines = "\n  ".join(found)
    raise Error(f"The compiled program does not fit the model that is to run it:\n  {lines}")


def _setting_differences(saved: SavedProgram, given: Expected) -> list[str]:
    program = saved.program
    if program.training != given.training:
        words = {True: "training", False: "inference"}
        return [f"it was compiled for {words[program.training]} and the model is for {words[given.training]}"]
    found = [
        f"{name} was {before} when it was compiled and is {now} in the options"
        for (name, before), now in zip(vars(program.loops).items(), vars(given.loops).values(), strict=True)
        if before != now
    ]
    if saved.running_mean != given.running_mean:
        found.append("the strategy for means of gradients was another one when it was compiled")
    if dict(saved.groupings) != dict(given.groupings):
        found.append("the replica groups of the parameters were others when it was compiled")
    for kind, before_names, now_names in (
        ("parameter", program.interface.parameters, given.parameters),
        ("buffer", program.interface.buffers, given.buffers),
    ):
        found += [f"the {kind} {name} is not in the model" for name in before_names if name not in now_names]
        found += [
            f"the {kind} {name} is not in the program" for name in now_names if name not in before_names
        ]
        if not found and before_names != now_names:
            found.append(f"the {kind}s come in another order")
    if len(program.interface.inputs) != len(given.inputs):
        found.append(f"it takes {len(program.interface.inputs)} tensors and there are {len(given.inputs)}")
    return found


def _tensor_differences(program: TorchProgram, given: Expected) -> list[str]:
    expected = [
        (name, given.state[name].shape[1 if name in given.groupings else 0 :], given.state[name].dtype)
        for name in (*given.parameters, *given.buffers)
    ]
    inputs = zip(program.interface.inputs, given.inputs, strict=True)
    expected += [(name, each.shape, each.dtype) for name, each in inputs]
    if given.optimizer is not None:
        expected.append(("the loss scale", torch.Size(), torch.float32))
    found = _graph_differences(program.step, expected)
    if given.optimizer is None:
        if program.update is not None or program.accumulate is not None:
            found.append("it has an update although it is not for training")
        return found
    return found + _update_differences(program, given.state, given.optimizer, given.instances)


def _update_differences(
    program: TorchProgram, state: Mapping[str, torch.Tensor], training: TrainingState, instances: int
) -> list[str]:
    names = program.interface.gradients
    turns = program.loops.gradient_accumulation * program.loops.replicas * instances
    if (program.update is None) != (not names) or (program.accumulate is None) != (not names or turns == 1):
        return [
            "it lacks the update or the accumulation of gradients, or has one too many (a program that was compiled "
            "by one instance is not for several, nor the other way round)"
        ]
    found: list[str] = []
    gradients = [(f"the gradient of {name}", state[name].shape, state[name].dtype) for name in names]
    if program.accumulate is not None:
        outputs: Any = program.step.graph.output_node().args[0]
        computed = [tensors_of(node)[0] for node in outputs[len(outputs) - len(names) :]]
        accumulators = [
            (f"the accumulator of {name}", computed[i].shape, training.accumulator_dtypes[i])
            for i, name in enumerate(names)
        ]
        incoming = [
            (f"the gradient of {name}", t.shape, t.dtype) for name, t in zip(names, computed, strict=True)
        ]
        factors = [("a factor", torch.Size(), torch.float32)] * 2 if training.running_mean else []
        found += _graph_differences(program.accumulate, [*accumulators, *incoming, *factors])
        gradients = [(n, s, d) for (n, s, _), d in zip(gradients, training.accumulator_dtypes, strict=True)]
    if program.update is not None:
        tables = [*training.state.items(), *training.hyper.items()]
        held = [(name, state[name].shape, state[name].dtype) for name in names]
        expected = [*held, *gradients, *((name, tensor.shape, tensor.dtype) for name, tensor in tables)]
        found += _graph_differences(program.update, expected)
    return found


def _graph_differences(
    module: fx.GraphModule, expected: Sequence[tuple[str, torch.Size, torch.dtype]]
) -> list[str]:
    """Inputs of a graph that are not of the shape and dtype of what they will be given."""
    inputs = [tensors_of(node)[0] for node in module.graph.nodes if node.op == "placeholder"]
    if len(inputs) != len(expected):
        return [f"one of its graphs takes {len(inputs)} tensors where there are {len(expected)}"]
    return [
        f"{name} was {list(each.shape)} {each.dtype} when it was compiled and is {list(shape)} {dtype} now"
        for each, (name, shape, dtype) in zip(inputs, expected, strict=True)
        if each.shape != shape or each.dtype != dtype
    ]
