"""From captured nodes to work: every node gets what becomes of it, none is left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tremula.frontends.tensorflow.capture.nodes import Node, Value
from tremula.frontends.tensorflow.rules import movement
from tremula.frontends.tensorflow.rules.call import Call, GraphFacts
from tremula.frontends.tensorflow.rules.constants import constants_of
from tremula.frontends.tensorflow.rules.duplicates import note_duplicates
from tremula.frontends.tensorflow.rules.fusion import Passes
from tremula.frontends.tensorflow.rules.handlers import rule_for
from tremula.frontends.tensorflow.rules.liveness import dead_nodes
from tremula.frontends.tensorflow.rules.patterns import note_patterns
from tremula.program.lowered import Lowered, LoweringSettings
from tremula.program.op import SourceLine

_PLAIN = LoweringSettings()


def lower(
    nodes: Sequence[Node],
    settings: LoweringSettings = _PLAIN,
    results: Collection[Value] | None = None,
) -> dict[Node, Lowered]:
    """What becomes of each of `nodes`.

    Args:
        nodes: the program, in the order in which it runs.
        settings: what the user's options say about work.
        results: values that the program gives back, and those that a loop carries to its next round. They stay in
            memory whatever else uses them, and what neither they nor an effect needs is left out. None: they are not
            known, and nothing is left out.
    """
    facts = GraphFacts(constants=constants_of(nodes), kept=set(results or ()))
    if results is not None:
        facts.dead = dead_nodes(nodes, results)
    note_duplicates(nodes, facts)
    note_patterns(nodes, facts)
    passes = Passes(nodes, facts)
    return {node: _lowered(node, settings, facts, passes) for node in nodes}


def _lowered(node: Node, settings: LoweringSettings, facts: GraphFacts, passes: Passes) -> Lowered:
    call = Call(node, settings, facts)
    if node in facts.constants:
        return movement.constant(call)
    if node in facts.dead:
        return call.lowered((), "hint", reads=(), stored=False)
    if len(node.outputs) == 1 and node.outputs[0] in facts.repeated:
        return call.lowered((), "view", reads=(), shares=(facts.repeated[node.outputs[0]].name,))
    product = facts.absorbed.get(node)
    if product is not None:
        return call.lowered((), "fused", reads=(), stored=False, fused_into=product.name)
    if node in facts.patterns:
        work, read = facts.patterns[node]
        return call.lowered((work,), reads=tuple(value.name for value in read))
    try:
        return passes.lower(node, settings) or rule_for(node.type)(call)
    except (IndexError, ValueError, ZeroDivisionError):
        return call.unknown()  # shapes that its rule does not expect, as of a node whose shape was not known


@dataclass(frozen=True)
class UnknownWork:
    """An op type that no planner knows, how often it occurs and where."""

    type: str
    count: int
    sources: tuple[SourceLine, ...]


def unknown_work(lowered: Mapping[Node, Lowered] | Iterable[tuple[Node, Lowered]]) -> tuple[UnknownWork, ...]:
    """All op types costed by the fallback, each once, in the order of the program."""
    pairs = lowered.items() if isinstance(lowered, Mapping) else lowered
    counts: dict[str, int] = {}
    sources: dict[str, dict[SourceLine, None]] = {}
    for node, each in pairs:
        if each.unknown:
            counts[node.type] = counts.get(node.type, 0) + 1
            if node.source is not None:
                sources.setdefault(node.type, {})[node.source] = None
    return tuple(UnknownWork(kind, n, tuple(sources.get(kind, ()))) for kind, n in counts.items())
