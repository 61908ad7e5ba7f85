"""The code of a compute function as a small tree: what all ways of executing it, and the cost model, read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass


@dataclass(frozen=True)
class Const:
    """A number that is known."""

    value: bool | int | float


@dataclass(frozen=True)
class Local:
    """A local variable."""

    name: str


@dataclass(frozen=True)
class Scalar:
    """A plain member, or a field of one element."""

    field: str


@dataclass(frozen=True)
class Item:
    """One element of a vector; of a list, `row` chooses the vector."""

    field: str
    index: Expr
    row: Expr | None = None


@dataclass(frozen=True)
class Span:
    """Several elements of a vector: from `begin` to `end`, `step` apart."""

    field: str
    begin: Expr
    end: Expr | None
    step: Expr
    row: Expr | None = None


@dataclass(frozen=True)
class Size:
    """How many elements a vector has, or how many vectors a list."""

    field: str
    row: Expr | None = None


@dataclass(frozen=True)
class Worker:
    """The number of the worker of a MultiVertex."""


@dataclass(frozen=True)
class Workers:
    """How many workers a MultiVertex has."""


@dataclass(frozen=True)
class Unary:
    """`-a`, `+a`, `~a` or `not a`."""

    op: str
    value: Expr


@dataclass(frozen=True)
class Binary:
    """Arithmetic, or a comparison, of two values."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Logic:
    """`and` or `or`."""

    op: str
    parts: tuple[Expr, ...]


@dataclass(frozen=True)
class Choice:
    """`yes if test else no`."""

    test: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True)
class Call:
    """A function of numbers, by the name in `functions.TABLE`."""

    name: str
    parts: tuple[Expr, ...]


@dataclass(frozen=True)
class Reduce:
    """`sum`, `min`, `max` or `prod` of an expression of spans."""

    op: str
    value: Expr


Expr = (
    Const
    | Local
    | Scalar
    | Item
    | Span
    | Size
    | Worker
    | Workers
    | Unary
    | Binary
    | Logic
    | Choice
    | Call
    | Reduce
)


@dataclass(frozen=True)
class Assign:
    """`target = value`."""

    line: int
    target: Local | Scalar | Item | Span
    value: Expr


@dataclass(frozen=True)
class If:
    """A branch."""

    line: int
    test: Expr
    yes: tuple[Stmt, ...]
    no: tuple[Stmt, ...]


@dataclass(frozen=True)
class For:
    """`for variable in range(start, stop, step)`."""

    line: int
    variable: str
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class While:
    """A loop with a condition."""

    line: int
    test: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Leave:
    """`break`, `continue` or `return`; what is returned says whether the vertex agrees."""

    line: int
    how: str
    value: Expr = Const(True)


Stmt = Assign | If | For | While | Leave
Body = tuple[Stmt, ...]
Node = Expr | Stmt


@dataclass(frozen=True)
class Function:
    """A compute function."""

    body: Body
    file: str
    line: int
    worker: str = ""  #: name of the argument of a MultiVertex


def walk(node: Node | Body) -> Iterator[Node]:
    """All nodes at and below, parents first."""
    waiting: list[object] = [*reversed(node)] if isinstance(node, tuple) else [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, tuple):
            waiting.extend(reversed(current))
        elif is_dataclass(current):
            yield current  # type: ignore[misc]
            waiting.extend(reversed([getattr(current, each.name) for each in fields(current)]))


def has_spans(node: Expr) -> bool:
    """Whether an expression has several values."""
    if isinstance(node, Reduce):
        return False
    if isinstance(node, Span):
        return True
    if isinstance(node, Unary):
        return has_spans(node.value)
    if isinstance(node, Binary):
        return has_spans(node.left) or has_spans(node.right)
    if isinstance(node, Choice):
        return any(map(has_spans, (node.test, node.yes, node.no)))
    if isinstance(node, Logic | Call):
        return any(map(has_spans, node.parts))
    return False
