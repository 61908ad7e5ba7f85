"""From a captured program to work: every op in the order in which a step runs them, none left out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from torch import fx

from tremula.frontends.torch.graphs.listing import ops
from tremula.frontends.torch.graphs.program import GraphOp, TorchProgram
from tremula.frontends.torch.rules import movement
from tremula.frontends.torch.rules.call import Call, GraphFacts
from tremula.frontends.torch.rules.graph_facts import facts_of
from tremula.frontends.torch.rules.handlers import rule_for
from tremula.frontends.torch.rules.passes import Passes
from tremula.program.lowered import Kind, Lowered, LoweringSettings
from tremula.program.op import Phase, SourceLine
from tremula.program.work import Unknown, Work

_PLAIN = LoweringSettings()


def _works_of(call: Call) -> Lowered:
    facts = call.facts
    product = facts.masks.get(call.node)
    if product is not None:
        return call.lowered((), "fused", reads=(), stored=False, fused_into=product.name)
    if call.node in facts.constants:
        return movement.constant(call)
    return rule_for(call.name)(call)


def lower(program: TorchProgram, settings: LoweringSettings = _PLAIN) -> tuple[LoweredOp, ...]:
    """All ops of `program` with what becomes of them, in the order of its listing."""
    facts: dict[fx.Graph, GraphFacts] = {}
    calls: list[Call] = []
    for op in ops(program):
        graph = op.node.graph
        if graph not in facts:
            facts[graph] = facts_of(graph)
            if graph is program.step.graph:
                placeholders = graph.find_nodes(op="placeholder")
                facts[graph].parameters.update(placeholders[: len(program.interface.parameters)])
        calls.append(Call(op, settings, facts[graph]))
    in_passes: dict[fx.Node, Lowered] = {}
    for phase in (Phase.ACCUMULATE, Phase.UPDATE):
        in_passes.update(Passes(call for call in calls if call.op.phase is phase).lowered())
    return tuple(LoweredOp(call.op, in_passes.get(call.node) or _works_of(call)) for call in calls)


@dataclass(frozen=True)
class LoweredOp:
    """An op of the program and what becomes of it."""

    op: GraphOp
    lowered: Lowered

    @property
    def works(self) -> tuple[Work, ...]:
        """The op's work, in order."""
        return self.lowered.works

    @property
    def kind(self) -> Kind:
        """What becomes of the op."""
        return self.lowered.kind

    @property
    def unknown(self) -> bool:
        """Whether no planner knows the op."""
        return self.lowered.unknown


@dataclass(frozen=True)
class UnknownWork:
    """An op that no planner knows, how often it occurs and where."""

    target: str
    count: int
    sources: tuple[SourceLine, ...]


def unknown_work(lowered: Iterable[LoweredOp]) -> tuple[UnknownWork, ...]:
    """All ops costed by the fallback, each target once, in the order of the program."""
    counts: OrderedDict[str, int] = OrderedDict()
    sources: dict[str, dict[SourceLine, None]] = {}
    for each in lowered:
        if not any(isinstance(work, Unknown) for work in each.works):
            continue
        target = each.op.target
        counts[target] = counts.get(target, 0) + 1
        if each.op.source is not None:
            sources.setdefault(target, {})[each.op.source] = None
    return tuple(UnknownWork(t, n, tuple(sources.get(t, ()))) for t, n in counts.items())
