from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.planner import Planner
from tremula.program.work import SparseMatMul

PLANNER = Planner(chip("bow"))
PRODUCTS = st.builds(
    lambda rows, inner, columns, density, block, dtype: SparseMatMul(
        16 * rows, 16 * inner, columns, density, block, dtype, dtype
    ),
    st.integers(1, 256),
    st.integers(1, 256),
    st.integers(1, 2000),
    st.sampled_from([1 / 256, 1 / 64, 1 / 16, 1 / 4, 1.0]),
    st.sampled_from([1, 4, 8, 16]),
    st.sampled_from(["fp16", "fp32"]),
)


@pytest.mark.parametrize(
    ("columns", "density", "block", "dtype", "published"),
    [
        # TFLOP/s of non-zeros, graphcore-research/notebooks SpMM.ipynb
        (512, 1 / 64, 1, "fp32", 3.13993),
        (1024, 1 / 64, 1, "fp16", 6.162),
        (1024, 1 / 16, 1, "fp16", 10.23),
        (1024, 1 / 8, 1, "fp16", 11.46),
        (2048, 1 / 64, 16, "fp16", 5.11),
        (2048, 1 / 32, 16, "fp16", 9.063),
        (2048, 1 / 8, 16, "fp16", 32.69),
    ],
)
def test_published_rates(columns: int, density: float, block: int, dtype: str, published: float) -> None:
    cost = PLANNER.plan(SparseMatMul(4096, 4096, columns, density, block, dtype, dtype))
    rate = cost.flops / (cost.cycles / PLANNER.chip.clock_hz) / 1e12
    assert rate == pytest.approx(published, rel=0.15)


def test_a_changing_pattern_is_slower() -> None:
    fixed = SparseMatMul(4096, 4096, 512, 1 / 64)
    changing = replace(fixed, dynamic=True)
    assert PLANNER.plan(changing).cycles > 2 * PLANNER.plan(fixed).cycles


def test_nothing_but_zeros() -> None:
    assert PLANNER.plan(SparseMatMul(64, 64, 64, 0.0)).cycles == 0


@given(PRODUCTS)
def test_roofline(work: SparseMatMul) -> None:
    tile = PLANNER.chip
    cost = PLANNER.plan(work)
    peak = tile.peak_flops(work.dtype, work.partials) / tile.clock_hz / tile.tiles
    for step in cost.supersteps:
        assert step.tiles <= tile.tiles
        assert step.flops <= peak * step.compute_cycles * step.tiles * 1.001
        assert step.cycles > 0
    assert cost.why.alternatives or work.columns * work.inner < 10000


@given(PRODUCTS, st.sampled_from([1.5, 3.0]))
def test_more_memory_is_never_slower(work: SparseMatMul, factor: float) -> None:
    tight = replace(work, proportion=0.1)
    cost = PLANNER.plan(tight)
    if cost.bytes.temporary <= 0.1 * PLANNER.chip.tile_memory_bytes:
        assert PLANNER.plan(replace(work, proportion=0.1 * factor)).cycles <= cost.cycles


@given(PRODUCTS, st.integers(1, 500))
def test_more_columns_take_no_less_time(work: SparseMatMul, more: int) -> None:
    # planned bands and slices are whole, so a plan for more columns may fall into place by a hair
    wider = PLANNER.plan(replace(work, columns=work.columns + more)).cycles
    assert wider >= 0.97 * PLANNER.plan(work).cycles
