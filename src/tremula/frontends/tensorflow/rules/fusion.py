"""Chains of element-wise nodes that become one pass over the data.

TensorFlow's compiler for the device outlines element-wise expressions and generates one vertex for each. The rule here:
an element-wise node joins the pass of its users if all of them are in one pass over as many elements, in the same
phase, block, pipeline stage and IPU. Assignments and the ops of optimizers end a pass in place, so an optimizer that is
written as small ops is one pass for each variable that it writes. Casts have no pass of their own next to another node.
The addition of a bias is none of it: popops adds it in place. Identities in between change nothing.

A generated vertex has a bounded number of inputs and operations; both bounds are assumptions of this model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tremula.frontends.tensorflow.capture.nodes import Node, Value
from tremula.frontends.tensorflow.rules import updates
from tremula.frontends.tensorflow.rules.aliases import behind_aliases, users_behind_aliases
from tremula.frontends.tensorflow.rules.call import Call, GraphFacts, Operand
from tremula.frontends.tensorflow.rules.elementwise import CAST, SEVERAL, is_elementwise, operations_of
from tremula.lowering.elementwise import TRUTH, computed_in, passes_over, runs_innermost
from tremula.lowering.rearrangement import rearranged, same_order
from tremula.lowering.strides import like
from tremula.program.lowered import Lowered, LoweringSettings
from tremula.program.op import Phase
from tremula.program.work import Cast, Elementwise, Work

#: tensors of more than one element that a generated vertex reads
MOST_INPUTS = 8
#: nodes in one expression
MOST_NODES = 32


@dataclass(eq=False)
class Pass:
    """Nodes that become one walk over the data, in the name of the last."""

    last: Node
    elements: int
    #: in reverse order
    nodes: list[Node] = field(default_factory=list)
    #: values of more than one element that come from outside, behind identities
    inputs: dict[Value, None] = field(default_factory=dict)
    #: the variable that the pass writes although its last node is not an assignment
    into: Value | None = None


class Passes:
    """The passes of a program, found in one walk over its nodes from the end."""

    def __init__(self, nodes: Sequence[Node], facts: GraphFacts) -> None:
        self._facts = facts
        self._pass_of: dict[Node, Pass] = {}
        #: assignments whose value is made in the variable's own memory
        self._made_in_place: set[Node] = set()
        for node in reversed(nodes):
            if not any(
                node in told for told in (facts.constants, facts.dead, facts.absorbed, facts.patterns)
            ):
                self._add(node)
        for node in nodes:
            self._write_in_place(node)

    def lower(self, node: Node, settings: LoweringSettings) -> Lowered | None:
        """What becomes of a node that is part of a pass; None: it is in none."""
        one = self._pass_of.get(node)
        if one is None:
            return None
        call = Call(node, settings, self._facts)
        if node in self._made_in_place:
            return call.lowered((), "view", reads=())
        if node is not one.last:
            self._place(call)
            return call.lowered((), "fused", reads=(), stored=False, fused_into=one.last.name)
        self._place(call)
        return _Lowering(one, call, settings).lowered()

    def _place(self, call: Call) -> None:
        """Results lie as the first operand of their shape does."""
        for value in call.node.outputs:
            for source in call.inputs:
                if source.shape == value.shape and source.distinct == source.elements > 1:
                    self._facts.place(value, like(source, value.shape))
                    break

    def _add(self, node: Node) -> None:
        ends = _ends_pass(node)
        if not ends and not is_elementwise(node):
            return
        made = None if ends else node.outputs[0]
        one = None if made is None else self._joined(node, made)
        if one is None:
            elements = node.inputs[0].elements if made is None else made.elements
            one = Pass(node, elements)
        one.nodes.append(node)
        self._pass_of[node] = one
        if made is not None:
            one.inputs.pop(made, None)
        one.inputs.update(dict.fromkeys(self._large(node)))

    def _joined(self, node: Node, made: Value) -> Pass | None:
        """The pass of all users of `made`, if `node` may be part of it."""
        one: Pass | None = None
        if made in self._facts.kept:
            return None
        for user in users_behind_aliases(made, self._facts):
            found = None if user is None else self._pass_of.get(user)
            if found is None or (one is not None and found is not one):
                return None
            one = found
        if one is None or one.elements != made.elements or not _same_place(node, one.last):
            return None
        if updates.is_dense_update(one.last) and behind_aliases(one.last.inputs[0], self._facts) is made:
            return None  # it is what is updated, not the gradient
        grown = {*one.inputs, *self._large(node)} - {made}
        if len(one.nodes) >= MOST_NODES or len(grown) > MOST_INPUTS:
            return None
        return one

    def _large(self, node: Node) -> Iterator[Value]:
        for value in node.inputs:
            if value.elements > 1:
                yield behind_aliases(value, self._facts)

    def _write_in_place(self, node: Node) -> None:
        """An assignment of what a pass made from the variable itself: the pass writes the variable."""
        if node.type not in ("AssignVariableOp", "Assign") or len(node.inputs) < 2:
            return
        one = self._pass_of.get(node)
        made = behind_aliases(node.inputs[1], self._facts)
        if one is None or len(one.nodes) > 1 or made.node is None or made.elements < 2:
            return
        maker = self._pass_of.get(made.node)
        if maker is None or maker.last is not made.node or maker.into is not None:
            return
        if node.inputs[0] in maker.inputs and made.dtype == node.inputs[0].dtype:
            maker.into = node.inputs[0]
            self._made_in_place.add(node)


def _ends_pass(node: Node) -> bool:
    return node.type in updates.ASSIGNMENTS or updates.is_dense_update(node)


def _same_place(one: Node, other: Node) -> bool:
    return (
        one.phase is other.phase
        and one.block is other.block
        and one.stage == other.stage
        and one.ipu == other.ipu
    )


class _Lowering:
    """The work of one pass."""

    def __init__(self, one: Pass, call: Call, settings: LoweringSettings) -> None:
        self._pass = one
        self._call = call
        self._facts = call.facts
        self._calls = [Call(node, settings, call.facts) for node in reversed(one.nodes)]

    def lowered(self) -> Lowered:
        """What becomes of the last node."""
        call, node = self._call, self._call.node
        if node.type in updates.ASSIGNMENTS and len(self._calls) == 1 and not updates.ASSIGNMENTS[node.type]:
            return updates.copied(call)
        reads, operands = self._outside()
        works = self._works(operands)
        if not works:
            return call.view(call.given(0).strides)
        into = self._pass.into
        shares = None if into is None else (into.name,)
        return call.lowered(works, reads=reads, shares=shares)

    def _outside(self) -> tuple[tuple[str, ...], list[Operand]]:
        """What the pass reads from outside: the names, and the operands, each once."""
        inside = set(self._pass.nodes)
        names: dict[str, None] = {}
        operands: dict[Value, Operand] = {}
        for each in self._calls:
            for value in _read_by(each.node):
                source = behind_aliases(value, self._facts)
                if source.node is not None and source.node in inside:
                    continue
                names[value.name] = None
                operands.setdefault(source, self._facts.operand(value))
        return tuple(names), list(operands.values())

    def _works(self, operands: list[Operand]) -> list[Work]:
        call = self._call
        names = tuple(name for each in self._calls for name in _operations(each))
        if updates.is_dense_update(call.node):
            return updates.update(call, names)
        ends = call.node.type in updates.ASSIGNMENTS
        result = call.given(0) if ends else call.output
        if not names:
            source = next(iter(operands))
            if source.dtype == result.dtype and not ends:
                return []
            return [Cast(source.distinct, source.dtype, result.dtype)]
        if names == ("add",) and call.node.phase is Phase.ACCUMULATE:
            names = ("scaled_add",)
        in_place = ends or self._pass.into is not None
        if len(self._calls) == 1:
            numbers = [o for o in operands if not self._is_number(o)]
            scalar = len(numbers) < len(operands) and call.type in SEVERAL
            return passes_over(
                _alone(call, names), numbers or operands, result, in_place=in_place, scalar=scalar
            )
        return self._expression("+".join(names), operands, result, in_place)

    def _is_number(self, operand: Operand) -> bool:
        """Whether an operand is a number of the program's text."""
        value = operand.node
        return value is not None and operand.elements == 1 and self._facts.is_constant(value)

    def _expression(self, names: str, operands: list[Operand], result: Operand, in_place: bool) -> list[Work]:
        """One generated vertex: casts are part of it, scalars are loaded once."""
        large = [o for o in operands if o.distinct > 1]
        computing = [each for each in self._calls if _operations(each)]
        dtypes = [_computed(each) for each in computing]
        dtype = "fp32" if "fp32" in dtypes else next((d for d in dtypes if d != "bool"), dtypes[0])
        elements = self._pass.elements
        repeated = [o for o in large if o.distinct < elements]
        if large and len(repeated) == len(large):
            same = {o.distinct for o in large}
            if len(same) == 1:  # all are repeated alike: done before the expansion, which is a view
                elements, repeated = same.pop(), []
        widest = max(repeated, key=lambda o: o.distinct, default=None)
        works: list[Work] = [
            rearranged(o, result) for o in large if o.shape == result.shape and not same_order(o, result)
        ]
        truth = names.rpartition("+")[2] in TRUTH
        works.append(
            Elementwise(
                operation=names,
                elements=elements,
                dtype=dtype,
                operands=max(1, len(large)),
                broadcast_elements=None if widest is None else widest.distinct,
                broadcast_inner=widest is not None and runs_innermost(widest, result),
                output_dtype="bool" if truth else result.dtype if result.dtype != dtype else None,
                in_place=in_place,
            )
        )
        return works


def _computed(call: Call) -> str:
    if not call.node.outputs:
        return call.given(0).dtype
    return computed_in(call.inputs, call.output)


def _operations(call: Call) -> tuple[str, ...]:
    if call.type in updates.ASSIGNMENTS:
        return updates.ASSIGNMENTS[call.type]
    if updates.is_dense_update(call.node):
        return ()
    return operations_of(call)


def _alone(call: Call, names: tuple[str, ...]) -> tuple[str, ...]:
    """The passes of a node that is in no chain: an expression is still one of them."""
    return ("+".join(names),) if call.type != CAST else names


def _read_by(node: Node) -> Iterable[Value]:
    """Inputs whose contents a node of a pass reads: an assignment does not read what it overwrites."""
    overwrites = node.type in updates.ASSIGNMENTS and not updates.ASSIGNMENTS[node.type]
    return node.inputs[1:] if overwrites else node.inputs
