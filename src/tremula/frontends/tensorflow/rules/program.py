"""From captured nodes and their lowering to the program that the chip model reads.

Gradients are always accumulated here, by one op for each trained variable, as in the other front ends: with one
micro-batch for an update the chip model leaves that out. The update reads the accumulators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tremula.frontends.tensorflow.capture.captured import Captured
from tremula.frontends.tensorflow.capture.nodes import Node, Value, Variable
from tremula.frontends.tensorflow.rules.control import control_tree
from tremula.frontends.tensorflow.rules.placements import Places
from tremula.program.homes import place
from tremula.program.loops import Loops
from tremula.program.lowered import Lowered
from tremula.program.op import NO_ATTRIBUTES, Op, Phase
from tremula.program.program import Program
from tremula.program.tensor import Role, Tensor
from tremula.program.work import Elementwise

_NOTHING = Lowered((), "hint")


def program_of(
    captured: Captured,
    lowered: Mapping[Node, Lowered],
    places: Places,
    *,
    samples: int,
    loops: Loops | None = None,
) -> Program:
    """What the chip model reads of a captured program.

    Args:
        captured: the program.
        lowered: what becomes of each of its nodes.
        places: IPU and stage of the nodes of a step.
        samples: in a micro-batch.
        loops: how often a step runs; by default as the program says, on one replica.
    """
    return _Building(captured, lowered, places).result(samples, loops)


class _Building:
    def __init__(self, captured: Captured, lowered: Mapping[Node, Lowered], places: Places) -> None:
        self._captured, self._lowered, self._places = captured, lowered, places
        self._ops: list[Op] = []
        self._tensors: list[Tensor] = []
        self._numbers: dict[Value, int] = {}
        self._names: dict[str, int] = {}
        #: in the update: what is read in the place of a gradient
        self._instead: dict[int, int] = {}
        self._blocks: list[list[Any]] = []
        self._owners = _owners(captured)
        #: what an update makes of one variable or its gradient, with the number of that variable
        self._made_of: dict[Value, int] = {}
        self._trained = {each.variable for each in captured.trained}
        self._totals = {total for each in captured.trained for total in each.totals}

    def result(self, samples: int, loops: Loops | None) -> Program:
        captured = self._captured
        for variable in captured.variables:
            self._add_variable(variable)
        for variable in captured.variables:
            self._give_owner(variable)
        for value in captured.inputs:
            self._add(value, Role.INPUT)
        trained = [self._numbers[each.variable.value] for each in captured.trained]
        late: list[Node] = []
        for node in captured.nodes:
            if node.phase in (Phase.FORWARD, Phase.BACKWARD):
                self._add_node(node)
            elif node.phase is Phase.UPDATE:
                late.append(node)
        gradients = [self._number(each.gradient) for each in captured.trained]
        carried = self._add_accumulation(trained, gradients)
        self._made_of = {
            value: owner
            for each, owner in zip(captured.trained, trained, strict=True)
            for value in (each.gradient, *each.totals)
        }
        for node in late:
            self._add_node(node)
        place(self._ops, self._tensors)
        self._drop_folded()
        counts = captured.counts
        return Program(
            ops=self._ops,
            tensors=self._tensors,
            training=captured.training,
            loops=loops or Loops(counts.iterations, counts.accumulation),
            inputs=tuple(self._number(value) for value in captured.inputs),
            outputs=tuple(dict.fromkeys(self._number(value) for value in captured.outputs)),
            trained=tuple(trained),
            gradients=tuple(gradients),
            carried=tuple(carried),
            samples=samples,
            control=control_tree(self._blocks, lambda value: -1 if value is None else self._number(value)),
        )

    def _add_variable(self, variable: Variable) -> None:
        number = self._add(variable.value, self._role(variable))
        tensor = self._tensors[number]
        tensor.module = _module(variable)
        tensor.scope = tuple(tensor.module.split("/")) if tensor.module else ()

    def _give_owner(self, variable: Variable) -> None:
        """Let state of the optimizer know the weights that it belongs to."""
        tensor, owner = self._tensors[self._numbers[variable.value]], self._owners.get(variable)
        if owner is not None and tensor.role in (Role.STATE, Role.ACCUMULATOR):
            tensor.owner = self._numbers[owner.value]
            tensor.name = f"state of {owner.name}" if tensor.role is Role.STATE else tensor.name

    def _role(self, variable: Variable) -> Role:
        if variable in self._trained:
            return Role.PARAMETER
        if variable.value in self._totals:
            return Role.ACCUMULATOR
        phases = {user.phase for user in variable.value.users}
        if self._captured.training and phases == {Phase.UPDATE}:
            return Role.STATE if variable.value.elements > 1 else Role.SCALAR
        return variable.role

    def _add(self, value: Value, role: Role, producer: int = -1, node: Node | None = None) -> int:
        if value in self._numbers:
            return self._numbers[value]
        number = len(self._tensors)
        module = node.module if node is not None else ""
        scope = tuple(module.split("/")) if module else ()
        self._tensors.append(
            Tensor(value.name, value.shape, value.dtype, role, number, producer, scope=scope, module=module)
        )
        self._numbers[value] = self._names[value.name] = number
        return number

    def _number(self, value: Value) -> int:
        """The tensor of a value; one that no op of the step makes is an input."""
        if value not in self._numbers:
            return self._add(value, Role.CONSTANT if value.constant is not None else Role.INPUT)
        return self._numbers[value]

    def _add_node(self, node: Node) -> None:
        lowered = self._lowered.get(node, _NOTHING)
        number = len(self._ops)
        role = Role.CONSTANT if lowered.kind == "constant" else Role.ACTIVATION
        outputs = []
        for index, value in enumerate(node.outputs):
            known = value in self._numbers
            made = self._add(value, role, number, node)
            outputs.append(made)
            base = lowered.shares[index] if index < len(lowered.shares) else None
            if known:
                continue  # the element of a feed
            if base is not None and base in self._names:
                self._tensors[made].storage = self._tensors[self._names[base]].storage
            elif not lowered.stored:
                self._tensors[made].bytes = 0
        reads = [self._names[name] for name in lowered.reads if name in self._names]
        if node.phase is Phase.UPDATE:
            reads = [self._instead.get(self._tensors[each].storage, each) for each in reads]
        ipu, stage = self._places.of.get(node, (0, 0))
        if node.phase is Phase.BACKWARD:
            stage = 2 * (self._places.stages - 1) - stage
        outside = self._captured.counts.is_outside(node.block)
        owner = self._owner_of(node)
        self._ops.append(
            Op(
                name=node.name,
                kind=node.type,
                phase=node.phase,
                works=() if outside else lowered.works,
                inputs=tuple(reads),
                outputs=tuple(outputs),
                ipu=ipu,
                stage=stage if node.phase is not Phase.UPDATE else 0,
                scope=tuple(node.module.split("/")) if node.module else (),
                module=node.module,
                source=node.source,
                checkpoint=bool(node.facts.get("recomputation_checkpoint")),
                unknown=lowered.unknown,
                host=lowered.kind == "host",
                owner=owner,
                attributes={"outside_loop": True} if outside else NO_ATTRIBUTES,
            )
        )
        self._blocks.append(self._captured.counts.inner(node.block))

    def _owner_of(self, node: Node) -> int:
        """The variable that an op of the update works for; -1: for several, or for none."""
        if node.phase is not Phase.UPDATE:
            return -1
        found = -1
        for value in node.inputs:
            if value.variable is not None and (owner := self._owners.get(value.variable)) is not None:
                found = self._numbers[owner.value]
                break
        else:
            owners = {self._made_of[value] for value in node.inputs if value in self._made_of}
            if len(owners) == 1:
                found = owners.pop()
        if found >= 0:
            self._made_of.update(dict.fromkeys(node.outputs, found))
        return found

    def _add_accumulation(self, trained: list[int], gradients: list[int]) -> list[int]:
        """One op for each trained variable that adds its gradient to an accumulator."""
        carried = []
        for each, parameter, gradient in zip(self._captured.trained, trained, gradients, strict=True):
            owner, accumulator = self._tensors[parameter], len(self._tensors)
            dtype = each.accumulator_dtype or owner.dtype
            self._tensors.append(
                Tensor(
                    name=f"accumulator of {owner.name}",
                    shape=owner.shape,
                    dtype=dtype,
                    role=Role.ACCUMULATOR,
                    storage=accumulator,
                    scope=owner.scope,
                    module=owner.module,
                    owner=parameter,
                )
            )
            self._ops.append(
                Op(
                    name=f"accumulate {owner.name}",
                    kind="Accumulate",
                    phase=Phase.ACCUMULATE,
                    works=(Elementwise("scaled_add", owner.elements, dtype, operands=2, in_place=True),),
                    inputs=(accumulator, gradient),
                    scope=owner.scope,
                    module=owner.module,
                    owner=parameter,
                )
            )
            self._blocks.append([])
            carried.append(accumulator)
            self._instead[self._tensors[gradient].storage] = accumulator
            for total in each.totals:
                self._names[total.name] = self._numbers[total] = accumulator
        return carried

    def _drop_folded(self) -> None:
        """Constants that only other constants are made from are never on the device."""
        read = {self._tensors[n].storage for op in self._ops if op.works for n in op.inputs}
        for number, tensor in enumerate(self._tensors):
            if tensor.role is Role.CONSTANT and tensor.storage == number and number not in read:
                tensor.bytes = 0


def _owners(captured: Captured) -> dict[Variable, Variable]:
    """The trained variable that each variable of the update belongs to: its own state, and itself."""
    owners = {each.variable: each.variable for each in captured.trained}
    for each in captured.trained:
        for state in each.states:
            owners.setdefault(state, each.variable)
    for one in captured.trained:
        for total in one.totals:
            if total.variable is not None:
                owners[total.variable] = one.variable
    return owners


def _module(variable: Variable) -> str:
    """The layer that a variable belongs to: what comes before the last part of its name."""
    return variable.module or variable.name.rpartition("/")[0]
