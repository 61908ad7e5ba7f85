import math
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.hardware.catalogue import chip, system
from tremula.plan import stencil_halo
from tremula.plan.cost import Cost
from tremula.plan.planner import Planner
from tremula.plan.stencil_halo import copies, crossing_pieces
from tremula.plan.stencil_partition import candidate_partitions, even, factorisations, partition
from tremula.plan.stencil_vertex import cycles_per_vector, sweep_cycles
from tremula.program.dtypes import item_bytes
from tremula.program.work import Stencil
from tremula.schedule.constants import FITTED_SCHEDULE

MK1, MK2 = Planner(chip("mk1")), Planner(chip("mk2"))

RULES = st.sampled_from(["blocks", "factors"])
GRIDS = st.one_of(
    st.tuples(st.integers(1, 5000)),
    st.tuples(st.integers(1, 3000), st.integers(1, 3000)),
    st.tuples(st.integers(1, 400), st.integers(1, 400), st.integers(1, 400)),
)
CHIPS = st.sampled_from([1, 2, 4, 8, 16])


def blur(dtype: str, vector: int, ipus: int = 1) -> Stencil:
    """Nine points of an image of four colours, as in thorbenlouw/lbm-graphcore."""
    return Stencil((1122, 2200), 1, 9, 4, dtype, vector, halos_apart=True, ipus=ipus, flops_per_value=11)


def phase(cost: Cost, name: str) -> float:
    return sum(s.compute_cycles + s.exchange_cycles for s in cost.supersteps if s.name == name)


@pytest.mark.parametrize(
    ("work", "name", "published"),
    [
        # cycles of phases on Mk1, thorbenlouw/lbm-graphcore exchange-vs-compute.csv
        (blur("fp16", 4), "pre", 5741),
        (blur("fp16", 4), "post", 4826),
        (blur("fp16", 4), "exchange", 637),
        (blur("fp16", 4), "compute", 63531),
        (blur("fp32", 2), "compute", 100257),
        (blur("fp32", 1), "compute", 210249),
        (blur("fp32", 1), "exchange", 1173),
        (blur("fp32", 1), "pre", 8279),
        (blur("fp32", 1), "post", 6954),
        (blur("fp16", 4, 16), "pre", 1611),
        (blur("fp16", 4, 16), "post", 882),
        (blur("fp32", 2, 16), "post", 954),
        (blur("fp16", 4, 16), "exchange", 263),
        (blur("fp32", 2, 16), "exchange", 397),
        (blur("fp16", 4, 16), "compute", 4446),
        (blur("fp16", 4, 16), "global exchange", 3043),
        (blur("fp32", 2, 16), "global exchange", 4017),
    ],
)
def test_phases_are_those_that_were_measured(work: Stencil, name: str, published: float) -> None:
    assert phase(MK1.plan(work), name) == pytest.approx(published, rel=0.12)


def test_blocks_are_those_of_the_published_codes() -> None:
    assert partition((1122, 2200), 1216, 1, "blocks", (1, 1)).tiles == (24, 49)
    assert next(partition((358, 358, 358), 1472, 1, "factors").blocks()) == (16, 45, 45)
    halves = partition((358, 358, 358), 1472, 2, "factors")
    assert halves.chips == (1, 1, 2)
    assert sorted(next(halves.blocks())) == [16, 23, 45]
    # strips of the dimension that divides better, in the program that the figures are from
    assert partition((1122, 2200), 1216, 8, "blocks").chips == (1, 8)
    assert partition((1122, 2200), 1216, 16, "blocks").chips == (16, 1)


def test_contexts_that_share_whole_rows_copy_nothing() -> None:
    apart = Stencil((288, 624), 1, 9, 4, halos_apart=True)
    two_rows_each, two_columns_each = [((2, 12), 6)], [((12, 2), 6)]
    assert copies(apart, (12, 12), two_rows_each, 0, MK1.chip) == (0, 0, 0)
    # in and out: 72 pieces of rows, 144 points of 16 bytes
    assert copies(apart, (12, 12), two_columns_each, 0, MK1.chip) == (1008, 1008, 2304)
    # rows that hold their halos are copied once, results are not
    before, after, size = copies(replace(apart, halos_apart=False), (12, 12), two_rows_each, 0, MK1.chip)
    assert (before, size) == (0, 6 * 4 * 14 * 16)
    assert after == 6 * 4 * 10 + size / 8


def test_strided_halos_take_longer_between_chips_than_rows() -> None:
    wide, tall = (1000, 1001), (1001, 1000)  # cut along rows, and along columns
    by_rows, by_columns = (MK1.plan(Stencil(g, 1, 9, 4, "fp16", 4, ipus=2)) for g in (wide, tall))
    assert phase(by_columns, "global exchange") > 1.5 * phase(by_rows, "global exchange")
    cut = partition((1000, 1000), 1216, 2, "blocks")
    block = next(cut.blocks())
    assert crossing_pieces(Stencil((1000, 1000), 1, 9, 4), cut, block) == block[0] + 2


