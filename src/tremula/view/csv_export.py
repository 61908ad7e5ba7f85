"""A profile as CSV files in a folder, one for each table and frame; arrays are left out, as `pva` gives them.

A folder is filled file by file; each file is whole or not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tremula.atomic_files import atomic_open, cannot_write
from tremula.csv_cells import write_csv
from tremula.errors import Error
from tremula.profile import Profile
from tremula.profile.frames import FRAMES
from tremula.profile.schema import META, TABLES

#: rows that are read from a frame at a time
_ROWS = 16_384


def write_csv_files(profile: Profile, folder: Path) -> dict[str, int]:
    """Write one file for each table and frame that has rows; gives the rows of each file."""
    written: dict[str, int] = {}
    for table in TABLES.values():
        columns = [column.name for column in table.columns if column.type is not bytes]
        rows = profile.rows(table.row) if table is not META else ()
        if rows and columns:
            values: Iterator[list[Any]] = ([getattr(row, name) for name in columns] for row in rows)
            written[table.name] = _write(folder / f"{table.name}.csv", columns, values)
    for name in FRAMES:
        frame = profile.frame(name)
        if len(frame):
            written[name] = _write(folder / f"{name}.csv", frame.columns, _frame_rows(profile, name))
    if profile.ipus:
        head = ["ipu", "tile", *(each.name for each in profile.categories)]
        written["tiles"] = _write(folder / "tiles.csv", head, _tile_rows(profile))
    return written


def _frame_rows(profile: Profile, name: str) -> Iterator[tuple[Any, ...]]:
    frame = profile.frame(name)
    for first in range(0, len(frame), _ROWS):
        columns = []
        for column in frame.columns:
            values = frame.window(column, first, _ROWS)
            columns.append(values.tolist() if isinstance(values, np.ndarray) else values)
        yield from zip(*columns, strict=True)


def _tile_rows(profile: Profile) -> Iterator[list[int]]:
    names = [each.name for each in profile.categories]
    tiles = profile.target.tiles_per_ipu
    for row in profile.ipus:
        uses = profile.tile_bytes(row.ipu)
        on_tiles = np.stack([uses.get(name, np.zeros(tiles, dtype=np.int64)) for name in names], axis=1)
        for tile, values in enumerate(on_tiles.tolist()):
            yield [row.ipu, tile, *values]


def _write(path: Path, head: Sequence[str], rows: Any) -> int:
    try:
        with atomic_open(path) as file:
            return write_csv(file, head, rows)
    except OSError as error:
        raise Error(f"The table {cannot_write(path, error)}", type="profile_error") from error
