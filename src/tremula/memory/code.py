"""Code and vertex state on the tiles of one IPU.

Layers of the same shape on one IPU share their code: the compiler outlines repeated parts of the program into
functions. So exchange code, control code and vertex state count once per distinct work, and vertex code once per
distinct codelet; each further use of a function costs its call.

Planners give upper bounds for a tile that takes part in everything. What a mean tile has of that was fitted to the
byte totals that popliner reports for BERT-large inference and a small BERT in training (both without outlining),
and so was how much more the fullest tile has: with the small tensors that pile up there (tiles.py) it comes to 17 to
36 kB above the mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tremula.memory.tiles import Tiles
from tremula.plan.planner import Planner
from tremula.program.work import Work

#: bytes on a tile to call an outlined function once more: branch, arguments, return
CALL_BYTES = 16

#: bytes of the mean tile over those of a tile that takes part in everything
VERTEX_CODE_SHARE = 0.6
VERTEX_STATE_SHARE = 0.35
EXCHANGE_CODE_SHARE = 0.15
CONTROL_CODE_SHARE = 0.45
#: how much more than the mean tile the fullest has, and how much less the emptiest
UNEVENNESS = 0.2


@dataclass(frozen=True)
class CodeBytes:
    """Bytes on the mean tile."""

    vertex_code: int = 0
    vertex_state: int = 0
    exchange_code: int = 0
    control_code: int = 0


def code_bytes(ops: Iterable[tuple[Work, ...]], planner: Planner, *, outlined: bool = True) -> CodeBytes:
    """Code of ops given by their works; `outlined`: repeated ones share it."""
    codelets: dict[tuple[object, ...], int] = {}
    seen: set[Work] = set()
    state = exchange = control = calls = 0
    for works in ops:
        for work in works:
            if outlined and work in seen:
                calls += CALL_BYTES
                continue
            seen.add(work)
            sizes = planner.plan(work).bytes
            state += sizes.vertex_state
            exchange += sizes.exchange_code
            control += sizes.control_code
            key = _codelet(work)
            codelets[key] = max(codelets.get(key, 0), sizes.vertex_code)
    return CodeBytes(
        vertex_code=round(VERTEX_CODE_SHARE * sum(codelets.values())),
        vertex_state=round(VERTEX_STATE_SHARE * state),
        exchange_code=round(EXCHANGE_CODE_SHARE * exchange),
        control_code=round(CONTROL_CODE_SHARE * control) + calls,
    )


def spread_code(mean: int, tiles: int) -> Tiles:
    """Code over tiles: most on the first, falling evenly; `mean` bytes on the mean tile."""
    shares = 1.0 + UNEVENNESS * np.linspace(1.0, -1.0, tiles) if tiles > 1 else np.ones(1)
    on_tiles = np.floor(mean * shares).astype(np.int64)
    on_tiles[0] += mean * tiles - int(on_tiles.sum())
    return on_tiles


def _codelet(work: Work) -> tuple[object, ...]:
    """What decides which codelets a work uses, whatever its size."""
    names = ("operation", "kind", "dtype", "partials", "output_dtype", "gradient", "logarithm", "operands")
    return (type(work).__name__, *(getattr(work, name, None) for name in names))
