"""When variables are alive: positions of leaves in program order, and from which to which a variable holds values.

A variable that is always live takes its place for the whole run. Another one begins with the first leaf that writes it
and ends with the last that reads it. In a loop, what is read at its start and written later in its body is alive in
the whole loop; a variable that is used both inside and outside of a loop is alive in all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tremula.program.placed import Ints, PlacedProgram, Runs
from tremula.program.placed_steps import (
    Call,
    Execute,
    Repeat,
    RunCopy,
    RunLibrary,
    RunTransfer,
    Step,
    While,
    children,
)


@dataclass(frozen=True, eq=False)
class Order:
    """Leaves in program order, functions where they are called first."""

    #: number of the node of each position
    nodes: tuple[int, ...]
    #: first and last position of each loop
    loops: tuple[tuple[int, int], ...]
    #: first and last position of each function that is called more than once
    functions: tuple[tuple[int, int], ...]
    position: Mapping[int, int]


def order_of(program: PlacedProgram) -> Order:
    """The leaves of all programs in order."""
    nodes: list[int] = []
    loops: list[tuple[int, int]] = []
    calls: dict[str, int] = {}
    spans: dict[str, tuple[int, int]] = {}

    def enter(step: Step) -> None:
        first = len(nodes)
        if isinstance(step, Call):
            calls[step.function] = calls.get(step.function, 0) + 1
            if step.function not in spans:
                spans[step.function] = (first, first)
                enter(program.functions[step.function])
                spans[step.function] = (first, len(nodes) - 1)
            return
        below = children(step)
        if not below:
            nodes.append(step.id)
        for each in below:
            enter(each)
        if isinstance(step, (Repeat, While)) and len(nodes) > first:
            loops.append((first, len(nodes) - 1))

    for root in program.programs:
        enter(root)
    several = tuple(
        spans[name] for name, count in calls.items() if count > 1 and spans[name][1] >= spans[name][0]
    )
    position = {node: number for number, node in enumerate(nodes)}
    return Order(tuple(nodes), tuple(loops), several, position)


@dataclass(frozen=True, eq=False)
class Lifetimes:
    """First and last position at which each variable is alive; -1 and -1 for those that are never used."""

    first: Ints
    last: Ints
    #: those that are there for the whole run
    always: Ints


def lifetimes_of(program: PlacedProgram, order: Order) -> Lifetimes:
    """The lifetimes of all variables."""
    variables = program.variables
    count = variables.count
    first, last = np.full(count, -1, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    touched = _Touched(program)
    for root in (*program.programs, *program.functions.values()):
        for step in _leaves(root):
            place = order.position.get(step.id)
            mine = touched.of(step)
            if place is None or not len(mine):
                continue
            new = mine[first[mine] < 0]
            first[new] = last[new] = place
            first[mine] = np.minimum(first[mine], place)
            last[mine] = np.maximum(last[mine], place)
    used = first >= 0
    for begin, end in (*order.loops, *order.functions):
        # alive before or after the loop, and used in it: alive in all of it
        inside = used & (first <= end) & (last >= begin)
        outer = inside & ((first < begin) | (last > end))
        first[outer] = np.minimum(first[outer], begin)
        last[outer] = np.maximum(last[outer], end)
    always = np.flatnonzero(variables.always_live | variables.constant | (~used))
    return Lifetimes(first, last, always)


def _leaves(root: Step) -> list[Step]:
    found: list[Step] = []
    waiting = [root]
    while waiting:
        step = waiting.pop()
        below = children(step)
        if below:
            waiting.extend(reversed(below))
        elif not isinstance(step, Call):
            found.append(step)
    return found


class _Touched:
    """The variables that a leaf reads or writes."""

    def __init__(self, program: PlacedProgram) -> None:
        self._program = program
        self._known: dict[tuple[type, int], Ints] = {}

    def of(self, step: Step) -> Ints:
        program = self._program
        match step:
            case Execute(_, number):
                runs = [f.runs for b in program.compute_sets[number].batches for f in b.fields]
            case RunCopy(_, number):
                runs = [program.copies[number].source, program.copies[number].target]
            case RunTransfer(_, number):
                runs = [program.transfers[number].elements]
            case RunLibrary(_, number):
                runs = list(program.libraries[number].operands)
            case _:
                return np.zeros(0, dtype=np.int64)
        key = (type(step), number)
        if key not in self._known:
            self._known[key] = self._variables(runs)
        return self._known[key]

    def _variables(self, runs: list[Runs]) -> Ints:
        starts = [each.start[each.count > 0] for each in runs]
        element = np.concatenate([np.zeros(0, dtype=np.int64), *starts])
        variables = self._program.variables
        filled = np.flatnonzero(variables.elements)
        if not len(filled) or not len(element):
            return np.zeros(0, dtype=np.int64)
        at = np.searchsorted(variables.first[filled], element, side="right") - 1
        return np.asarray(np.unique(filled[at]))
