"""Small placed programs for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tremula.hardware.catalogue import chip
from tremula.placed.hardware import PlacedHardware, hardware_of
from tremula.program.placed import (
    Base,
    ComputeSet,
    Copy,
    FieldRuns,
    PlacedProgram,
    Runs,
    Variables,
    Vertices,
    ints,
)
from tremula.program.placed_steps import Execute, RunCopy, Steps


def variables(*tiles: Sequence[int], element_bytes: int = 4, always_live: bool = True) -> Variables:
    """Variables given by the tile of each of their elements; -1 is not a tile."""
    sizes = np.array([len(each) for each in tiles], dtype=np.int64)
    first = np.cumsum(sizes) - sizes
    begin, end, tile = [], [], []
    for start, mine in zip(first.tolist(), tiles, strict=True):
        for place, each in enumerate(mine):
            if each < 0:
                continue
            if place and mine[place - 1] == each:
                end[-1] += 1
            else:
                begin.append(start + place)
                end.append(start + place + 1)
                tile.append(each)
    count = len(tiles)
    return Variables(
        names=[f"v{number}" for number in range(count)],
        element_bytes=np.full(count, element_bytes, dtype=np.int64),
        elements=sizes,
        first=first,
        constant=np.zeros(count, dtype=np.bool_),
        always_live=np.full(count, always_live),
        begin=ints(begin),
        end=ints(end),
        tile=ints(tile),
    )


def runs(*each: tuple[int, int, int]) -> Runs:
    """Runs given by start, count and stride."""
    return Runs(*(ints([run[place] for run in each]) for place in range(3)))


def vertices(
    tile: Sequence[int], cycles: Sequence[float], base: Base = Base.WORKER, **more: object
) -> Vertices:
    """Vertices of one type on tiles."""
    return Vertices("V", base, ints(tile), np.array(cycles, dtype=float), "test", **more)  # type: ignore[arg-type]


def reading(names: Variables, tile: Sequence[int], given: Sequence[tuple[int, int, int]]) -> PlacedProgram:
    """A program of one compute set whose vertices read one run each."""
    field = FieldRuns("in", reads=True, writes=False, runs=runs(*given), vertex=np.arange(len(tile)))
    batch = vertices(tile, [100.0] * len(tile), fields=(field,))
    return PlacedProgram("p", 1, 16, names, [ComputeSet("cs", [batch])], programs=[Execute(0, 0)])


def copying(names: Variables, copies: Sequence[tuple[Runs, Runs]]) -> PlacedProgram:
    """A program of copies, one after the other."""
    steps = Steps(0, tuple(RunCopy(1 + number, number) for number in range(len(copies))))
    made = [Copy(f"copy{number}", *each) for number, each in enumerate(copies)]
    return PlacedProgram("p", 1, 16, names, copies=made, programs=[steps])


def small_hardware(tiles: int = 16, ipus: int = 1) -> PlacedHardware:
    """A few tiles of Mk2."""
    return hardware_of(chip("mk2").with_tiles(tiles), ipus=ipus)
