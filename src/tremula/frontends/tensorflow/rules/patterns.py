"""Several nodes that the device's libraries have as one op.

TensorFlow writes the gradient of a softmax as (g - sum(g * s)) * s, four nodes. Where all of them are there and nothing
else reads what is in between, the last one stands for popnn's gradient of a softmax.
"""

from __future__ import annotations

from collections.abc import Iterable

from tremula.frontends.tensorflow.capture.nodes import Node, Value
from tremula.frontends.tensorflow.rules.aliases import behind_aliases
from tremula.frontends.tensorflow.rules.call import GraphFacts
from tremula.lowering.norms import softmax

_SOFTMAX = frozenset({"Softmax", "tremula.Softmax"})


def note_patterns(nodes: Iterable[Node], facts: GraphFacts) -> None:
    """Note every pattern in `facts`."""
    for node in nodes:
        if (
            node.type == "Sub"
            and len(node.inputs) == 2
            and node not in facts.dead
            and node not in facts.constants
        ):
            _softmax_gradient(node, facts)


def _softmax_gradient(difference: Node, facts: GraphFacts) -> None:
    gradient, total = difference.inputs
    product = _only_user(difference.output, "Mul", facts)
    summing = _maker(total, "Sum")
    if product is None or summing is None or _only_user(summing.output, "Sub", facts) is not difference:
        return
    weighted = _maker(summing.inputs[0], "Mul")
    if weighted is None or _only_user(weighted.output, "Sum", facts) is not summing:
        return
    probabilities = _other(product, difference.output)
    if probabilities is None or not _is_softmax(probabilities, facts):
        return
    if {behind_aliases(v, facts) for v in weighted.inputs} != {
        behind_aliases(gradient, facts),
        behind_aliases(probabilities, facts),
    }:
        return
    work = softmax(facts.operand(probabilities), gradient=True)
    facts.patterns[product] = (work, (gradient, probabilities))
    for node in (weighted, summing, difference):
        facts.absorbed[node] = product


def _only_user(value: Value, kind: str, facts: GraphFacts) -> Node | None:
    users = facts.users(value)
    if len(users) != 1 or value in facts.kept or users[0].type != kind:
        return None
    return users[0]


def _maker(value: Value, kind: str) -> Node | None:
    return value.node if value.node is not None and value.node.type == kind else None


def _other(node: Node, known: Value) -> Value | None:
    others = [value for value in node.inputs if value is not known]
    return others[0] if len(others) == 1 else None


def _is_softmax(value: Value, facts: GraphFacts) -> bool:
    source = behind_aliases(value, facts)
    return source.node is not None and source.node.type in _SOFTMAX
