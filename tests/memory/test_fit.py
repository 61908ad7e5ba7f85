"""The memory of whole programs: sums, limits and texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.hardware.chip import Chip
from tremula.memory.categories import STACK_BYTES_PER_TILE, Category
from tremula.memory.fit import MemoryReport, memory_report
from tremula.plan.planner import Planner
from tremula.program.loops import Loops
from tremula.program.program import Program
from tremula.schedule.bsp import op_costs
from tremula.schedule.deployment import Deployment, Location
from tremula.schedule.recompute import recomputation

_PLAIN = Deployment()
_PLANNERS: dict[Chip, Planner] = {}


def _report(program: Program, deployment: Deployment = _PLAIN, on: Chip | None = None) -> MemoryReport:
    on = on or chip("mk2")
    planner = _PLANNERS.setdefault(on, Planner(on))
    costs = op_costs(program, planner).costs
    return memory_report(program, costs, recomputation(program, deployment), deployment, on, planner)


@given(
    layers=st.integers(1, 10),
    stages=st.integers(1, 3),
    rows=st.sampled_from([1, 16, 300]),
    width=st.sampled_from([8, 64, 200]),
    io_tiles=st.sampled_from([0, 32]),
)
def test_tiles_sum_to_totals(
    layered: Callable[..., Any], layers: int, stages: int, rows: int, width: int, io_tiles: int
) -> None:
    stages = min(layers, stages)
    program = layered(layers, stages=stages, rows=rows, width=width, loops=Loops(gradient_accumulation=8))
    execution = "pipelined" if stages > 1 else "single"
    report = _report(
        program,
        Deployment(execution=execution, ipus_per_replica=stages, io_tiles=io_tiles, overlap_io=io_tiles > 0),
    )
    assert len(report.ipus) == stages
    assert report.total_bytes == sum(int(ipu.per_tile.sum()) for ipu in report.ipus)
    assert report.total_bytes == sum(report.by_category.values())
    for ipu in report.ipus:
        assert len(ipu.per_tile) == 1472
        assert ipu.max_tile_bytes == ipu.per_tile.max()
        assert (
            ipu.always_live_bytes + ipu.not_always_live_bytes + ipu.by_category[Category.GAPS]
            == ipu.total_bytes
        )
    weights = report.by_category[Category.WEIGHTS]
    assert weights == report.by_category[Category.ACCUMULATORS] == layers * width * width * 4


def test_stacks_are_on_every_tile(layered: Callable[..., Any]) -> None:
    assert _report(layered(1)).by_category[Category.STACKS] == 1472 * STACK_BYTES_PER_TILE
    # the published total of a Mk1 profile
    assert _report(layered(1), on=chip("mk1")).by_category[Category.STACKS] == 3_852_288


def test_replicas_change_nothing_unless_state_is_sharded(layered: Callable[..., Any]) -> None:
    one, many = (layered(2, width=512, loops=Loops(gradient_accumulation=2, replicas=n)) for n in (1, 8))
    assert _report(one).total_bytes == _report(many).total_bytes
    sharded = Deployment(accumulators=Location(sharded=True))
    whole, part = (_report(program, sharded).by_category[Category.ACCUMULATORS] for program in (one, many))
    assert part == whole // 8
    off = Deployment(accumulators=Location(on_chip=False))
    assert Category.ACCUMULATORS not in _report(many, off).by_category


def test_a_full_tile_is_out_of_memory(layered: Callable[..., Any]) -> None:
    program = layered(12, rows=1024, width=4096, loops=Loops(gradient_accumulation=2))
    report = _report(program)
    assert not report.fits
    assert report.headroom < 0
    text = report.out_of_memory_text()
    tile = report.fullest.fullest_tile
    assert text.startswith("Out of memory")
    assert (
        f"Out of memory on tile {tile}: {report.max_tile_bytes} bytes used but tiles only have 638976 bytes of memory"
        in text
    )
    assert "net.w0" in text  # the user's modules
    assert "What helps: for weights, more IPUs" in text
    assert _report(layered(1)).out_of_memory_text() == ""


def test_tiles_of_later_ipus_count_on(layered: Callable[..., Any]) -> None:
    program = layered(8, stages=2, rows=16, width=8192, training=False)
    text = _report(program, Deployment(execution="sharded", ipus_per_replica=2)).out_of_memory_text()
    assert "Out of memory on tile 0:" in text
    assert "Out of memory on tile 1472:" in text


@given(st.integers(0, 3))
def test_more_tile_memory_never_fits_worse(layered: Callable[..., Any], doublings: int) -> None:
    program = layered(4, rows=512, width=1024, loops=Loops(gradient_accumulation=2))
    small = chip("mk2")
    large = replace(small, tile_memory_bytes=small.tile_memory_bytes * 2**doublings)
    assert _report(program, on=small).fits <= _report(program, on=large).fits


def test_the_peak_names_an_op_and_a_module(layered: Callable[..., Any]) -> None:
    ipu = _report(layered(4, rows=4096, loops=Loops(gradient_accumulation=2))).fullest
    assert ipu.peak.op
    assert ipu.peak.scope[0] == "net"
    assert (
        ipu.live.max() == ipu.by_category[Category.ACTIVATIONS] or ipu.by_category[Category.TEMPORARIES] > 0
    )
    assert ipu.contributors == tuple(sorted(ipu.contributors, key=lambda each: -each.bytes))


def test_the_next_batch_arrives_on_tiles_of_its_own(layered: Callable[..., Any]) -> None:
    program = layered(1, rows=2048, training=False)
    overlapped = _report(program, Deployment(io_tiles=64, overlap_io=True)).fullest.tiles[Category.IO_BUFFERS]
    plain = _report(program).fullest.tiles[Category.IO_BUFFERS]
    # one batch is worked on where it always is, the next comes in beside it
    assert overlapped[:-64].sum() == overlapped[-64:].sum() == plain.sum()
    assert _report(program, Deployment(synthetic_data=True)).by_category[Category.IO_BUFFERS] == 0


@pytest.mark.parametrize("name", ["mk1", "mk2", "bow", "c600"])
def test_every_chip(layered: Callable[..., Any], name: str) -> None:
    report = _report(layered(2), on=chip(name))
    assert report.fits
    assert report.tile_memory_bytes == chip(name).tile_memory_bytes
