import math

from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.planner import Planner
from tremula.plan.pooling import output_field
from tremula.program.dtypes import item_bytes
from tremula.program.work import Pool

PLANNER = Planner(chip("bow"))
KINDS = st.sampled_from(["max", "average", "sum"])
POOLS = st.builds(
    lambda kind, batch, channels, field, kernel, stride, dtype, gradient: Pool(
        kind, batch, channels, (field, field + 3), (kernel, kernel), (stride, stride), dtype, gradient
    ),
    KINDS,
    st.integers(1, 32),
    st.integers(1, 300),
    st.integers(7, 120),
    st.integers(1, 7),
    st.integers(1, 4),
    st.sampled_from(["fp16", "fp32"]),
    st.booleans(),
)


def test_output_field() -> None:
    assert output_field(Pool("max", 1, 1, (112, 112), (2, 2), (2, 2))) == (56, 56)
    assert output_field(Pool("average", 1, 1, (7, 7), (7, 7), (1, 1))) == (1, 1)


def test_the_plan_is_told() -> None:
    cost = PLANNER.plan(Pool("max", 16, 64, (112, 112), (3, 3), (2, 2), "fp16"))
    (step,) = cost.supersteps
    assert step.tiles > 1000
    assert "tiles" in cost.why.plan
    assert cost.why.alternatives
    assert cost.bytes.temporary > 0


def test_a_gradient_of_a_maximum_costs_more_than_the_maximum() -> None:
    forward = Pool("max", 16, 64, (112, 112), (3, 3), (2, 2), "fp16")
    backward = Pool("max", 16, 64, (112, 112), (3, 3), (2, 2), "fp16", gradient=True)
    assert PLANNER.plan(backward).cycles > PLANNER.plan(forward).cycles


@given(POOLS)
def test_roofline(work: Pool) -> None:
    (step,) = PLANNER.plan(work).supersteps
    tile = PLANNER.chip
    assert step.flops <= 2 * tile.vector_width(work.dtype) * step.compute_cycles * step.tiles
    assert 0 < step.balance <= 1
    assert step.tiles <= tile.tiles
    # the whole input is brought to tiles at least once
    if not work.gradient and all(s <= k for s, k in zip(work.stride, work.kernel, strict=True)):
        seen = math.prod(
            (o - 1) * s + k for o, s, k in zip(output_field(work), work.stride, work.kernel, strict=True)
        )
        moved = work.batch * work.channels * seen * item_bytes(work.dtype)
        assert step.exchange_cycles >= moved / step.tiles / tile.exchange_bytes_per_cycle


@given(POOLS, st.integers(0, 8), st.integers(0, 64))
def test_more_work_takes_no_less_time(work: Pool, more_batch: int, more_channels: int) -> None:
    more = Pool(
        work.kind,
        work.batch + more_batch,
        work.channels + 16 * more_channels,
        work.field,
        work.kernel,
        work.stride,
        work.dtype,
        work.gradient,
    )
    assert PLANNER.plan(more).cycles >= PLANNER.plan(work).cycles
