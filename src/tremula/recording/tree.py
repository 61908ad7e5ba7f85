"""Builds the rows of a program tree, parents before their children."""

from __future__ import annotations

from typing import Any

from tremula.profile.program_types import ProgramType

_STREAM = (ProgramType.StreamCopyBegin, ProgramType.StreamCopyMid, ProgramType.StreamCopyEnd)


class Tree:
    """Columns of the frame `programs`."""

    def __init__(self) -> None:
        self.parent: list[int] = []
        self.type: list[int] = []
        self.kind: list[str] = []
        self.name: list[str] = []
        self.repeats: list[int] = []
        self.cycles: list[float] = []
        self.op_id: list[int] = []
        self.compute_set: list[int] = []
        self.context: list[int] = []

    def __len__(self) -> int:
        return len(self.parent)

    def add(
        self,
        parent: int,
        type: ProgramType,
        kind: str,
        name: str,
        cycles: float,
        *,
        repeats: int = 1,
        op: int = -1,
        context: int = -1,
    ) -> int:
        """A node; its row."""
        self.parent.append(parent)
        self.type.append(type)
        self.kind.append(kind)
        self.name.append(name)
        self.repeats.append(repeats)
        self.cycles.append(cycles)
        self.op_id.append(op)
        self.compute_set.append(-1)
        self.context.append(context)
        return len(self.parent) - 1

    def add_stream(self, parent: int, name: str, cycles: float) -> int:
        """A stream copy as three leaves: all of its time is in the middle one; the row of the first."""
        begin, middle, end = _STREAM
        row = self.add(parent, begin, "leaf", name, 0.0)
        self.add(parent, middle, "leaf", name, cycles)
        self.add(parent, end, "leaf", name, 0.0)
        return row

    def add_leaves(
        self,
        parent: int,
        types: list[int],
        names: list[str],
        repeats: list[int],
        cycles: list[float],
        op: int,
        compute_sets: list[int],
        context: int,
    ) -> None:
        """The leaves of an op."""
        count = len(types)
        self.parent += [parent] * count
        self.type += types
        self.kind += ["leaf"] * count
        self.name += names
        self.repeats += repeats
        self.cycles += cycles
        self.op_id += [op] * count
        self.compute_set += compute_sets
        self.context += [context] * count

    def columns(self) -> dict[str, Any]:
        """All of them, but for the sizes of code."""
        return dict(vars(self))
