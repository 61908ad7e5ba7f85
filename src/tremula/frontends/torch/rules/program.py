"""From captured graphs and their lowering to the program that the chip model reads: three graphs become one.

The step's gradients are what accumulation reads, and its accumulators are what the update reads. Ops that the
capture could not tie to a line of forward (the seed of the backward pass) belong to the last stage. The ops of
accumulation and update carry no placement; `tremula.program.homes` places them with their parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import getitem
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.dtypes import dtype_name
from tremula.frontends.torch.graphs.listing import tensor_name
from tremula.frontends.torch.graphs.names import device_name
from tremula.frontends.torch.graphs.program import (
    Record,
    TorchProgram,
    makes_one_tensor,
    record_of,
    tensors_of,
)
from tremula.frontends.torch.rules.lower import LoweredOp, lower
from tremula.invariants import instance
from tremula.program.homes import place
from tremula.program.lowered import Lowered, LoweringSettings
from tremula.program.op import NO_ATTRIBUTES, Op, Phase, Placement
from tremula.program.program import Program
from tremula.program.tensor import Role, Tensor

_NOTHING = Lowered((), "hint")


def program_of(
    program: TorchProgram, settings: LoweringSettings | None = None, samples: int | None = None
) -> Program:
    """What the chip model reads of captured graphs.

    Args:
        program: the captured graphs.
        settings: what the user's options say about work; by default the stack's defaults.
        samples: samples in a micro-batch; by default the leading extent of the first input.
    """
    return flatten(program, lower(program, settings or LoweringSettings()), samples)


def flatten(program: TorchProgram, lowered: Iterable[LoweredOp], samples: int | None = None) -> Program:
    """Flat lists of `program`; `samples` in a micro-batch, by default the leading extent of its inputs."""
    return _Flattening(program, lowered).result(samples)


class _Flattening:
    """One pass over the graphs of a program."""

    def __init__(self, program: TorchProgram, lowered: Iterable[LoweredOp]) -> None:
        self._program = program
        self._lowered = {each.op.node: each.lowered for each in lowered}
        #: tensors by name, of the graph at hand
        self._names: dict[str, int] = {}
        self._ops: list[Op] = []
        self._tensors: list[Tensor] = []
        self._numbers: dict[fx.Node, tuple[int, ...]] = {}
        #: number of a parameter (or of what belongs to it) -> number of the parameter, in the update
        self._owner: dict[int, int] = {}
        self._stages = self._stage_numbers()
        self._last_stage = max(self._stages.values(), default=0)
        self._last_placement = Placement()

    def _stage_numbers(self) -> dict[int, int]:
        """The user's stage numbers, without gaps."""
        used = {
            record_of(node).annotation.placement.stage
            for node in self._program.step.graph.nodes
            if node.op == "call_function" and record_of(node).phase is Phase.FORWARD
        }
        return {stage: number for number, stage in enumerate(sorted(used))}

    def result(self, samples: int | None) -> Program:
        program = self._program
        inputs, outputs = self._add_step()
        named = program.interface
        gradients = outputs[len(outputs) - len(named.gradients) :] if named.gradients else []
        parameters = dict(zip(named.parameters, range(len(named.parameters)), strict=True))
        trained = [parameters[name] for name in named.gradients]
        carried = list(gradients)
        if program.accumulate is not None:
            carried = self._add_accumulate(program.accumulate, trained, gradients)
        if program.update is not None:
            self._add_update(program.update, trained, carried)
        place(self._ops, self._tensors)
        self._drop_folded()
        first = len(named.parameters) + len(named.buffers)
        model_inputs = inputs[first : first + len(named.inputs)]
        return Program(
            ops=self._ops,
            tensors=self._tensors,
            training=program.training,
            loops=program.loops,
            inputs=tuple(model_inputs),
            outputs=tuple(outputs[: len(outputs) - len(named.gradients)]),
            trained=tuple(trained),
            gradients=tuple(gradients),
            carried=tuple(carried),
            samples=samples if samples is not None else self._samples(model_inputs),
            payload=program,
        )

    def _samples(self, inputs: Iterable[int]) -> int:
        for node in self._program.step.graph.nodes:
            if node.op == "placeholder" and self._numbers[node][0] in set(inputs):
                shape = tensors_of(node)[0].shape
                if len(shape):
                    return int(shape[0])
        return 1

    # -- the step ----------------------------------------------------------------------------------------

    def _add_step(self) -> tuple[list[int], list[int]]:
        named = self._program.interface
        kinds = (
            [(Role.PARAMETER, name) for name in named.parameters]
            + [(Role.BUFFER, name) for name in named.buffers]
            + [(Role.INPUT, name) for name in named.inputs]
            + [(Role.SCALAR, "loss scale")] * self._program.training
        )
        graph = self._program.step.graph
        placeholders = [node for node in graph.nodes if node.op == "placeholder"]
        inputs = []
        for node, (kind, name) in zip(placeholders, kinds, strict=True):
            scope = tuple(name.split(".")[:-1]) if kind in (Role.PARAMETER, Role.BUFFER) else ()
            inputs.append(
                self._new_tensor(name, tensors_of(node)[0], kind, scope=scope, module=".".join(scope))
            )
            self._bind(node, (inputs[-1],))
        for node in graph.nodes:
            if node.op == "call_function":
                self._add_node(node, *self._place_step(record_of(node)))
            elif node.op == "get_attr":
                self._add_constant(node, self._program.step)
        returned: Any = graph.output_node().args[0]
        outputs = [self._numbers[value][0] for value in returned if isinstance(value, fx.Node)]
        return inputs, outputs

    def _place_step(self, record: Record) -> tuple[Placement, int]:
        """Placement of an op of the step and its pipeline stage after differentiation."""
        placement = record.annotation.placement
        stage = self._stages.get(placement.stage, 0)
        if record.phase is Phase.FORWARD:
            self._last_placement = placement
            return placement, stage
        if record.source is None and placement == Placement():
            placement, stage = self._last_placement, self._last_stage
        return placement, 2 * self._last_stage - stage

    def _drop_folded(self) -> None:
        """Constants that only other constants are made from are never on the device."""
        read = {self._tensors[n].storage for op in self._ops if op.works for n in op.inputs}
        for number, tensor in enumerate(self._tensors):
            if tensor.role is Role.CONSTANT and tensor.storage == number and number not in read:
                tensor.bytes = 0

    # -- accumulation and update -------------------------------------------------------------------------

    def _add_accumulate(
        self, module: fx.GraphModule, trained: Sequence[int], gradients: Sequence[int]
    ) -> list[int]:
        """Accumulation into tensors of its own, whose numbers are returned."""
        self._names = {}
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        accumulators = []
        for node, parameter in zip(placeholders, trained, strict=False):
            owner = self._tensors[parameter]
            number = self._new_tensor(
                f"Accum___{owner.name}",
                tensors_of(node)[0],
                Role.ACCUMULATOR,
                scope=owner.scope,
                module=owner.module,
            )
            accumulators.append(number)
            self._tensors[number].owner = parameter
            self._bind(node, (number,))
            self._owner[number] = parameter
        count = len(trained)
        for node, number in zip(placeholders[count:], gradients, strict=False):
            self._bind(node, (number,))
        self._add_scalars(placeholders[2 * count :])
        self._add_owned(module)
        return accumulators

    def _add_update(self, module: fx.GraphModule, trained: Sequence[int], carried: Sequence[int]) -> None:
        self._names = {}
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        count = len(trained)
        for node, number in zip(placeholders, trained, strict=False):
            self._bind(node, (number,))
            self._owner[number] = number
        for node, number, parameter in zip(placeholders[count:], carried, trained, strict=False):
            self._bind(node, (number,))
            self._owner[number] = parameter
        for node in placeholders[2 * count :]:
            tensor = tensors_of(node)[0]
            if tensor.numel() > 1:
                self._bind(node, (self._new_tensor(str(node.target), tensor, Role.STATE),))
            else:
                self._add_scalars([node])
        self._add_owned(module)

    def _add_scalars(self, placeholders: Iterable[fx.Node]) -> None:
        for node in placeholders:
            self._bind(node, (self._new_tensor(str(node.target), tensors_of(node)[0], Role.SCALAR),))

    def _add_owned(self, module: fx.GraphModule) -> None:
        """The ops of a graph beside the parameters that they belong to."""
        owners = self._owners(module)
        for node in module.graph.nodes:
            if node.op == "get_attr":
                self._add_constant(node, module)
            if node.op == "placeholder" and node in owners:
                tensor = self._tensors[self._numbers[node][0]]
                if tensor.role is Role.STATE:
                    parameter = self._tensors[owners[node]]
                    tensor.scope, tensor.module = parameter.scope, parameter.module
                    tensor.owner = owners[node]
                    tensor.name = f"state of {parameter.name}"
            if node.op == "call_function":
                scope = self._tensors[owners[node]].scope if node in owners else ()
                before = len(self._ops)
                self._add_node(node, Placement(), 0, scope)
                for op in self._ops[before:]:  # none for a part of a result
                    op.owner = owners.get(node, -1)

    def _owners(self, module: fx.GraphModule) -> dict[fx.Node, int]:
        """The parameter that each node belongs to: tensors of the same extent that meet in an op belong together."""
        leader: dict[fx.Node, fx.Node] = {}

        def find(node: fx.Node) -> fx.Node:
            while (above := leader.setdefault(node, node)) is not node:
                leader[node] = leader[above]
                node = above
            return node

        for node in module.graph.nodes:
            if node.op == "call_function":
                met = [n for n in (*node.all_input_nodes, node) if makes_one_tensor(n)]
                largest = max((tensors_of(n)[0].numel() for n in met), default=0)
                if largest > 1:
                    together = [n for n in met if tensors_of(n)[0].numel() == largest]
                    for other in together[1:]:
                        leader[find(other)] = find(together[0])
        owner_of: dict[fx.Node, int] = {}
        for node in module.graph.nodes:
            if node.op == "placeholder" and (number := self._numbers[node][0]) in self._owner:
                owner_of.setdefault(find(node), self._owner[number])
        owners = {node: owner_of[find(node)] for node in module.graph.nodes if find(node) in owner_of}
        for node in module.graph.nodes:  # norms and their like stay with what they are made of
            if node.op == "call_function" and node not in owners:
                source = next((n for n in node.all_input_nodes if n in owners), None)
                if source is not None:
                    owners[node] = owners[source]
        return owners

    # -- one node ----------------------------------------------------------------------------------------

    def _add_node(
        self, node: fx.Node, placement: Placement, stage: int, scope: tuple[str, ...] | None = None
    ) -> None:
        if node.target is getitem:
            source, index = node.args
            numbers = self._numbers[instance(source, fx.Node)]
            picked = (numbers[index],) if isinstance(index, int) and len(numbers) > index else numbers
            self._bind(node, picked)
            return
        record = record_of(node)
        lowered = self._lowered.get(node, _NOTHING)
        number = len(self._ops)
        module = record.annotation.module if scope is None else ".".join(scope)
        scope = record.annotation.scope if scope is None else scope
        kind = Role.CONSTANT if lowered.kind == "constant" else Role.ACTIVATION
        made = tensors_of(node)
        outputs = []
        for index, tensor in enumerate(made):
            name = node.name if isinstance(node.meta.get("val"), torch.Tensor) else f"{node.name}:{index}"
            shown = device_name(name)
            outputs.append(self._new_tensor(shown, tensor, kind, placement.ipu, scope, number, module))
            self._names[name] = outputs[-1]
            base = lowered.shares[index] if index < len(lowered.shares) else None
            if base is not None and base in self._names:
                self._tensors[outputs[-1]].storage = self._tensors[self._names[base]].storage
            elif not lowered.stored:
                self._tensors[outputs[-1]].bytes = 0
        self._numbers[node] = tuple(outputs)
        self._names.setdefault(node.name, outputs[0] if outputs else -1)
        self._ops.append(
            Op(
                name=device_name(node.name),
                kind=device_name(_target(node)),
                phase=record.phase,
                works=lowered.works,
                inputs=tuple(n for name in lowered.reads if (n := self._names.get(name, -1)) >= 0),
                outputs=tuple(outputs),
                ipu=placement.ipu,
                stage=stage,
                execution_phase=placement.phase,
                scope=scope,
                module=module,
                source=record.source,
                checkpoint=record.annotation.attributes.get("kind") == "recomputation_checkpoint",
                unknown=lowered.unknown,
                host=lowered.kind == "host",
                attributes=_attributes(record.annotation.attributes),
            )
        )

    def _bind(self, node: fx.Node, numbers: tuple[int, ...]) -> None:
        """`node` stands for tensors that there are already."""
        self._numbers[node] = numbers
        if numbers:
            self._names[tensor_name(node)] = numbers[0]

    def _add_constant(self, node: fx.Node, module: fx.GraphModule) -> None:
        made = tensors_of(node)
        if not made:
            value: Any = module
            for part in str(node.target).split("."):
                value = getattr(value, part)
            made = (value,) if isinstance(value, torch.Tensor) else ()
        self._bind(node, tuple(self._new_tensor(node.name, each, Role.CONSTANT) for each in made))

    def _new_tensor(
        self,
        name: str,
        tensor: torch.Tensor,
        role: Role,
        ipu: int = 0,
        scope: tuple[str, ...] = (),
        producer: int = -1,
        module: str = "",
    ) -> int:
        number = len(self._tensors)
        dtype, shape = dtype_name(tensor.dtype), tuple(tensor.shape)
        if tensor.is_complex():
            shape = (*shape, 2)
        self._tensors.append(Tensor(name, shape, dtype, role, number, producer, ipu, scope, module))
        return number


def _attributes(noted: Mapping[str, Any]) -> Mapping[str, Any]:
    """What can be written down of the attributes of an op."""
    if not noted:
        return NO_ATTRIBUTES
    return {name: value for name, value in noted.items() if isinstance(value, str | int | float | bool)}


def _target(node: fx.Node) -> str:
    target = node.target
    return str(target._schema.name) if isinstance(target, torch._ops.OpOverload) else str(target)
