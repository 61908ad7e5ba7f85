"""Blocks of a run: named parts of a placed program, and transfers with the host, with their begin and end.

A part is a block on every IPU whose tiles compute or exchange in it; where none does, on all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tremula.errors import Error
from tremula.placed.estimate import PlacedEstimate
from tremula.placed.phases import Leaf
from tremula.profile.program_types import ProgramType
from tremula.recording.placed_runs import Laid
from tremula.recording.placed_tree import PlacedTree

#: kinds of blocks
COMMON, STREAM_COPY = 0, 1
_STREAMS = (ProgramType.StreamCopyBegin, ProgramType.StreamCopyMid)
_Row = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class BlockFilter:
    """Which named parts of a program are recorded with begin and end; regular expressions, empty for none."""

    blocks: str = ""
    programs: str = ""
    stream_copies: bool = False

    def __post_init__(self) -> None:
        for text in (self.blocks, self.programs):
            try:
                re.compile(text)
            except re.error as problem:
                raise Error(
                    f"{text!r} is not a regular expression: {problem}.", type="profile_error"
                ) from None

    @property
    def any(self) -> bool:
        """Whether anything is recorded."""
        return bool(self.blocks or self.programs or self.stream_copies)


def block_rows(
    estimate: PlacedEstimate, tree: PlacedTree, laid: Laid, wanted: BlockFilter, begin: float
) -> dict[str, list[int]] | None:
    """Columns of the frame `blocks` for a run that starts at cycle `begin`; None if there are no blocks."""
    if not wanted.any:
        return None
    leaves = [estimate.leaves.get(node) for node in laid.nodes]
    ends = begin + np.cumsum([0.0, *(leaf.cycles if leaf is not None else 0.0 for leaf in leaves)])
    rows: list[_Row] = []
    for node, first, last in laid.blocks:
        row = tree.nodes.get(node, -1)
        if row >= 0 and wanted.blocks and re.match(wanted.blocks, tree.tree.name[row]):
            span = round(ends[first]), round(ends[last])
            rows += [(ipu, row, COMMON, *span) for ipu in _ipus(estimate, leaves[first:last])]
    for place, (node, leaf) in enumerate(zip(laid.nodes, leaves, strict=True)):
        row = tree.nodes.get(node, -1)
        if leaf is None or row < 0:
            continue
        if wanted.programs and re.match(wanted.programs, tree.tree.name[row]):
            span = round(ends[place]), round(ends[place + 1])
            rows += [(ipu, row, COMMON, *span) for ipu in _ipus(estimate, [leaf])]
        if wanted.stream_copies:
            rows += _streams(estimate, tree, leaf, ends[place])
    rows.sort(key=lambda each: (each[3], -each[4]))
    if not rows:
        return None
    names = ("ipu", "program", "kind", "start", "end")
    return dict(zip(names, (list(column) for column in zip(*rows, strict=True)), strict=True))


def _ipus(estimate: PlacedEstimate, leaves: Sequence[Leaf | None]) -> list[int]:
    per_ipu = estimate.hardware.chip.tiles
    found: set[int] = set()
    for leaf in leaves:
        for phase in leaf.phases if leaf is not None else ():
            found.update(np.unique(phase.tiles // per_ipu).tolist())
    return sorted(found) or list(range(estimate.hardware.ipus))


def _streams(estimate: PlacedEstimate, tree: PlacedTree, leaf: Leaf, begin: float) -> Iterator[_Row]:
    for phase, row in zip(leaf.phases, tree.phases.get(leaf.id, []), strict=False):
        if tree.tree.type[row] in _STREAMS:
            for ipu in range(estimate.hardware.ipus):
                yield ipu, row, STREAM_COPY, round(begin), round(begin + phase.cycles)
        begin += phase.cycles
