import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.planner import Planner
from tremula.plan.reduction_vertices import contiguous_cycles, partials_type, strided_cycles
from tremula.program.dtypes import item_bytes
from tremula.program.work import Reduction

MK2 = chip("mk2")
OPERATIONS = st.sampled_from(["add", "square_add", "max", "min", "mul", "and", "log_add", "argmax"])


def test_vertex_formulas() -> None:
    # twelve runs of 100 fp32 on six workers: two runs each, two elements per cycle
    assert contiguous_cycles(12, 100, "fp32", "add", MK2) == 6 * (17 + 2 * (12 + 50))
    # 24 columns of fp32: two vectors per worker, a row per cycle
    assert strided_cycles(24, 100, "fp32", "add", MK2) == 6 * (16 + 2 * (6 + 5 + 99))


def test_partial_sums_of_half_are_single() -> None:
    assert partials_type("add", "fp16") == "fp32"
    assert partials_type("max", "fp16") == "fp16"


def test_many_outputs_need_no_exchange() -> None:
    cost = Planner(MK2).plan(Reduction(1472 * 6, 100, 1))
    assert len(cost.supersteps) == 1
    assert cost.exchange_cycles == 0


def test_one_output_is_cut_over_many_tiles_and_joined() -> None:
    cost = Planner(MK2).plan(Reduction(1, 10**7, 1))
    assert cost.supersteps[0].tiles > 1000
    assert len(cost.supersteps) == 3
    assert cost.exchange_cycles > 0
    assert cost.why.alternatives
    assert all(alternative.cycles >= cost.cycles for alternative in cost.why.alternatives)


@pytest.mark.parametrize("work", [Reduction(0, 5, 5), Reduction(5, 0, 5)])
def test_nothing(work: Reduction) -> None:
    assert Planner(MK2).plan(work).cycles == 0


works = st.builds(
    Reduction,
    outer=st.integers(1, 3000),
    reduced=st.integers(1, 20_000),
    inner=st.integers(1, 3000),
    dtype=st.sampled_from(["fp32", "fp16", "int32"]),
    operation=OPERATIONS,
)


@settings(deadline=None)
@given(work=works, more=st.integers(0, 5000))
def test_monotonic_in_what_is_reduced(work: Reduction, more: int) -> None:
    planner = Planner(MK2)
    longer = Reduction(work.outer, work.reduced + more, work.inner, work.dtype, work.operation)
    assert planner.plan(longer).cycles >= planner.plan(work).cycles


@settings(deadline=None)
@given(work=works, more=st.integers(0, 3000))
def test_monotonic_in_outputs(work: Reduction, more: int) -> None:
    planner = Planner(MK2)
    larger = Reduction(work.outer + more, work.reduced, work.inner, work.dtype, work.operation)
    assert planner.plan(larger).cycles >= planner.plan(work).cycles


@settings(deadline=None)
@given(work=works)
def test_never_below_the_data_path(work: Reduction) -> None:
    cost = Planner(MK2).plan(work)
    read = work.outer * work.reduced * work.inner * item_bytes(work.dtype)
    assert cost.compute_cycles >= read / MK2.tiles / (2 * MK2.data_path_bytes)
    assert all(0 < step.tiles <= MK2.tiles and 0 < step.balance <= 1 for step in cost.supersteps)
    assert min(vars(cost.bytes).values()) >= 0
