"""One op under lowering: its operands by name, its results, and what is known about its facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.graphs.listing import tensor_name
from tremula.frontends.torch.graphs.program import GraphOp
from tremula.frontends.torch.rules.operand import Operand, operand
from tremula.lowering.unknown import unknown
from tremula.program.lowered import Kind, Lowered, LoweringSettings
from tremula.program.op import Phase
from tremula.program.work import Unknown, Work

#: argument names (with position and default) of each torch op met so far
_SCHEMAS: dict[Any, dict[str, tuple[int, Any]]] = {}


@cache
def bare_name(target: str) -> str:
    """`add` for aten::add and aten::add_; names of other packages keep their prefix."""
    name = target.removeprefix("aten::")
    return name if name.endswith("__") else name.removesuffix("_")


@dataclass
class GraphFacts:
    """What lowering knows about a graph as a whole; empty where a single op is lowered."""

    #: operands met so far
    operands: dict[fx.Node, Operand] = field(default_factory=dict)
    #: inputs of the graph that are parameters, as far as that is known
    parameters: set[fx.Node] = field(default_factory=set)
    #: ops that depend on no input of the graph
    constants: set[fx.Node] = field(default_factory=set)
    #: share of memory that the user set for the product that made a tensor
    proportions: dict[fx.Node, float] = field(default_factory=dict)
    #: ops of dropout masks, and the product that does their work
    masks: dict[fx.Node, fx.Node] = field(default_factory=dict)
    #: products that are dropouts: the operand that is the mask
    dropouts: dict[fx.Node, fx.Node] = field(default_factory=dict)


class Call:
    """An op with its operands at hand."""

    __slots__ = ("facts", "in_place", "name", "node", "op", "outputs", "settings")

    def __init__(self, op: GraphOp, settings: LoweringSettings, facts: GraphFacts) -> None:
        self.op = op
        self.node = op.node
        self.settings = settings
        self.facts = facts
        self.name = bare_name(op.target)
        self.in_place = op.target.endswith("_") and not op.target.endswith("__")
        value = self.node.meta.get("val")
        if isinstance(value, torch.Tensor):
            self.outputs: tuple[Operand, ...] = (self._of(self.node, value),)
        elif isinstance(value, list | tuple):
            self.outputs = tuple(operand(item) for item in value if isinstance(item, torch.Tensor))
        else:
            self.outputs = ()

    @property
    def output(self) -> Operand:
        """The first result."""
        return self.outputs[0]

    @property
    def backward(self) -> bool:
        """Whether the op belongs to the backward pass."""
        return self.op.phase is Phase.BACKWARD

    def argument(self, name: str, default: Any = None) -> Any:
        """The argument called `name` in the op's schema; nodes stay nodes."""
        if name in self.node.kwargs:
            return self.node.kwargs[name]
        entry = _schema(self.node.target).get(name)
        if entry is None:
            return default
        position, declared = entry
        if position < len(self.node.args):
            return self.node.args[position]
        return default if declared is None else declared

    def tensor(self, name: str) -> Operand | None:
        """The tensor that is the argument called `name`, None if it is none."""
        value = self.argument(name)
        return self.of(value) if isinstance(value, fx.Node) else None

    def given(self, position: int) -> Operand:
        """The tensor at `position` among the tensor operands."""
        return self.tensors()[position]

    def tensors(self) -> list[Operand]:
        """All tensor operands in order, those in lists too; one that is given twice is there twice."""
        found: list[Operand] = []
        for value in (*self.node.args, *self.node.kwargs.values()):
            if isinstance(value, fx.Node):
                self._collect(value, found)
            elif isinstance(value, list | tuple):
                for item in value:
                    if isinstance(item, fx.Node):
                        self._collect(item, found)
        return found

    def _collect(self, node: fx.Node, found: list[Operand]) -> None:
        known = self.of(node)
        if known is not None:
            found.append(known)

    def of(self, node: fx.Node) -> Operand | None:
        """The tensor that `node` makes; None if it makes none or several."""
        known = self.facts.operands.get(node)
        if known is not None:
            return known
        value = node.meta.get("val")
        return self._of(node, value) if isinstance(value, torch.Tensor) else None

    def _of(self, node: fx.Node, value: torch.Tensor) -> Operand:
        known = self.facts.operands.get(node)
        if known is None:
            known = operand(value, node)
            self.facts.operands[node] = known
        return known

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
        """The result for this op; in-place ops take over the memory of their first operand."""
        if shares is None:
            first = self.node.args[0] if self.node.args else None
            own: str | None = None
            if self.in_place and isinstance(first, fx.Node):
                own = tensor_name(first)
            shares = (own, *[None] * (len(self.op.outputs) - 1))[: len(self.op.outputs)]
        return Lowered(
            works=tuple(works),
            kind=kind,
            reads=self.op.inputs if reads is None else reads,
            shares=shares,
            stored=stored,
            fused_into=fused_into,
            unknown=any(isinstance(work, Unknown) for work in works),
        )

    def view(self) -> Lowered:
        """Nothing moves: all results lie where the first operand lies."""
        source = next(iter(self.op.inputs), None)
        return self.lowered((), "view", reads=(), shares=(source,) * len(self.op.outputs))

    def unknown(self) -> Lowered:
        """What no planner knows is costed by what it reads and writes."""
        return self.lowered((unknown(self.op.target, self.tensors(), self.outputs),))


def _schema(target: Any) -> dict[str, tuple[int, Any]]:
    known = _SCHEMAS.get(target)
    if known is None:
        known = {}
        if isinstance(target, torch._ops.OpOverload):
            known = {a.name: (i, a.default_value) for i, a in enumerate(target._schema.arguments)}
        _SCHEMAS[target] = known
    return known
