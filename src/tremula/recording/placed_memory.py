"""The memory of a placed program as rows: tiles by use, what is alive when, variables with their tiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tremula.placed.estimate import PlacedEstimate
from tremula.placed.memory import ALIGNMENT, PlacedMemory, Use
from tremula.profile import model
from tremula.profile.frames import FRAMES
from tremula.profile.rows import packed
from tremula.program.placed import Ints

#: variables of each IPU that are listed as contributors, largest first
CONTRIBUTORS = 200
_NUMBERS = {use: number for number, use in enumerate(Use)}
_OTHERS = "(others)"


def memory_rows(estimate: PlacedEstimate, ops: dict[int, int]) -> Iterator[model.Row]:
    """Rows about memory; `ops` gives the row of each leaf."""
    memory, per_ipu = estimate.memory, estimate.hardware.chip.tiles
    for use, number in _NUMBERS.items():
        yield model.Category(number, use.value, int(use.always_live))
    for ipu in range(estimate.hardware.ipus):
        yield _ipu_row(estimate, memory, ipu)
    for ipu in range(estimate.hardware.ipus):
        here = slice(ipu * per_ipu, (ipu + 1) * per_ipu)
        for use, number in _NUMBERS.items():
            on_tiles = memory.tiles[use][here]
            if on_tiles.any():
                yield model.TileMemory(ipu, number, int(on_tiles.sum()), per_ipu, packed(on_tiles))
        yield from _contributors(estimate, memory, ipu)
    count = len(memory.order.nodes)
    listed = np.array([ops.get(node, -1) for node in memory.order.nodes], dtype=np.int64)
    yield model.ProgramSteps(count, packed(listed), packed(np.zeros(count, dtype=np.int64)))
    for ipu in range(estimate.hardware.ipus):
        if count:
            yield model.Liveness(ipu, count, packed(memory.live[ipu]), packed(memory.buffers[ipu]))


def _ipu_row(estimate: PlacedEstimate, memory: PlacedMemory, ipu: int) -> model.IpuMemory:
    per_ipu = estimate.hardware.chip.tiles
    here = slice(ipu * per_ipu, (ipu + 1) * per_ipu)
    total, most = memory.total[here], memory.most[here]
    lasting = sum(
        int(memory.tiles[use][here].sum()) for use in Use if use.always_live and use is not Use.GAPS
    )
    coming = sum(int(memory.tiles[use][here].sum()) for use in Use if not use.always_live)
    peak = memory.peaks[ipu]
    leaf = estimate.leaves.get(memory.order.nodes[peak]) if memory.order.nodes else None
    return model.IpuMemory(
        ipu=ipu,
        total_bytes=int(total.sum()),
        always_live_bytes=lasting,
        not_always_live_bytes=coming,
        max_tile_bytes=int(most.max()),
        fullest_tile=int(np.argmax(most)),
        tiles_out_of_memory=int((most > estimate.hardware.chip.tile_memory_bytes).sum()),
        peak_step=peak,
        peak_op=leaf.name if leaf is not None else "",
        peak_phase="forward",
    )


def _contributors(estimate: PlacedEstimate, memory: PlacedMemory, ipu: int) -> Iterator[model.Row]:
    parts, variables = memory.parts, estimate.program.variables
    mine = parts.tile // estimate.hardware.chip.tiles == ipu
    sizes = np.zeros(variables.count, dtype=np.int64)
    np.add.at(sizes, parts.variable[mine], parts.bytes[mine])
    uses = uses_of(memory, variables.constant)
    for number in np.argsort(-sizes, kind="stable")[:CONTRIBUTORS].tolist():
        if sizes[number]:
            yield model.Contributor(ipu, int(uses[number]), variables.names[number], int(sizes[number]))


def uses_of(memory: PlacedMemory, constant: Any) -> Ints:
    """Number of the use of each variable."""
    found = np.full(len(constant), _NUMBERS[Use.TEMPORARY_VARIABLES], dtype=np.int64)
    found[memory.lifetimes.always] = _NUMBERS[Use.VARIABLES]
    found[constant] = _NUMBERS[Use.CONSTANTS]
    return found


def variable_columns(estimate: PlacedEstimate) -> dict[str, Any]:
    """Columns of the frame `variables`.

    Neighbouring tiles with the same number of bytes of a variable are one row. Where there are too many rows, the
    smallest variables are left to a row `(others)` of their use and IPU; so are code, state and gaps.
    """
    memory, per_ipu = estimate.memory, estimate.hardware.chip.tiles
    parts, variables = memory.parts, estimate.program.variables
    uses = uses_of(memory, variables.constant)
    # a temporary variable takes its place up to the next multiple
    temporary = uses[parts.variable] == _NUMBERS[Use.TEMPORARY_VARIABLES]
    size = np.where(temporary, -(-parts.bytes // ALIGNMENT) * ALIGNMENT, parts.bytes)
    ipu = parts.tile // per_ipu
    new = np.ones(len(size), dtype=np.bool_)
    new[1:] = (
        (parts.variable[1:] != parts.variable[:-1])
        | (parts.tile[1:] != parts.tile[:-1] + 1)
        | (ipu[1:] != ipu[:-1])
        | (size[1:] != size[:-1])
    )
    first = np.flatnonzero(new)
    count = np.diff(np.append(first, len(size)))
    most = FRAMES["variables"].most_rows - len(Use) * estimate.hardware.ipus - 1
    if len(first) > most:
        kept = np.sort(np.argsort(-(size[first] * count), kind="stable")[:most])
        first, count = first[kept], count[kept]
    owner = parts.variable[first]
    begin, end = memory.lifetimes.first[owner], memory.lifetimes.last[owner]
    always = np.zeros(variables.count, dtype=np.bool_)
    always[memory.lifetimes.always] = True
    lasting = always[owner]
    columns: dict[str, Any] = {
        "name": [variables.names[number] for number in owner.tolist()],
        "category": uses[owner], "ipu": ipu[first], "bytes": size[first] * count,
        "always_live": lasting.astype(np.int64), "first_step": np.where(lasting, -1, begin),
        "last_step": np.where(lasting, -1, end), "first_tile": parts.tile[first] % per_ipu, "tiles": count,
        "tile_bytes": size[first],
    }  # fmt: skip
    rest = _rest(estimate, columns)
    joined = {
        name: [*values, *rest[name]] if name == "name" else np.concatenate([values, rest[name]])
        for name, values in columns.items()
    }
    return {**joined, "module": "", "op_id": -1}


def _rest(estimate: PlacedEstimate, columns: dict[str, Any]) -> dict[str, Any]:
    """What the listed variables leave of each use, as one row of each IPU."""
    memory, per_ipu = estimate.memory, estimate.hardware.chip.tiles
    rows: list[tuple[str, int, int, int, int, int, int]] = []
    peaks = np.array(memory.peaks, dtype=np.int64)[columns["ipu"]] if len(columns["ipu"]) else columns["ipu"]
    alive = (columns["always_live"] > 0) | (
        (columns["first_step"] <= peaks) & (peaks <= columns["last_step"])
    )
    for ipu in range(estimate.hardware.ipus):
        here = slice(ipu * per_ipu, (ipu + 1) * per_ipu)
        for use, number in _NUMBERS.items():
            mine = alive & (columns["ipu"] == ipu) & (columns["category"] == number)
            left = int(memory.tiles[use][here].sum()) - int(columns["bytes"][mine].sum())
            if left > 0:
                named = use in (Use.VARIABLES, Use.CONSTANTS, Use.TEMPORARY_VARIABLES)
                step = -1 if use.always_live else memory.peaks[ipu]
                rows.append(
                    (_OTHERS if named else use.value, number, ipu, left, int(use.always_live), step, step)
                )
    found: dict[str, Any] = {
        name: [row[place] for row in rows]
        if name == "name"
        else np.array([row[place] for row in rows], dtype=np.int64)
        for place, name in enumerate(
            ("name", "category", "ipu", "bytes", "always_live", "first_step", "last_step")
        )
    }
    count = len(rows)
    return {
        **found,
        "first_tile": np.zeros(count, dtype=np.int64),
        "tiles": np.full(count, per_ipu),
        "tile_bytes": np.full(count, -1),
    }
