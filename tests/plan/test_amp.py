"""The matrix engine's vertices against measurements, and their own limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.vertices.amp import amp_kinds, column_cycles, one_by_one_cycles

#: points -> cycles per call of [points, 16] x [16, 16] in half precision, mean over all tiles of a Bow;
#: graphcore-research/tessellate-ipu, notebooks/IPU Peak Flops.ipynb
MEASURED = {
    16: 402.0, 32: 461.3, 48: 524.0, 64: 584.0, 96: 716.0, 128: 845.3, 256: 1352.0, 384: 1868.0,
    512: 2381.3, 768: 3404.0, 1024: 4424.0, 1536: 6476.0, 2048: 8525.3,
}  # fmt: skip


@pytest.mark.parametrize(("points", "cycles"), MEASURED.items())
def test_a_call_takes_what_was_measured(points: int, cycles: float) -> None:
    modelled = one_by_one_cycles(points, 16, 16, chip("bow"))
    assert modelled == pytest.approx(cycles, rel=0.02)


@given(st.integers(1, 5000), st.integers(1, 128), st.integers(1, 128), st.sampled_from(["fp16", "fp32"]))
def test_more_points_or_channels_never_take_less(points: int, ins: int, outs: int, dtype: str) -> None:
    bow = chip("bow")
    cycles = one_by_one_cycles(points, ins, outs, bow, dtype=dtype, partials=dtype)
    for more in (
        one_by_one_cycles(points + 12, ins, outs, bow, dtype=dtype, partials=dtype),
        one_by_one_cycles(points, ins + 16, outs, bow, dtype=dtype, partials=dtype),
        one_by_one_cycles(points, ins, outs + 16, bow, dtype=dtype, partials=dtype),
    ):
        assert more >= cycles


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 5), st.integers(1, 5))
def test_a_kernel_position_costs_what_the_points_cost(rows: int, width: int, high: int, wide: int) -> None:
    mk2 = chip("mk2")
    cycles = column_cycles(rows, width, 16, 16, mk2, kernel_rows=high, kernel_columns=wide)
    peak = 16 * 16 / 4
    assert cycles >= rows * width * high * wide * 16 * 16 / peak


def test_arrays_give_what_single_numbers_give() -> None:
    mk1 = chip("mk1")
    points = np.arange(1.0, 100.0)
    together = one_by_one_cycles(points, 64, 48, mk1, dtype="fp32", partials="fp32")
    assert isinstance(together, np.ndarray)
    singly = [one_by_one_cycles(float(p), 64, 48, mk1, dtype="fp32", partials="fp32") for p in points]
    assert together.tolist() == singly


def test_groupings_follow_the_chip() -> None:
    half = {(k.units, k.in_channels, k.out_channels) for k in amp_kinds(chip("mk2"), "fp16", "fp16")}
    assert half == {(u, i, u) for u in (16, 8) for i in (16, 8, 4)}
    single = {(k.units, k.in_channels, k.out_channels) for k in amp_kinds(chip("mk2"), "fp16", "fp32")}
    # with eight units, two passes make the sixteen channels that the next layer likes
    assert single == {(8, i, o) for i in (16, 8, 4) for o in (8, 16)}
    assert amp_kinds(chip("mk2"), "fp8", "fp16") == []
