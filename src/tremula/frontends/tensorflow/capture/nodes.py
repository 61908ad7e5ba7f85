"""A captured program as plain nodes and values: no object of TensorFlow is in it.

Calls of functions are written in place, loops and branches too: their nodes know the loop or branch that they are in
(`Block`). Rules turn nodes into work (`rules/`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from tremula.program.op import Phase, SourceLine
from tremula.program.tensor import Role


@dataclass(eq=False, repr=False, slots=True)
class Variable:
    """A variable of the program; each replica has one."""

    name: str
    shape: tuple[int, ...]
    #: the device's name of its type
    dtype: str
    role: Role = Role.BUFFER
    #: path of the layer that it belongs to
    module: str = ""
    #: what ops read and write: all handles of the variable are this one value
    value: Value = field(init=False)

    def __post_init__(self) -> None:
        self.value = Value(self.name, self.shape, self.dtype, variable=self)

    def __repr__(self) -> str:
        return f"<Variable {self.name} {self.dtype}{list(self.shape)}>"


@dataclass(eq=False, repr=False, slots=True)
class Value:
    """A tensor. A resource handle of a variable is the variable's own value."""

    #: unique in the program
    name: str
    shape: tuple[int, ...]
    #: the device's name of its type
    dtype: str
    #: what computes it; None: it is there before the step begins
    node: Node | None = None
    users: list[Node] = field(default_factory=list)
    #: set if this is the variable itself, as its resource handle names it
    variable: Variable | None = None
    #: its content, where it is small and known: axes, shapes, permutations
    constant: NDArray[Any] | None = None
    elements: int = field(init=False)

    def __post_init__(self) -> None:
        self.elements = math.prod(self.shape)

    def __repr__(self) -> str:
        return f"<Value {self.name} {self.dtype}{list(self.shape)}>"


@dataclass(eq=False, repr=False, slots=True)
class Block:
    """The body of a loop, or one case of a branch, that nodes are in."""

    #: the block around it
    parent: Block | None
    #: how often a loop runs its body; a case of a branch has 1
    trips: int = 1
    #: whether the trips of the loop are not known: 1 is taken
    unknown_trips: bool = False
    #: of a branch: its name, and the number of the case
    branch: str | None = None
    case: int = 0
    #: of a branch: the value that chooses the case
    predicate: Value | None = None
    #: of a branch that an optimizer takes after so many iterations of the loop around it, to update the weights
    update_every: int | None = None


@dataclass(eq=False, repr=False, slots=True)
class Node:
    """One op of the traced graph."""

    #: unique in the program
    name: str
    #: TensorFlow's name of the op: MatMul, Conv2D, ResourceApplyAdam ...; see composites.py for types of our own
    type: str
    inputs: list[Value]
    outputs: list[Value]
    #: attributes by name as Python values: ints, floats, bools, texts, lists; types by the device's names
    attributes: Mapping[str, Any]
    #: what ops of this package noted on it (`ops/facts.py`), by name
    facts: Mapping[str, Any]
    phase: Phase = Phase.FORWARD
    #: path of the user's layer: encoder/dense_1
    module: str = ""
    source: SourceLine | None = None
    #: pipeline stage and IPU of the replica, if the program says so
    stage: int | None = None
    ipu: int | None = None
    block: Block | None = None

    def __repr__(self) -> str:
        return f"<Node {self.name} {self.type} of the {self.phase.value} phase>"

    @property
    def output(self) -> Value:
        """The first result."""
        return self.outputs[0]

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute of the op."""
        return self.attributes.get(name, default)