def test_constants_of_links_are_those_of_the_machines() -> None:
    machine = system("pod4").machine
    assert machine.link_latency_seconds == stencil_halo.LINK_LATENCY_SECONDS
    assert machine.rail_links == stencil_halo.LINKS
    assert FITTED_SCHEDULE.piece_cycles == stencil_halo.PIECE_CYCLES


def test_later_compilers_pair_arithmetic_with_loads() -> None:
    heat = Stencil((358, 358, 358), 1, 7, vector=2)
    memory, arithmetic = 7 + 2 + 2, 9
    assert cycles_per_vector(heat, MK1.chip) == memory + arithmetic
    assert cycles_per_vector(heat, MK2.chip) == pytest.approx(memory + 0.7 * arithmetic)
    # addresses that stay in no register are loads like others
    assert cycles_per_vector(Stencil((9, 9), 1, 5, address_loads=2), MK1.chip) == 5 + 1 + 2 + 2 + 6


def test_ends_of_rows_are_done_singly() -> None:
    heat = Stencil((358, 358, 358), 1, 7, vector=2)

    def row(points: int) -> float:
        return (
            sweep_cycles(heat, [((2, 1, points), 1)], MK2.chip)
            - sweep_cycles(heat, [((1, 1, points), 1)], MK2.chip)
        ) / 6

    vector, single = cycles_per_vector(heat, MK2.chip), 7 + 1 + 0.7 * 8
    assert row(45) == pytest.approx(14 + single + 22 * vector)
    assert row(46) == pytest.approx(14 + 2 * single + 22 * vector)
    assert row(47) == pytest.approx(14 + single + 23 * vector)


@pytest.mark.parametrize(
    ("ipus", "side", "published"),
    [(1, 358, 0.2549e-3), (4, 506, 0.2559e-3), (16, 804, 0.3150e-3)],
)
def test_heat_equation_on_mk2(ipus: int, side: int, published: float) -> None:
    # simehaa/IPU README: 1.44, 4.05 and 13.2 TFLOP/s of 8 operations per point
    work = Stencil((side, side, side), 1, 7, vector=2, ipus=ipus, partition="factors")
    assert MK2.plan(work).cycles / MK2.chip.clock_hz == pytest.approx(published, rel=0.10)


@given(GRIDS, CHIPS, RULES, st.integers(1, 2000))
def test_blocks_cover_the_grid_exactly(grid: tuple[int, ...], chips: int, rule: str, tiles: int) -> None:
    cut = partition(grid, tiles, min(chips, *grid), rule)
    assert cut.tiles_per_chip <= tiles
    for dimension, extent in enumerate(grid):
        sizes = cut.sizes(dimension)
        assert sum(sizes) == extent
        assert min(sizes) >= 1


@given(GRIDS, RULES)
def test_pieces_of_workers_cover_the_block_exactly(block: tuple[int, ...], rule: str) -> None:
    cut = partition(block, 1, 1, rule)
    for pieces in cut.pieces(block, 6):
        assert sum(math.prod(shape) * count for shape, count in pieces) == math.prod(block)
        assert sum(count for _, count in pieces) <= 6


@given(st.integers(1, 10**6), st.integers(1, 2000))
def test_even_parts(extent: int, parts: int) -> None:
    sizes = even(extent, parts)
    assert sum(sizes) == extent
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(1, 2000), st.integers(1, 3))
def test_factorisations_multiply_back(number: int, factors: int) -> None:
    assert (factorisations(number, factors).prod(axis=1) == number).all()


@pytest.mark.slow
@given(st.tuples(st.integers(16, 900), st.integers(16, 900)), st.integers(0, 40), st.integers(0, 40))
def test_a_larger_grid_takes_no_less_time_by_the_best_cut(
    grid: tuple[int, int], more_rows: int, more_columns: int
) -> None:
    small = Stencil(grid, 1, 5, partition="best")
    large = Stencil((grid[0] + more_rows, grid[1] + more_columns), 1, 5, partition="best")
    # but for the ends of rows: those of odd length end in a single element, which takes a turn of its own
    assert MK2.plan(large).cycles >= 0.95 * MK2.plan(small).cycles


@pytest.mark.slow
@given(st.tuples(st.integers(16, 900), st.integers(16, 900)), RULES)
@example((222, 218), "blocks")  # the rule's 37 x 39 tiles exchange less than the even 39 x 37
def test_the_best_cut_is_not_worse_than_near_square_blocks(grid: tuple[int, int], rule: str) -> None:
    best = MK2.plan(Stencil(grid, 1, 5, partition="best"))
    other = MK2.plan(Stencil(grid, 1, 5, partition=rule))
    assert best.cycles <= other.cycles * 1.001


