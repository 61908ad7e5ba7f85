"""The program tree of a step as rows, for viewers that end at ops."""

from __future__ import annotations

from collections.abc import Sequence

from tremula.profile.frame_reader import Frame
from tremula.profile.model import ProgramNode


def step_nodes(programs: Frame) -> tuple[ProgramNode, ...]:
    """The nodes of the frame `programs` from the step down to its ops, parents before their children."""
    columns = ("parent", "repeats", "cycles", "op_id")
    numbers = zip(*(programs.column(name).tolist() for name in columns), strict=True)
    new: dict[int, int] = {}
    found: list[ProgramNode] = []
    for row, (kind, name, (parent, repeats, cycles, op)) in enumerate(
        zip(programs.column("kind"), programs.column("name"), numbers, strict=True)
    ):
        if kind == "leaf" or not (parent in new or (kind == "step" and not found)):
            continue
        new[row] = len(found)
        found.append(ProgramNode(len(found), new.get(parent, -1), kind, name, repeats, cycles, op))
    return tuple(found)


def children(rows: Sequence[ProgramNode]) -> list[list[int]]:
    """For each node of a program tree, the numbers of its children."""
    found: list[list[int]] = [[] for _ in rows]
    for row in rows:
        if row.parent_id >= 0:
            found[row.parent_id].append(row.id)
    return found
