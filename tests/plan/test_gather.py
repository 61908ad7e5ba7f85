from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.planner import Planner
from tremula.program.dtypes import item_bytes
from tremula.program.work import Gather, Scatter

PLANNER = Planner(chip("bow"))
DTYPES = st.sampled_from(["fp16", "fp32"])
LOOKUPS = st.builds(
    lambda entries, width, lookups, dtype, proportion: Gather(entries, 4 * width, lookups, dtype, proportion),
    st.integers(2, 60000),
    st.integers(1, 300),
    st.integers(1, 8000),
    DTYPES,
    st.sampled_from([0.02, 0.1, 0.6]),
)
UPDATES = st.builds(
    lambda entries, width, updates, dtype, operation: Scatter(entries, 4 * width, updates, dtype, operation),
    st.integers(2, 60000),
    st.integers(1, 300),
    st.integers(1, 8000),
    DTYPES,
    st.sampled_from(["add", "set", "max"]),
)


def test_a_table_of_words_is_spread_over_the_chip() -> None:
    cost = PLANNER.plan(Gather(30522, 768, 384, "fp16"))
    assert cost.supersteps[0].tiles > 1000
    assert [step.name for step in cost.supersteps] == ["lookup", "lookup, second stage"]
    assert cost.why.alternatives


def test_little_memory_means_several_passes() -> None:
    roomy = PLANNER.plan(Gather(30522, 768, 3072, "fp16", 0.6))
    tight = PLANNER.plan(Gather(30522, 768, 3072, "fp16", 0.01))
    assert roomy.supersteps[0].repeats == 1
    assert tight.supersteps[0].repeats > 1
    assert tight.cycles > roomy.cycles
    assert tight.bytes.temporary <= 0.01 * PLANNER.chip.tile_memory_bytes


def test_halves_are_summed_as_floats() -> None:
    half = PLANNER.plan(Scatter(30522, 768, 384, "fp16"))
    assert half.supersteps[-1].name == "update, sums"


def test_rows_that_replace_each_other_are_in_one_group() -> None:
    cost = PLANNER.plan(Scatter(100, 8, 20000, "fp32", "set"))
    assert "lookups / 1" in cost.why.plan
    assert cost.flops == 0


def test_nothing_to_look_up() -> None:
    assert PLANNER.plan(Gather(100, 8, 0)).cycles == 0
    assert PLANNER.plan(Scatter(100, 8, 0)).cycles == 0


@given(LOOKUPS, st.integers(0, 2000), st.integers(0, 20))
def test_more_lookups_and_wider_rows_take_no_less_time(work: Gather, more: int, wider: int) -> None:
    cycles = PLANNER.plan(work).cycles
    assert PLANNER.plan(replace(work, lookups=work.lookups + more)).cycles >= cycles
    assert PLANNER.plan(replace(work, width=work.width + 4 * wider)).cycles >= cycles


@given(LOOKUPS, st.sampled_from([1.5, 2.0, 5.0]))
def test_more_memory_is_never_slower(work: Gather, factor: float) -> None:
    roomy = replace(work, proportion=work.proportion * factor)
    cost = PLANNER.plan(work)
    if cost.bytes.temporary <= work.proportion * PLANNER.chip.tile_memory_bytes:
        assert PLANNER.plan(roomy).cycles <= cost.cycles


@given(LOOKUPS)
def test_every_row_is_written_once(work: Gather) -> None:
    cost = PLANNER.plan(work)
    written = work.lookups * work.width * item_bytes(work.dtype)
    tile = PLANNER.chip
    for step in cost.supersteps:
        assert step.tiles <= tile.tiles
        assert 0 < step.balance <= 1
    assert cost.compute_cycles * tile.data_path_bytes * tile.tiles >= written


@given(UPDATES)
def test_updates_are_above_the_roofline(work: Scatter) -> None:
    cost = PLANNER.plan(work)
    tile = PLANNER.chip
    for step in cost.supersteps:
        assert step.flops <= 2 * tile.vector_width(work.dtype) * step.compute_cycles * step.tiles


@example(Scatter(2, 100, 197, "fp32", "add"), 7)
@given(UPDATES, st.integers(0, 2000))
def test_more_updates_take_no_less_time(work: Scatter, more: int) -> None:
    larger = replace(work, updates=work.updates + more)
    assert PLANNER.plan(larger).cycles >= PLANNER.plan(work).cycles
