"""Arithmetic on single numbers that a program writes several times: XLA computes it once.

Keras computes the same learning rate, powers of decays and corrections for every variable that it updates. A node that
does to the same numbers what an earlier one of the same phase, block, stage and IPU did is that node again. Reads of a
variable give the same number as long as nothing writes the variable in between.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from tremula.frontends.tensorflow.capture.nodes import Node, Value
from tremula.frontends.tensorflow.rules.aliases import ALIASES
from tremula.frontends.tensorflow.rules.call import GraphFacts
from tremula.frontends.tensorflow.rules.elementwise import is_elementwise


def note_duplicates(nodes: Iterable[Node], facts: GraphFacts) -> None:
    """Note every repeated node in `facts`."""
    search = _Search(facts)
    for node in nodes:
        search.add(node)


class _Search:
    """One walk over the nodes in order."""

    def __init__(self, facts: GraphFacts) -> None:
        self._facts = facts
        #: how often each variable has been written so far
        self._written: dict[Value, int] = {}
        #: what stands for the content of a value of one element
        self._content: dict[Value, Hashable] = {}
        self._first: dict[Hashable, Node] = {}

    def add(self, node: Node) -> None:
        """The next node."""
        if node in self._facts.constants or node in self._facts.dead:
            return
        if node.type in ALIASES and len(node.inputs) == len(node.outputs) == 1:
            if node.outputs[0].elements == 1:
                self._content[node.outputs[0]] = self._content_of(node.inputs[0])
            return
        if is_elementwise(node) and node.outputs[0].elements == 1 and _of_numbers(node):
            self._compare(node)
            return
        for value in node.inputs:
            if value.variable is not None:
                self._written[value] = self._written.get(value, 0) + 1

    def _compare(self, node: Node) -> None:
        made = node.outputs[0]
        key = (
            node.type,
            tuple(self._content_of(value) for value in node.inputs),
            (made.shape, made.dtype),
            (node.phase, node.block, node.stage, node.ipu),
        )
        first = self._first.setdefault(key, node)
        if first is not node:
            self._facts.repeat(node, first)
            self._content[made] = first.outputs[0]

    def _content_of(self, value: Value) -> Hashable:
        known = self._content.get(value)
        if known is not None:
            return known
        if value.variable is not None:
            return value, self._written.get(value, 0)
        if value.constant is not None and self._facts.is_constant(value):
            return value.dtype, value.constant.dtype.str, value.constant.tobytes()
        return value


def _of_numbers(node: Node) -> bool:
    return all(value.elements == 1 for value in node.inputs)
