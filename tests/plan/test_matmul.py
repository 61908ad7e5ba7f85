"""Plans of matrix products: against published figures, and what must hold for any."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.cost import Cost
from tremula.plan.planner import Planner
from tremula.program.work import MatMul


def plan(work: MatMul, name: str = "mk2") -> Cost:
    return Planner(chip(name)).plan(work)


#: graphcore-research/notebooks sparsity_benchmarks/SpMM.ipynb, dense baseline, TFLOP/s on a Bow
GEMM = [
    (MatMul(4096, 4096, 512, dtype="fp32"), 52.45),
    (MatMul(4096, 4096, 1024, dtype="fp16", partials="fp16"), 197.7),
]


@pytest.mark.parametrize(("work", "teraflops"), GEMM)
def test_a_large_product_is_as_fast_as_was_measured(work: MatMul, teraflops: float) -> None:
    bow = chip("bow")
    cost = plan(work, "bow")
    assert cost.flops / cost.cycles * bow.clock_hz / 1e12 == pytest.approx(teraflops, rel=0.12)


sizes = st.integers(1, 300)
products = st.builds(
    MatMul,
    rows=sizes,
    inner=sizes,
    columns=sizes,
    groups=st.sampled_from([1, 1, 1, 6]),
    dtype=st.sampled_from(["fp16", "fp32"]),
    partials=st.sampled_from(["fp16", "fp32"]),
    role=st.sampled_from(["forward", "input_gradient", "weight_gradient"]),
)


@settings(max_examples=12, deadline=None)
@given(products)
def test_twice_the_work_never_takes_less(work: MatMul) -> None:
    # whole groups of channels: others are padded, which twice as many may not need
    work = replace(work, rows=16 * work.rows, inner=16 * work.inner, columns=16 * work.columns)
    cycles = plan(work).cycles
    for axis in ("rows", "inner", "columns", "groups"):
        if axis == "groups" and work.groups == 1 and work.role != "forward":
            continue  # one group is a product with weights, several are products of activations: another kind of work
        doubled = plan(replace(work, **{axis: 2 * getattr(work, axis)})).cycles
        # small work uses few tiles, and more tiles rearrange their share of an operand faster
        assert doubled >= cycles * (0.98 if cycles < 5000 else 1.0)


@settings(max_examples=12, deadline=None)
@given(products, st.sampled_from([0.01, 0.05]))
def test_memory_is_a_bound_and_more_of_it_never_slows(work: MatMul, proportion: float) -> None:
    little = plan(replace(work, proportion=proportion))
    more = plan(replace(work, proportion=2 * proportion))
    if "nothing fits" not in little.why.plan:
        assert little.bytes.temporary <= proportion * chip("mk2").tile_memory_bytes
        assert more.cycles <= little.cycles
    assert plan(work).cycles <= more.cycles


@settings(max_examples=12, deadline=None)
@given(products)
def test_operands_are_interchangeable(work: MatMul) -> None:
    """The transposed product is the same work: the planner may swap operands, at the price of other orders."""
    cycles, transposed = plan(work).cycles, plan(replace(work, rows=work.columns, columns=work.rows)).cycles
    assert max(cycles, transposed) < 3 * min(cycles, transposed)


def test_a_split_over_time_is_told() -> None:
    cost = plan(MatMul(512, 1024, 30528, dtype="fp16", partials="fp16", proportion=0.2))
    assert "turns" in cost.why.plan
    assert {"slice", "multiply", "update"} <= {step.name for step in cost.supersteps}
    assert cost.why.figures["turns"] > 1
    assert sum(step.flops * step.repeats for step in cost.supersteps) == pytest.approx(2 * 512 * 1024 * 30528)


def test_nothing_that_fits_is_said() -> None:
    cost = plan(MatMul(4000, 4000, 4000, dtype="fp32", proportion=0.001))
    assert "nothing fits the memory allowed" in cost.why.plan


def test_gradients_cost_their_rearrangements() -> None:
    forward = plan(MatMul(512, 1024, 1024, dtype="fp16", partials="fp16"))
    gradient = plan(MatMul(512, 1024, 1024, dtype="fp16", partials="fp16", role="input_gradient"))
    assert gradient.cycles > forward.cycles
    assert "rearrange operands" in {step.name for step in gradient.supersteps}


def test_narrow_products_do_without_the_matrix_engine() -> None:
    assert plan(MatMul(1, 4000, 1000, dtype="fp32")).why.plan.startswith("HMAC")
    assert plan(MatMul(1000, 1000, 1000, dtype="fp32")).why.plan.startswith("AMP")
