"""The control tree of a placed program.

Every node has a number of its own, so that who runs the program can say how often each ran. Leaves name compute sets,
copies, transfers and library functions by their position in the program. A node below a call exists once, however many
calls there are: its executions are those of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Execute:
    """Run a compute set."""

    id: int
    compute_set: int


@dataclass(frozen=True)
class RunCopy:
    """Do a copy between elements of the device."""

    id: int
    copy: int


@dataclass(frozen=True)
class RunTransfer:
    """Do a transfer with the host or a remote buffer."""

    id: int
    transfer: int


@dataclass(frozen=True)
class RunLibrary:
    """Run a library function."""

    id: int
    library: int


@dataclass(frozen=True)
class Sync:
    """All tiles wait for each other; with `external`, for other IPUs or the host too."""

    id: int
    external: bool = False
    name: str = ""


@dataclass(frozen=True)
class Free:
    """A step that takes no time on the device, such as WriteUndef; `name` says what it is."""

    id: int
    name: str


@dataclass(frozen=True)
class Steps:
    """Run all steps, one after the other; with a name it is a block that profiles show."""

    id: int
    steps: tuple[Step, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Repeat:
    """Run the body `count` times."""

    id: int
    count: int
    body: Step


@dataclass(frozen=True)
class While:
    """Run `condition`, then, as long as it says so, the body and the condition again."""

    id: int
    condition: Step
    body: Step
    #: element that holds the predicate; -1: not known
    predicate: int = -1


@dataclass(frozen=True)
class Branch:
    """Run one of the cases: If has two, of which the first is for true; Switch has one for each value, default last."""

    id: int
    cases: tuple[Step, ...]
    predicate: int = -1


@dataclass(frozen=True)
class Call:
    """Run a function of the program."""

    id: int
    function: str


Leaf = Execute | RunCopy | RunTransfer | RunLibrary | Sync | Free
Step = Leaf | Steps | Repeat | While | Branch | Call


def children(step: Step) -> tuple[Step, ...]:
    """What is directly below `step`; what a call runs is not."""
    match step:
        case Steps(_, steps):
            return steps
        case Repeat(_, _, body):
            return (body,)
        case While(_, condition, body):
            return (condition, body)
        case Branch(_, cases):
            return cases
    return ()


def walk(step: Step) -> Iterator[Step]:
    """`step` and all that is below it, parents first; what a call runs is not entered."""
    waiting = [step]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(children(current)))


def executions(
    root: Step, functions: Mapping[str, Step], measured: Mapping[int, int] | None = None
) -> dict[int, int]:
    """How often each node runs in one run of `root`.

    Where `measured` has a node, that counts, for all calls together. A loop that nobody measured runs its body once; of
    the cases of a branch the first runs.
    """
    found: dict[int, int] = {}
    known = measured or {}
    calls: dict[str, int] = {}

    def count(top: Step, runs: int) -> None:
        waiting = [(top, runs)]
        while waiting:
            step, times = waiting.pop()
            times = found[step.id] = known.get(step.id, times)
            match step:
                case Repeat(_, turns, body):
                    waiting.append((body, times * turns))
                case While(_, condition, body):
                    waiting += [(condition, 2 * times), (body, times)]
                case Branch(_, cases):
                    waiting += [(case, 0 if number else times) for number, case in enumerate(cases)]
                case Call(_, function):
                    calls[function] = calls.get(function, 0) + times
                case _:
                    waiting += [(child, times) for child in children(step)]

    count(root, 1)
    for name in called(root, functions):
        count(functions[name], calls.get(name, 0))
    return found


def called(root: Step, functions: Mapping[str, Step]) -> Sequence[str]:
    """The functions that `root` calls, directly or not: each after all that call it."""
    order: list[str] = []
    done: set[str] = set()

    def enter(step: Step) -> None:
        for each in walk(step):
            if isinstance(each, Call) and each.function not in done:
                done.add(each.function)
                enter(functions[each.function])
                order.append(each.function)

    enter(root)
    return order[::-1]


def in_order(root: Step, functions: Mapping[str, Step]) -> Sequence[Step]:
    """All nodes in program order, those of functions once, where they are called first."""
    found: list[Step] = []
    entered: set[str] = set()
    waiting = [root]
    while waiting:
        current = waiting.pop()
        found.append(current)
        if isinstance(current, Call):
            if current.function not in entered:
                entered.add(current.function)
                waiting.append(functions[current.function])
        else:
            waiting.extend(reversed(children(current)))
    return found
