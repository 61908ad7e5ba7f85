"""One operation of a program: what it does, to which tensors, where it runs and which line of the user's wrote it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tremula.program.work import Work

#: shared by all ops without attributes
NO_ATTRIBUTES: Mapping[str, Any] = MappingProxyType({})
#: the attribute of forward ops that the user marked to run again for the backward pass
RUNS_AGAIN = "runs_again"


class Phase(enum.Enum):
    """The part of a step that an op belongs to, in the order in which they run."""

    FORWARD = "forward"
    BACKWARD = "backward"
    ACCUMULATE = "accumulate"
    UPDATE = "update"


@dataclass(frozen=True)
class SourceLine:
    """A line of the user's program."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


@dataclass(frozen=True)
class Placement:
    """Where an op runs. `block` is the user's id of the block, None before the first."""

    ipu: int = 0
    stage: int = 0
    phase: int = 0
    block: str | None = None


@dataclass(slots=True)
class Op:
    """An op with its work. `stage` counts pipeline stages after differentiation: backward ones follow."""

    name: str
    #: what its framework calls it
    kind: str
    phase: Phase
    works: tuple[Work, ...]
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    ipu: int = 0
    stage: int = 0
    #: execution phase of the phased modes
    execution_phase: int = 0
    scope: tuple[str, ...] = ()
    #: dotted path of the user's module
    module: str = ""
    source: SourceLine | None = None
    #: whether the user marked the result as one to keep instead of computing it again
    checkpoint: bool = False
    #: whether no planner knows the op
    unknown: bool = False
    #: whether the host does it while the device waits
    host: bool = False
    #: number of the parameter that an op of accumulation or update belongs to; -1: none
    owner: int = -1
    #: what else the front end noted: plain numbers, texts and lists of them
    attributes: Mapping[str, Any] = field(default_factory=lambda: NO_ATTRIBUTES)
