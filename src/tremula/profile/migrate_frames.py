"""Frames for files that were written before there were any: what follows from their tables.

The program tree is that of the old table, below a root as files have it today. Variables are the lifetimes that were
kept, with all else of each use of memory as one variable. There are no compute sets, vertices and execution steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.profile import model
from tremula.profile.contexts import contexts_of
from tremula.profile.program_types import ProgramType
from tremula.profile.pyramids import liveness_pyramid
from tremula.profile.rows import unpacked
from tremula.profile.variables import linear, on_tiles
from tremula.profile.writer import ProfileWriter, RowSink

_Rows = Mapping[type, Sequence[Any]]
_Ints = NDArray[np.int64]

_TYPES = {
    "repeat": ProgramType.Repeat,
    "collective": ProgramType.GlobalExchange,
    "copy": ProgramType.GlobalExchange,
    "streaming": ProgramType.StreamCopyMid,
    "host": ProgramType.StreamCopyMid,
    "call": ProgramType.Sync,
}
#: the use of memory whose variables are the lifetimes
_ACTIVATIONS = "activations"


def add_frames(sink: RowSink, rows: _Rows) -> None:
    """Add the frames that follow from the rows of a file; raises ValueError if an array of the file is damaged."""
    contexts = contexts_of(rows[model.Op], "")
    sink.frame("contexts").add(contexts.columns)
    add_programs(sink, rows[model.ProgramNode], contexts.of_op)
    for row in rows[model.Liveness]:
        both = unpacked(row.live_bytes, row.steps) + unpacked(row.temporary_bytes, row.steps)
        for level in liveness_pyramid(row.ipu, np.clip(both, 0, 2**51)):
            sink.frame("liveness_pyramid").add(level)
    for ipu in rows[model.IpuMemory]:
        _variables(sink, rows, ipu)


def add_programs(
    sink: RowSink | ProfileWriter, nodes: Sequence[model.ProgramNode], contexts: Sequence[int]
) -> None:
    """Add a program tree down to its ops; `contexts` are those of the ops."""
    if not nodes:
        return
    around = [(-1, ProgramType.OnEveryTileSwitch, "switch", "program"),
              (0, ProgramType.Sequence, "upload", "weights to the device")]  # fmt: skip
    shift = len(around)
    count = len(nodes)
    below = [max(-1, node.op_id) for node in nodes]
    sink.frame("programs").add(
        {
            # a parent that is none is refused when the frame is read
            "parent": [each[0] for each in around]
            + [0 if n.parent_id < 0 else n.parent_id + shift for n in nodes],
            "type": [each[1] for each in around] + [_TYPES.get(n.kind, ProgramType.Sequence) for n in nodes],
            "kind": [each[2] for each in around] + [n.kind for n in nodes],
            "name": [each[3] for each in around] + [n.name for n in nodes],
            "repeats": [1] * shift + [n.repeats for n in nodes],
            "cycles": [0.0] * shift + [n.cycles for n in nodes],
            "op_id": [-1] * shift + below,
            "compute_set": [-1] * (shift + count),
            "context": [-1] * shift + [contexts[op] if 0 <= op < len(contexts) else -1 for op in below],
            "code_bytes": 0,
        }
    )


def _variables(sink: RowSink, rows: _Rows, ipu: model.IpuMemory) -> None:
    tiles = rows[model.Target][0].tiles_per_ipu if rows[model.Target] else 0
    if not 0 < tiles <= 65_536:
        return
    names = {category.id: category.name for category in rows[model.Category]}
    always = {category.id: category.always_live for category in rows[model.Category]}
    for memory in rows[model.TileMemory]:
        if memory.ipu != ipu.ipu or memory.tiles != tiles or memory.category_id not in names:
            continue
        taken = np.zeros(tiles, dtype=np.int64)
        if names[memory.category_id] == _ACTIVATIONS:
            taken = _lifetimes(sink, rows, ipu, memory, tiles)
        left = memory.total_bytes - int(taken.sum())
        if left <= 0:
            continue
        lasting = always[memory.category_id]
        moment = -1 if lasting else ipu.peak_step
        whole = not taken.any()
        sink.frame("variables").add(
            _columns(
                name=names[memory.category_id] if whole else "(others)", module="", category=memory.category_id,
                ipu=ipu.ipu, bytes=left, always_live=lasting, first_step=moment, last_step=moment,
                tiles=tiles, tile_bytes=-1,
            )
        )  # fmt: skip


def _lifetimes(
    sink: RowSink, rows: _Rows, ipu: model.IpuMemory, memory: model.TileMemory, tiles: int
) -> _Ints:
    """Add the lifetimes of an IPU as variables, if they lie as files of that time had it; their bytes on tiles."""
    none = np.zeros(tiles, dtype=np.int64)
    mine = [each for each in rows[model.Lifetime] if each.ipu == ipu.ipu and each.bytes <= 2**40]
    if not mine:
        return none
    io_tiles = [o.value for o in rows[model.Option] if (o.section, o.name) == ("deployment", "io_tiles")]
    usable = tiles - (int(io_tiles[0]) if io_tiles and io_tiles[0].isdecimal() else 0)
    if usable <= 0:
        return none
    sizes = np.array([each.bytes for each in mine], dtype=np.int64)
    count, share = linear(sizes, usable)
    alive = np.array([each.first_step <= ipu.peak_step <= each.last_step for each in mine])
    taken = on_tiles(np.zeros(int(alive.sum()), np.int64), count[alive], share[alive], sizes[alive], tiles)
    if bool(np.any(taken > unpacked(memory.bytes_per_tile, tiles))):
        return none
    sink.frame("variables").add(
        _columns(
            name=[each.name for each in mine], module=[each.module for each in mine], category=memory.category_id,
            ipu=ipu.ipu, bytes=sizes, always_live=0, first_step=[each.first_step for each in mine],
            last_step=[each.last_step for each in mine], tiles=count, tile_bytes=share,
        )
    )  # fmt: skip
    return taken


def _columns(**columns: Any) -> dict[str, Any]:
    return {"op_id": -1, "first_tile": 0, **columns}
