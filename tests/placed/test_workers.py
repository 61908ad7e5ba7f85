"""Vertices on workers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.placed.programs import vertices

from tremula.placed import workers
from tremula.placed.workers import compute_cycles, worker_cycles
from tremula.program.placed import Base

VERTICES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50)), min_size=1, max_size=60)


def reference(given_vertices: list[tuple[int, int]], count: int) -> dict[int, int]:
    """Each vertex in turn to the worker of its tile that is free first."""
    loads: dict[int, list[int]] = {}
    for tile, cycles in given_vertices:
        mine = loads.setdefault(tile, [0] * count)
        mine[mine.index(min(mine))] += cycles
    return {tile: count * max(mine) for tile, mine in loads.items()}


@given(VERTICES, st.integers(1, 7))
def test_a_tile_takes_as_long_as_its_busiest_worker(
    given_vertices: list[tuple[int, int]], count: int
) -> None:
    tile = np.array([each[0] for each in given_vertices])
    cycles = np.array([float(each[1]) for each in given_vertices])
    found = worker_cycles(tile, cycles, count)
    assert dict(zip(found.tiles.tolist(), found.cycles.tolist(), strict=True)) == reference(
        given_vertices, count
    )
    assert found.busy.sum() == cycles.sum()
    assert (found.busy <= found.cycles + 1e-9).all()


@given(VERTICES)
def test_many_vertices_are_dealt_out_as_few_are(given_vertices: list[tuple[int, int]]) -> None:
    tile = np.array([each[0] for each in given_vertices])
    cycles = np.array([float(each[1]) for each in given_vertices])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "_MOST_ROUNDS", 0)
        slow = worker_cycles(tile, cycles, 6)
    assert slow.cycles.tolist() == worker_cycles(tile, cycles, 6).cycles.tolist()


def test_idle_workers_count_and_supervisors_do_not_wait_for_workers() -> None:
    # one worker of six issues every sixth cycle
    one = compute_cycles((vertices([0], [100.0]),), 6)
    assert (one.cycles.tolist(), one.busy.tolist()) == ([600.0], [100.0])
    both = compute_cycles((vertices([0], [100.0]), vertices([0, 2], [50.0, 7.0], Base.SUPERVISOR)), 6)
    assert both.tiles.tolist() == [0, 2]
    assert (both.cycles.tolist(), both.busy.tolist()) == ([650.0, 7.0], [150.0, 7.0])
    every = compute_cycles((vertices([1], [70.0], Base.ALL_WORKERS),), 6)
    assert (every.cycles.tolist(), every.slowest) == ([70.0], 70.0)
