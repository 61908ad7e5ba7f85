"""Variables with their lifetimes and tiles, as the memory report has them.

Tensors lie as the memory model lays them out. What is not a tensor (code, state of vertices, gaps) is one variable of
each IPU, which has on every tile what the report says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.estimate.estimate import Estimate
from tremula.memory.categories import Category
from tremula.memory.fit import lasting_tensors
from tremula.memory.liveness import Lifetime
from tremula.memory.report import IpuMemory
from tremula.profile.frame_writer import FrameSink
from tremula.profile.frames import FRAMES
from tremula.profile.variables import linear
from tremula.program.tensor import Tensor

Ints = NDArray[np.int64]

_NAMES = (
    "name",
    "module",
    "category",
    "bytes",
    "first_step",
    "last_step",
    "op_id",
    "first_tile",
    "tiles",
    "tile_bytes",
)
_Row = tuple[str, str, int, int, int, int, int, int, int, int]
_NUMBERS = {category: number for number, category in enumerate(Category)}
#: uses whose bytes are those of tensors, or of one size on every tile
_REST = (
    Category.VERTEX_CODE, Category.VERTEX_STATE, Category.EXCHANGE_CODE, Category.CONTROL_CODE, Category.GAPS
)  # fmt: skip


class VariableRecorder:
    """Finds the variables of each IPU."""

    def __init__(self, estimate: Estimate, op_rows: Sequence[int], used: Ints) -> None:
        """`used`: tiles that the op of each program step uses."""
        self._estimate = estimate
        self._op_rows = op_rows
        self._used = used
        self._tiles = estimate.chip.tiles
        self._usable = estimate.chip.tiles - estimate.deployment.io_tiles
        self._lifetimes: dict[int, list[Lifetime]] = defaultdict(list)
        for each in estimate.memory.liveness.lifetimes:
            if each.last >= each.first:
                self._lifetimes[each.ipu].append(each)
        self._lasting = lasting_tensors(estimate.program, estimate.deployment)

    def write(self, frame: FrameSink, most: int = FRAMES["variables"].most_rows) -> None:
        """All variables; where there are more than `most`, the largest of each IPU."""
        ipus = self._estimate.memory.ipus
        for ipu in ipus:
            rows = self._rows(ipu)
            room = most // len(ipus) - len(Category)
            if len(rows) > room:
                rows.sort(key=lambda row: row[3], reverse=True)
                rows = rows[: max(0, room)]
            rows += self._rests(ipu, rows)
            columns: dict[str, Any] = dict(zip(_NAMES, zip(*rows, strict=True), strict=True)) if rows else {}
            if columns:
                always = [int(list(Category)[number].always_live) for number in columns["category"]]
                frame.add({**{k: list(v) for k, v in columns.items()}, "ipu": ipu.ipu, "always_live": always})

    def _rows(self, ipu: IpuMemory) -> list[_Row]:
        estimate = self._estimate
        tensors = estimate.program.tensors
        listed: list[tuple[Tensor, Category, int, int, int]] = []
        for number, category, size in self._lasting.get(ipu.ipu, ()):
            listed.append((tensors[number], category, size, -1, -1))
        for storage, size in estimate.memory.liveness.stashes.get(ipu.ipu, {}).items():
            listed.append((tensors[storage], Category.STASHES, size, -1, -1))
        listed += [
            (tensors[each.storage], Category.ACTIVATIONS, each.bytes, each.first, each.last)
            for each in self._lifetimes[ipu.ipu]
        ]
        rows = self._placed(listed, self._usable, 0)
        rows += self._io_buffers(ipu)
        rows += self._temporaries(ipu)
        stacks = ipu.tiles.get(Category.STACKS)
        if stacks is not None and stacks.any():
            number = _NUMBERS[Category.STACKS]
            rows.append(
                ("stacks of supervisor and workers", "", number, int(stacks.sum()), -1, -1, -1, 0, len(stacks),
                 int(stacks[0]))
            )  # fmt: skip
        return rows

    def _placed(
        self, listed: Sequence[tuple[Tensor, Category, int, int, int]], tiles: int, first: int
    ) -> list[_Row]:
        sizes = np.array([each[2] for each in listed], dtype=np.int64)
        count, share = linear(sizes, tiles)
        return [
            (tensor.name, tensor.module or ".".join(tensor.scope), _NUMBERS[category], size, begin, end,
             self._op_rows[tensor.producer] if tensor.producer >= 0 else -1, first, spread, bytes_on)
            for (tensor, category, size, begin, end), spread, bytes_on in zip(
                listed, count.tolist(), share.tolist(), strict=True
            )
        ]  # fmt: skip

    def _io_buffers(self, ipu: IpuMemory) -> list[_Row]:
        program, deployment = self._estimate.program, self._estimate.deployment
        if deployment.synthetic_data:
            return []
        mine = [
            (program.tensors[n], Category.IO_BUFFERS, program.tensors[n].bytes, -1, -1)
            for n in (*program.inputs, *program.outputs)
            if program.tensors[n].ipu == ipu.ipu
        ]
        rows = self._placed(mine, self._usable, 0)
        if deployment.overlap_io and deployment.io_tiles:
            rows += self._placed(mine, deployment.io_tiles, self._tiles - deployment.io_tiles)
        return rows

    def _temporaries(self, ipu: IpuMemory) -> list[_Row]:
        """Those of each program step: the same on all tiles that the op uses."""
        alive, program = self._estimate.memory.liveness, self._estimate.program
        number = _NUMBERS[Category.TEMPORARIES]
        rows: list[_Row] = []
        sizes = alive.temporary.get(ipu.ipu)
        if sizes is None or not alive.events:
            return rows
        for step in np.flatnonzero(sizes).tolist():
            op = program.ops[alive.events[step].op]
            used, size = int(self._used[step]), int(sizes[step])
            if step == ipu.peak.position:
                used = int(np.count_nonzero(ipu.tiles[Category.TEMPORARIES]))
            rows.append(
                (f"{op.name}/temporaries", op.module or ".".join(op.scope), number, used * size, step, step,
                 self._op_rows[alive.events[step].op], 0, used, size)
            )  # fmt: skip
        return rows

    def _rests(self, ipu: IpuMemory, rows: Sequence[_Row]) -> list[_Row]:
        """Variables that have what the others leave of a use."""
        found: list[_Row] = []
        peak = ipu.peak.position
        taken = dict.fromkeys(_NUMBERS.values(), 0)
        for row in rows:
            if row[4] < 0 or row[4] <= peak <= row[5]:
                taken[row[2]] += row[3]
        for category, on_tiles in ipu.tiles.items():
            left = int(on_tiles.sum()) - taken[_NUMBERS[category]]
            if left > 0:
                moment = -1 if category.always_live else peak
                name = category.value if category in _REST else "(others)"
                found.append(
                    (name, "", _NUMBERS[category], left, moment, moment, -1, 0, len(on_tiles), -1)
                )  # fmt: skip
        return found
