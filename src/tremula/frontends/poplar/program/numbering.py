"""Numbers of the nodes of programs, so that executor and chip model speak of the same ones.

A program that stands in several places of a tree is a node in each. Sequences without a name that stand in another
sequence are taken apart, so trees are as deep as their control structures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from tremula.frontends.poplar.program.programs import Call, Program, Sequence_


@dataclass(eq=False)
class Node:
    """A program at its place in a tree."""

    id: int
    program: Program
    children: tuple[Node, ...] = ()


@dataclass(eq=False)
class Numbering:
    """The programs of an engine, and the functions that they call."""

    roots: list[Node]
    functions: dict[int, Node] = field(default_factory=dict)


def nodes(numbering: Numbering) -> Iterator[Node]:
    """All nodes of all programs and functions."""
    waiting = [*numbering.roots, *numbering.functions.values()]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)


def number(programs: Sequence[Program]) -> Numbering:
    """Number the nodes of all programs, and of the functions that they call."""
    ids = count()
    functions: dict[int, Node] = {}
    waiting: list[Call] = []

    def tree(root: Program) -> Node:
        top = Node(next(ids), root)
        open_nodes = [top]
        while open_nodes:
            node = open_nodes.pop()
            if isinstance(node.program, Call):
                waiting.append(node.program)
            node.children = tuple(Node(next(ids), child) for child in _children(node.program))
            open_nodes.extend(reversed(node.children))
        return top

    roots = [tree(root) for root in programs]
    while waiting:
        function = waiting.pop().function
        if function.number not in functions:
            functions[function.number] = tree(function.program)
    return Numbering(roots, functions)


def _children(program: Program) -> Sequence[Program]:
    if not isinstance(program, Sequence_):
        return program.children()
    found: list[Program] = []
    waiting = list(reversed(program.programs))
    while waiting:
        current = waiting.pop()
        if isinstance(current, Sequence_) and not current.name:
            waiting.extend(reversed(current.programs))
        else:
            found.append(current)
    return found
