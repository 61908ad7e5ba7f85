"""One node under lowering: its operands, its results, and what is known of the whole program."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tremula.frontends.tensorflow.capture.nodes import Node, Value
from tremula.lowering.operand import Operand as AnyOperand
from tremula.lowering.operand import dense_strides
from tremula.lowering.products import partials
from tremula.lowering.unknown import unknown
from tremula.program.lowered import Kind, Lowered, LoweringSettings
from tremula.program.op import Phase
from tremula.program.work import Unknown, Work

#: a value of the program as planners see it
Operand = AnyOperand[Value]


@dataclass
class GraphFacts:
    """What lowering knows about the program as a whole."""

    #: operands met so far; rules of views note strides here
    operands: dict[Value, Operand] = field(default_factory=dict)
    #: nodes that depend on no input, variable or random draw
    constants: set[Node] = field(default_factory=set)
    #: nodes from which nothing follows
    dead: set[Node] = field(default_factory=set)
    #: values that are computed again, and the values that they are the same as
    repeated: dict[Value, Value] = field(default_factory=dict)
    repeats: dict[Value, list[Value]] = field(default_factory=dict)
    #: results of the program, which stay in memory
    kept: set[Value] = field(default_factory=set)
    #: nodes whose work another node does as well (`patterns`), and that node
    absorbed: dict[Node, Node] = field(default_factory=dict)
    #: nodes that stand for a whole pattern: the work, and the values that it reads
    patterns: dict[Node, tuple[Work, tuple[Value, ...]]] = field(default_factory=dict)

    def is_constant(self, value: Value) -> bool:
        """Whether the compiler knows the value."""
        if value.node is not None:
            return value.node in self.constants
        return value.variable is None and value.constant is not None

    def repeat(self, node: Node, first: Node) -> None:
        """Note that `node` computes what `first` did."""
        made, original = node.outputs[0], first.outputs[0]
        self.repeated[made] = original
        self.repeats.setdefault(original, []).append(made)
        if made in self.kept:
            self.kept.add(original)

    def users(self, value: Value) -> list[Node]:
        """The nodes that read a value or its repetitions, without those that are left out or take only its shape."""
        found = [user for user in value.users if not self._is_left_out(user)]
        for again in self.repeats.get(value, ()):
            found += [user for user in again.users if not self._is_left_out(user)]
        return found

    def _is_left_out(self, node: Node) -> bool:
        return (
            node in self.dead
            or node in self.constants
            or (len(node.outputs) == 1 and node.outputs[0] in self.repeated)
        )

    def operand(self, value: Value) -> Operand:
        """`value` as planners see it: with the strides that a view gave it, else dense."""
        known = self.operands.get(value)
        if known is None:
            known = self.place(value, dense_strides(value.shape))
        return known

    def place(self, value: Value, strides: tuple[int, ...]) -> Operand:
        """Note the strides of `value`."""
        placed = AnyOperand(value, value.shape, strides, value.dtype, value.elements)
        self.operands[value] = placed
        return placed


class Call:
    """A node with its operands at hand."""

    __slots__ = ("facts", "node", "settings")

    def __init__(self, node: Node, settings: LoweringSettings, facts: GraphFacts) -> None:
        self.node = node
        self.settings = settings
        self.facts = facts

    @property
    def type(self) -> str:
        """TensorFlow's name of the op."""
        return self.node.type

    @property
    def backward(self) -> bool:
        """Whether the node belongs to the backward pass."""
        return self.node.phase is Phase.BACKWARD

    @property
    def output(self) -> Operand:
        """The first result."""
        return self.facts.operand(self.node.outputs[0])

    @property
    def outputs(self) -> list[Operand]:
        """All results."""
        return [self.facts.operand(value) for value in self.node.outputs]

    def given(self, position: int) -> Operand:
        """The input at `position`."""
        return self.facts.operand(self.node.inputs[position])

    @property
    def inputs(self) -> list[Operand]:
        """All inputs."""
        return [self.facts.operand(value) for value in self.node.inputs]

    def known(self, position: int) -> Any:
        """The content of the input at `position`, None if it is not known."""
        if not -len(self.node.inputs) <= position < len(self.node.inputs):
            return None
        return self.node.inputs[position].constant

    def known_ints(self, position: int) -> tuple[int, ...] | None:
        """The known content of an input as whole numbers: axes, sizes, permutations."""
        content = self.known(position)
        return None if content is None else tuple(int(n) for n in content.reshape(-1))

    def known_int(self, position: int, default: int = 0) -> int:
        """One known whole number."""
        found = self.known_ints(position)
        return found[0] if found else default

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute of the op."""
        return self.node.attributes.get(name, default)

    def options(self) -> Mapping[str, Any]:
        """The options that the user gave to this op, if any; a layer may have others for its gradient."""
        for name in (("options_bwd",) if self.backward else ()) + ("options", "multi_conv_options"):
            found = self.node.facts.get(name)
            if isinstance(found, str):
                try:
                    found = json.loads(found)
                except ValueError:
                    continue
            if isinstance(found, Mapping):
                return found
        return {}

    @property
    def proportion(self) -> float:
        """The share of memory for temporaries: the op's own if the user set one, else the IPU's."""
        own = self.node.facts.get("available_memory_proportion")
        if own is None:
            own = self.options().get("availableMemoryProportion")
        try:
            return float(own) if own is not None else self.settings.proportion(self.node.ipu or 0)
        except (TypeError, ValueError):
            return self.settings.proportion(self.node.ipu or 0)

    def partials(self, dtype: str, convolution: bool = False) -> str:
        """The type of partial sums of a product of `dtype`."""
        wanted = self.settings.partials
        if convolution:
            wanted = self.settings.convolution_partials or wanted
        named = self.node.facts.get("partials_dtype") or self.options().get("partialsType")
        if named is not None:
            wanted = "fp16" if str(named) in ("fp16", "half", "float16", "<dtype: 'float16'>") else "fp32"
        return partials(dtype, wanted)

    def reads(self) -> tuple[str, ...]:
        """Names of the inputs whose contents are read: axes, sizes and shapes are not, the compiler knows them."""
        named: dict[str, None] = {}
        for value in self.node.inputs:
            if value.dtype.startswith(("fp", "bool")) or not self.facts.is_constant(value):
                named[value.name] = None
        return tuple(named)

    def lowered(
        self,
        works: Sequence[Work],
        kind: Kind = "compute",
        *,
        reads: tuple[str, ...] | None = None,
        shares: tuple[str | None, ...] | None = None,
        stored: bool = True,
        fused_into: str | None = None,
    ) -> Lowered:
        """The result for this node; results have memory of their own unless `shares` says otherwise."""
        return Lowered(
            works=tuple(works),
            kind=kind,
            reads=self.reads() if reads is None else reads,
            shares=(None,) * len(self.node.outputs) if shares is None else shares,
            stored=stored,
            fused_into=fused_into,
            unknown=any(isinstance(work, Unknown) for work in works),
        )

    def view(self, *strides: tuple[int, ...], position: int = 0) -> Lowered:
        """Nothing moves: all results lie where the input at `position` lies, with the strides given for each."""
        for value, given in zip(self.node.outputs, strides, strict=False):
            self.facts.place(value, given)
        source = self.node.inputs[position].name if self.node.inputs else None
        return self.lowered((), "view", reads=(), shares=(source,) * len(self.node.outputs))

    def unknown(self) -> Lowered:
        """What no planner knows is costed by what it reads and writes."""
        names = set(self.reads())
        read = [self.facts.operand(value) for value in self.node.inputs if value.name in names]
        return self.lowered((unknown(self.type, read, self.outputs),))
