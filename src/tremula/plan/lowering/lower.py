"""From a captured program to work: every op in the order in which a step runs them, none left out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from torch import fx

from tremula.plan.lowering import movement
from tremula.plan.lowering.call import Call, Surroundings
from tremula.plan.lowering.handlers import rule_for
from tremula.plan.lowering.lowered import Lowered, LoweredOp, LoweringSettings
from tremula.plan.lowering.passes import Passes
from tremula.plan.lowering.surroundings import surroundings_of
from tremula.plan.work import Unknown
from tremula.program.graph import Op, Phase, Program, SourceLine
from tremula.program.listing import ops

_PLAIN = LoweringSettings()


def works_of(
    op: Op, settings: LoweringSettings = _PLAIN, surroundings: Surroundings | None = None
) -> Lowered:
    """What becomes of one op.

    Args:
        op: an op of a program's listing.
        settings: what the user's options say about work.
        surroundings: what is known of the op's graph; found anew if not given. Passes of the accumulation and
            update graphs are only put together by `lower`.
    """
    if surroundings is None:
        surroundings = surroundings_of(op.node.graph)
    return _works_of(Call(op, settings, surroundings))


def _works_of(call: Call) -> Lowered:
    surroundings = call.surroundings
    product = surroundings.masks.get(call.node)
    if product is not None:
        return call.lowered((), "fused", reads=(), stored=False, fused_into=product.name)
    if call.node in surroundings.constants:
        return movement.constant(call)
    return rule_for(call.name)(call)


def lower(program: Program, settings: LoweringSettings = _PLAIN) -> tuple[LoweredOp, ...]:
    """All ops of `program` with what becomes of them, in the order of its listing."""
    surroundings: dict[fx.Graph, Surroundings] = {}
    calls: list[Call] = []
    for op in ops(program):
        graph = op.node.graph
        if graph not in surroundings:
            surroundings[graph] = surroundings_of(graph)
            if graph is program.step.graph:
                placeholders = graph.find_nodes(op="placeholder")
                surroundings[graph].parameters.update(placeholders[: len(program.interface.parameters)])
        calls.append(Call(op, settings, surroundings[graph]))
    in_passes: dict[fx.Node, Lowered] = {}
    for phase in (Phase.ACCUMULATE, Phase.UPDATE):
        in_passes.update(Passes(call for call in calls if call.op.phase is phase).lowered())
    return tuple(LoweredOp(call.op, in_passes.get(call.node) or _works_of(call)) for call in calls)


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
