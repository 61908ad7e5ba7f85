"""Plans of convolutions: against published figures, and what must hold for any."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.conv_bounds import grid_of
from tremula.plan.conv_cost import evaluate
from tremula.plan.conv_grid import Target
from tremula.plan.conv_jobs import engine_kinds, vector_kinds
from tremula.plan.conv_report import cost_of
from tremula.plan.conv_search import search
from tremula.plan.conv_shape import Dimension, shape_of
from tremula.plan.conv_transforms import Pass, transformed
from tremula.plan.cost import Cost
from tremula.plan.planner import Planner
from tremula.program.work import Convolution


def conv2d(
    batch: int, ins: int, outs: int, field: tuple[int, int], kernel: int, stride: int = 1, **more: object
) -> Convolution:
    pad = kernel // 2
    return Convolution(
        batch, ins, outs, field, (kernel, kernel), (stride, stride), ((pad, pad), (pad, pad)), (1, 1), (1, 1),
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


def plan(work: Convolution, name: str = "mk2") -> Cost:
    return Planner(chip(name)).plan(work)


convolutions = st.builds(
    conv2d,
    batch=st.integers(1, 8),
    ins=st.integers(1, 40),
    outs=st.integers(1, 40),
    field=st.tuples(st.integers(3, 30), st.integers(3, 30)),
    kernel=st.sampled_from([1, 3, 5]),
    stride=st.integers(1, 2),
    groups=st.sampled_from([1, 1, 4]),
    dtype=st.sampled_from(["fp16", "fp32"]),
    partials=st.sampled_from(["fp16", "fp32"]),
    role=st.sampled_from(["forward", "input_gradient", "weight_gradient"]),
)

#: a blur by poplin::convolution, four channels to four, repeated 200 times with a copy of the result back into
#: the input: image, type, availableMemoryProportion -> seconds on one Mk1;
#: thorbenlouw/lbm-graphcore experiments/effect-of-mem-on-convolution
BLUR = [
    ((302, 499), "fp16", 0.6, 0.00060595, "SLIC"),
    ((768, 1024), "fp16", 0.6, 0.0016564, "SLIC"),
    ((1122, 2200), "fp16", 0.6, 0.0044717, "SLIC"),
    ((302, 499), "fp32", 0.6, 0.0016749, "AMP"),
    ((768, 1024), "fp32", 0.6, 0.0063728, "AMP"),
    ((768, 1024), "fp16", 0.1, 0.045276, "HMAC"),
    ((1122, 2200), "fp16", 0.1, 0.14364, "HMAC"),
    ((1122, 2200), "fp16", 0.2, 0.13709, "HMAC"),
]


@pytest.mark.parametrize(("image", "dtype", "proportion", "seconds", "vertex"), BLUR)
def test_a_blur_takes_what_was_measured(
    image: tuple[int, int], dtype: str, proportion: float, seconds: float, vertex: str
) -> None:
    mk1 = chip("mk1")
    cost = plan(conv2d(1, 4, 4, image, 3, dtype=dtype, proportion=proportion), "mk1")
    # the copy back: bytes of a tile over the exchange, and element by element on the tile
    each = 2 if dtype == "fp16" else 4
    held = math.prod(image) * 4 * each / mk1.tiles
    copy = held / 4 + held * 1.25 / each + mk1.sync_cycles
    assert cost.why.plan.startswith(vertex)
    assert cost.cycles + copy == pytest.approx(seconds / 200 * mk1.clock_hz, rel=0.17)


def test_too_little_memory_is_a_cliff() -> None:
    enough = plan(conv2d(1, 4, 4, (768, 1024), 3, dtype="fp16", proportion=0.6), "mk1")
    little = plan(conv2d(1, 4, 4, (768, 1024), 3, dtype="fp16", proportion=0.1), "mk1")
    assert little.cycles > 20 * enough.cycles
    assert any("temporary bytes" in other.reason for other in little.why.alternatives)


@settings(max_examples=15, deadline=None)
@given(convolutions)
def test_a_plan_is_above_the_roofline_and_within_its_memory(work: Convolution) -> None:
    mk2 = chip("mk2")
    cost = plan(work)
    partials = "fp32" if work.dtype == "fp32" else work.partials
    peak = mk2.peak_flops(work.dtype, "fp16" if work.dtype == "fp16" else partials) / mk2.clock_hz / mk2.tiles
    for step in cost.supersteps:
        assert step.cycles > 0
        assert step.tiles <= mk2.tiles
        assert 0 < step.balance <= 1
        assert step.flops <= step.tiles * peak * step.compute_cycles
    assert cost.flops == pytest.approx(2 * shape_of(work).useful_macs)
    assert cost.bytes.temporary <= work.proportion * mk2.tile_memory_bytes or "nothing fits" in cost.why.plan


@settings(max_examples=8, deadline=None)
@given(convolutions, st.sampled_from([0.6, 0.01]))
def test_supersteps_add_up_to_what_the_search_compared(work: Convolution, proportion: float) -> None:
    target = Target(chip("mk2"), Pass(False, work.role), work.dtype, work.dtype)
    partials = "fp32" if work.dtype == "fp32" else work.partials
    found = search(target, shape_of(work), partials, proportion)
    assert cost_of(found, target, shape_of(work)).cycles == pytest.approx(found.best.cycles)


@settings(max_examples=8, deadline=None)
@given(convolutions, st.sampled_from([0.003, 0.01, 0.03]))
def test_more_memory_never_makes_a_plan_slower(work: Convolution, proportion: float) -> None:
    little = plan(replace(work, proportion=proportion))
    more = plan(replace(work, proportion=2 * proportion))
    if "nothing fits" not in little.why.plan:
        assert more.cycles <= little.cycles
    assert plan(replace(work, proportion=1.0)).cycles <= more.cycles


@settings(max_examples=8, deadline=None)
@given(convolutions)
def test_twice_the_work_never_takes_less(work: Convolution) -> None:
    # whole groups of channels: others are padded, which twice as many may not need
    work = replace(work, in_channels=16 * work.in_channels, out_channels=16 * work.out_channels, groups=1)
    cycles = plan(work).cycles
    for axis in ("batch", "in_channels", "out_channels"):
        doubled = plan(replace(work, **{axis: 2 * getattr(work, axis)})).cycles
        # small work uses few tiles, and more tiles rearrange their share of an operand faster
        assert doubled >= cycles * (0.98 if cycles < 5000 else 1.0)


@settings(max_examples=20, deadline=None)
@given(convolutions, st.randoms(use_true_random=False))
def test_bounds_are_bounds(work: Convolution, random: object) -> None:
    target = Target(chip("mk2"), Pass(False, work.role), work.dtype, work.dtype)
    partials = "fp32" if work.dtype == "fp32" else work.partials
    ways = list(transformed(shape_of(work), target.use, work.dtype))
    way = random.choice(ways)  # type: ignore[attr-defined]
    kind = random.choice(engine_kinds(way, target, partials) + vector_kinds(way, target, partials))  # type: ignore[attr-defined]
    for serial in (False, True):
        grid = grid_of(way, kind, target, serial, math.inf, math.inf)
        some = np.arange(0, len(grid.f), max(1, len(grid.f) // 2000))
        if len(some):
            found = evaluate(target, grid, some, False)
            assert (grid.least_cycles[some] <= found.cycles).all()
            assert (grid.least_bytes[some] <= found.bytes).all()


@given(
    st.integers(1, 40), st.integers(1, 9), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3),
    st.integers(-3, 8), st.integers(-3, 8),
)  # fmt: skip
def test_rewriting_a_dimension_keeps_its_work(
    field: int, kernel: int, stride: int, dilation: int, spread: int, before: int, after: int
) -> None:
    given_one = Dimension(field, kernel, stride, dilation, spread, before, after)
    if given_one.padded < given_one.window:
        return
    same = given_one.canonical()
    assert same.useful_pairs() == given_one.useful_pairs()
    assert same.out <= given_one.out
    swapped = same.swapped()
    assert swapped.out == same.out
    # where nothing is skipped, kernel and field are alike
    if same.stride == 1:
        assert swapped.useful_pairs() * same.kernel >= same.useful_pairs()


def test_zeros_between_inputs_cost_no_multiplications() -> None:
    forward = conv2d(8, 64, 128, (56, 56), 1, 2, dtype="fp16", partials="fp16")
    gradient = Convolution(
        8, 128, 64, (28, 28), (1, 1), (1, 1), ((0, 1), (0, 1)), (1, 1), (2, 2), 1, "fp16", "fp16", 0.6,
        "input_gradient",
    )  # fmt: skip
    assert gradient.output_field == (56, 56)
    assert plan(gradient).flops == plan(forward).flops
    assert plan(gradient).cycles < 1.5 * plan(forward).cycles


def test_every_role_and_dimension_has_a_plan() -> None:
    one = Convolution(2, 8, 8, (100,), (5,), (2,), ((2, 2),), (1,), (1,), 1, "fp16", "fp32")
    three = Convolution(
        1, 4, 8, (9, 9, 9), (3, 3, 3), (1, 1, 1), ((1, 1),) * 3, (1, 1, 1), (1, 1, 1), 1, "fp32"
    )
    for work in (one, three, replace(one, role="weight_gradient"), replace(three, role="input_gradient")):
        cost = plan(work)
        assert cost.cycles > 0
        assert cost.why.alternatives


def test_fp8_is_for_chips_that_have_it() -> None:
    work = conv2d(16, 64, 64, (56, 56), 3, dtype="fp8", partials="fp16")
    assert plan(work, "c600").cycles < plan(replace(work, dtype="fp16"), "c600").cycles
    assert plan(work, "mk2").cycles == plan(replace(work, dtype="fp16"), "mk2").cycles
