"""What an engine has run, as the chip model is told it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ProgramRun:
    """One run of one program: how often each node of it and of its functions ran, by the number of the node.

    Replicas that take different ways through a program are counted together: a node counts once where at least one of
    them runs it.
    """

    program: int
    name: str
    executions: Mapping[int, int]