@given(GRIDS, CHIPS, RULES, st.sampled_from(["fp16", "fp32"]), st.integers(1, 2), st.integers(1, 4))
def test_no_phase_is_below_the_roofline(
    grid: tuple[int, ...], ipus: int, rule: str, dtype: str, radius: int, values: int
) -> None:
    work = Stencil(grid, radius, 9, values, dtype, ipus=min(ipus, *grid), partition=rule)
    for planner in (MK1, MK2):
        cost = planner.plan(work)
        at_once = 2 * planner.chip.vector_width(dtype)
        for step in cost.supersteps:
            assert step.flops <= at_once * step.compute_cycles * step.tiles
            assert 0 < step.balance <= 1
        halo = cost.why.figures["halo bytes per tile"]
        assert cost.exchange_cycles >= halo / planner.chip.exchange_bytes_per_cycle
        per_tile = math.prod(grid) * values * item_bytes(dtype) / (planner.chip.tiles * work.ipus)
        assert phase(cost, "post") >= per_tile / planner.chip.memcpy_bytes_per_cycle


def test_wider_neighbourhoods_more_values_and_chips() -> None:
    base = MK2.plan(Stencil((800, 800), 1, 5))
    assert MK2.plan(Stencil((800, 800), 2, 5)).exchange_cycles > base.exchange_cycles
    assert MK2.plan(Stencil((800, 800), 1, 9)).compute_cycles > base.compute_cycles
    assert MK2.plan(Stencil((800, 800), 1, 5, 2)).cycles > base.cycles
    four = MK2.plan(Stencil((800, 800), 1, 5, ipus=4))
    assert four.compute_cycles < base.compute_cycles
    assert phase(four, "global exchange") > 0
    assert phase(base, "global exchange") == 0


def test_the_users_own_count_of_cycles_wins() -> None:
    counted = Stencil((800, 800), 1, 5, cycles_per_vector=50)
    assert cycles_per_vector(counted, MK2.chip) == 50
    assert MK2.plan(counted).compute_cycles > MK2.plan(Stencil((800, 800), 1, 5)).compute_cycles


def test_candidates_respect_the_smallest_block() -> None:
    for cut in candidate_partitions((1122, 2200), 1216, 1, (72, 64)):
        assert min(cut.sizes(0)) >= 72
        assert min(cut.sizes(1)) >= 64


@pytest.mark.parametrize(
    "work",
    [
        Stencil((10, 10), 1, 5, partition="stripes"),
        Stencil((10, 0), 1, 5),
        Stencil((10, 10), 1, 5, smallest_block=(4,)),
    ],
)
def test_what_cannot_be_cut_is_refused(work: Stencil) -> None:
    with pytest.raises(Error):
        MK2.plan(work)


def test_more_dimensions_are_cut_by_factors() -> None:
    assert MK2.plan(Stencil((358, 358, 358), 1, 7)) == MK2.plan(
        Stencil((358, 358, 358), 1, 7, partition="factors")
    )
    assert MK2.plan(Stencil((800, 900), 1, 5)) == MK2.plan(Stencil((800, 900), 1, 5, partition="blocks"))


def test_rows_as_vectors_of_their_own_lie_on_a_tile_once_and_take_pointers() -> None:
    blocks = Stencil((246, 246, 246), 2, 13, partition="factors")
    rows = replace(blocks, row_edges=True)
    whole, apart = MK2.plan(blocks), MK2.plan(rows)
    # blocks of 11 x 31 x 31 points with two around them
    assert apart.bytes.temporary == 15 * 35 * 35 * 4 < whole.bytes.temporary
    # six contexts read ten or nine by fifteen or fourteen rows, and write theirs
    read, written = (10 + 9) * (15 + 14 + 14), 11 * 31
    assert apart.bytes.vertex_state - whole.bytes.vertex_state == 8 * (read + written)


def test_what_lies_beside_the_block_of_its_vertices_is_copied() -> None:
    lying_right = Stencil((246, 246, 246), 2, 13, partition="factors", row_edges=True)
    shifted = replace(lying_right, shifted=True, own_fields=3, compute_sets=3)
    right, beside = MK2.plan(lying_right), MK2.plan(shifted)
    assert beside.bytes.temporary - right.bytes.temporary == 4 * 11 * 31 * 31 * 4
    assert beside.bytes.exchange_code > 3 * right.bytes.exchange_code
    assert beside.cycles > right.cycles
    # TszwangKo/FYP_IPU_DEVITO: 732,960 bytes on the fullest tile, which also holds points of the grid's border
    used = (
        5 * 11 * 31 * 31 * 4 + beside.bytes.temporary + beside.bytes.vertex_state + beside.bytes.exchange_code
    )
    assert used == pytest.approx(732_960, rel=0.2)
