import math

from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.planner import Planner
from tremula.program.work import Scan, Sort

PLANNER = Planner(chip("mk2"))
DTYPES = st.sampled_from(["fp16", "fp32", "int32"])


def test_a_network_of_all_distances() -> None:
    cost = PLANNER.plan(Sort(1, 1024))
    assert sum(step.repeats for step in cost.supersteps) == 10 * 11 // 2


def test_the_largest_need_fewer_steps_than_all() -> None:
    few = PLANNER.plan(Sort(16, 4096, k=5))
    assert sum(step.repeats for step in few.supersteps) == 3 * 4 // 2 + 9 * (1 + 3)
    assert few.cycles < PLANNER.plan(Sort(16, 4096)).cycles


def test_comparing_integers_takes_longer() -> None:
    assert PLANNER.plan(Sort(1, 10**5, "int32")).cycles > PLANNER.plan(Sort(1, 10**5, "fp32")).cycles


@given(st.integers(1, 200), st.integers(1, 10000), st.integers(0, 100), st.integers(0, 1000), DTYPES)
def test_more_to_sort_takes_no_less_time(
    rows: int, columns: int, more_rows: int, more: int, dtype: str
) -> None:
    small = PLANNER.plan(Sort(rows, columns, dtype)).cycles
    assert PLANNER.plan(Sort(rows + more_rows, columns + more, dtype)).cycles >= small


@given(st.integers(1, 200), st.integers(2, 10000), DTYPES)
def test_sorting_is_above_the_roofline(rows: int, columns: int, dtype: str) -> None:
    for step in PLANNER.plan(Sort(rows, columns, dtype)).supersteps:
        assert step.flops <= PLANNER.chip.vector_width("fp32") * step.compute_cycles * step.tiles
        assert 0 < step.balance <= 1
        moved = 8 * step.flops / step.tiles / PLANNER.chip.exchange_bytes_per_cycle
        assert step.tiles == 1 or step.exchange_cycles >= math.floor(moved)


def test_a_running_sum_is_a_product() -> None:
    cost = PLANNER.plan(Scan(64, 512, "fp32"))
    assert "triangle" in cost.why.plan
    assert "cumsumx" in cost.why.source
    assert cost.flops >= 2 * 64 * 512 * 512


def test_long_rows_are_summed_in_pieces() -> None:
    cost = PLANNER.plan(Scan(1, 10**6, "fp32"))
    assert [step.name for step in cost.supersteps] == ["running sum", "running sum, offsets"]
    assert PLANNER.plan(Scan(3, 1000, "int32")).supersteps[0].name == "running sum"


@given(st.integers(1, 3000), st.integers(1, 10000), st.integers(0, 1000))
def test_more_to_sum_takes_no_less_time(rows: int, columns: int, more: int) -> None:
    small = PLANNER.plan(Scan(rows, columns, "int32")).cycles
    assert PLANNER.plan(Scan(rows, columns + more, "int32")).cycles >= small
