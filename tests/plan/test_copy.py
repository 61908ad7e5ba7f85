from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.copy import fill_cycles
from tremula.plan.planner import Planner
from tremula.plan.rearrange import rearrange_cycles
from tremula.program.dtypes import item_bytes
from tremula.program.work import Copy, Fill

MK2 = chip("mk2")
DTYPES = st.sampled_from(["fp32", "fp16", "bool"])


def test_long_runs_go_straight_and_short_ones_are_ordered_first() -> None:
    planner = Planner(MK2)
    long = planner.plan(Copy(4096 * 1024, "fp16", 1024))
    short = planner.plan(Copy(4096 * 1024, "fp16", 1))
    assert long.compute_cycles == 0
    assert long.bytes.vertex_code == 0
    assert short.compute_cycles > 0
    assert "too short" in short.why.alternatives[0].reason
    assert short.cycles > long.cycles


def test_on_a_tile_nothing_is_exchanged() -> None:
    cost = Planner(MK2).plan(Copy(10**6, contiguous=8, between_tiles=False))
    assert cost.exchange_cycles == 0
    assert cost.bytes.exchange_code == 0
    assert cost.sync_cycles == MK2.sync_cycles


def test_smaller_atoms_cost_more_per_byte() -> None:
    whole, words, halves = (rearrange_cycles(64_000, run, MK2) / 64_000 for run in (8, 4, 2))
    assert whole < words < halves
    # the slopes of the regression in PopLibs: 0.44, 3.125 and 5.148 cycles per byte
    assert abs(whole - 0.44) < 0.02
    assert abs(words - 3.125) < 0.02
    assert abs(halves - 5.148) < 0.02
    assert rearrange_cycles(64_000, 64_000, MK2) == 288 + 8_000


@given(
    elements=st.integers(1, 10**8),
    more=st.integers(0, 10**6),
    dtype=DTYPES,
    run=st.integers(1, 4096),
    between=st.booleans(),
)
def test_monotonic_and_never_below_the_bus(
    elements: int, more: int, dtype: str, run: int, between: bool
) -> None:
    planner = Planner(MK2)
    cost = planner.plan(Copy(elements, dtype, run, between))
    assert planner.plan(Copy(elements + more, dtype, run, between)).cycles >= cost.cycles
    if between:
        share = elements * item_bytes(dtype) / MK2.tiles
        assert cost.exchange_cycles >= share / MK2.exchange_bytes_per_cycle
    assert min(vars(cost.bytes).values()) >= 0


@given(elements=st.integers(1, 10**8), more=st.integers(0, 10**6), dtype=DTYPES)
def test_fill(elements: int, more: int, dtype: str) -> None:
    planner = Planner(MK2)
    cost = planner.plan(Fill(elements, dtype))
    assert planner.plan(Fill(elements + more, dtype)).cycles >= cost.cycles
    share = cost.why.figures["elements per tile"]
    assert cost.compute_cycles >= share * item_bytes(dtype) / MK2.data_path_bytes
    assert fill_cycles(0, dtype, MK2) >= 0
