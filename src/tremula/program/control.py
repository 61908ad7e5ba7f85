"""The control tree of a program: in which order and how often its ops run.

Programs captured from a training step have none: their ops run in the order of the list. Poplar programs and TensorFlow
loops have one. Leaves name ops and tensors by number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Execute:
    """Run one op."""

    op: int


@dataclass(frozen=True)
class CopyTensor:
    """Copy one tensor into another of the same size."""

    source: int
    target: int


@dataclass(frozen=True)
class Call:
    """Run a function of the program."""

    function: str


@dataclass(frozen=True)
class Sequence:
    """Run all steps, one after the other."""

    steps: tuple[Control, ...] = ()


@dataclass(frozen=True)
class Repeat:
    """Run the body `count` times."""

    count: int
    body: Control


@dataclass(frozen=True)
class While:
    """Run `condition`, then, as long as `predicate` is true, the body and the condition again."""

    predicate: int
    condition: Control
    body: Control
    #: how often the body is expected to run, if anything is known about it
    expected: int | None = None


@dataclass(frozen=True)
class Branch:
    """Run one of the cases, chosen by the value of `predicate`; 0 and 1 are false and true."""

    predicate: int
    cases: tuple[Control, ...]


Control = Execute | CopyTensor | Call | Sequence | Repeat | While | Branch


def children(node: Control) -> tuple[Control, ...]:
    """What is directly below `node`; what a call runs is not."""
    match node:
        case Sequence(steps):
            return steps
        case Repeat(_, body):
            return (body,)
        case While(_, condition, body):
            return (condition, body)
        case Branch(_, cases):
            return cases
    return ()


def walk(node: Control) -> Iterator[Control]:
    """`node` and all that is below it, parents first; what a call runs is not entered."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(children(current)))


def renumbered(node: Control, numbers: Mapping[int, int]) -> Control:
    """`node` with other numbers of ops; those without a number are left out."""
    match node:
        case Sequence(steps):
            kept = [step for step in steps if not isinstance(step, Execute) or step.op in numbers]
            return Sequence(tuple(renumbered(step, numbers) for step in kept))
        case Execute(op):
            return Execute(numbers[op]) if op in numbers else Sequence()
        case Repeat(count, body):
            return Repeat(count, renumbered(body, numbers))
        case While(predicate, condition, body, expected):
            return While(predicate, renumbered(condition, numbers), renumbered(body, numbers), expected)
        case Branch(predicate, cases):
            return Branch(predicate, tuple(renumbered(case, numbers) for case in cases))
    return node


def op_runs(
    root: Control, functions: Mapping[str, Control], cost: Callable[[int], float] = lambda _op: 1.0
) -> dict[int, int]:
    """How often each op runs in one run of `root`.

    A loop whose count is not known counts once. Of the cases of a branch the costliest counts.

    Args:
        root: the control tree.
        functions: what its calls run.
        cost: of one run of an op.
    """
    known: dict[str, dict[int, int]] = {}

    def runs(node: Control) -> dict[int, int]:
        match node:
            case Execute(op):
                return {op: 1}
            case CopyTensor():
                return {}
            case Call(function):
                if function not in known:
                    known[function] = runs(functions[function])
                return known[function]
            case Repeat(count, body):
                return {op: count * times for op, times in runs(body).items()}
            case While(_, condition, body, expected):
                turns = 1 if expected is None else expected
                return _summed([(runs(condition), turns + 1), (runs(body), turns)])
            case Branch(_, cases):
                return max(
                    (runs(case) for case in cases),
                    key=lambda each: sum(cost(op) * times for op, times in each.items()),
                    default={},
                )
            case Sequence(steps):
                return _summed([(runs(step), 1) for step in steps])

    return runs(root)


def _summed(parts: list[tuple[dict[int, int], int]]) -> dict[int, int]:
    total: dict[int, int] = {}
    for counted, times in parts:
        for op, count in counted.items():
            total[op] = total.get(op, 0) + count * times
    return total
