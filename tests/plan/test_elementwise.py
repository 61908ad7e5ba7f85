import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan import elementwise_table as table
from tremula.plan.cost import Cost
from tremula.plan.elementwise import bandwidth_bytes_per_second, roofline_cycles
from tremula.plan.elementwise_vertices import binary_cycles, fused_cycles, resolve, unary_cycles
from tremula.plan.planner import Planner
from tremula.program.work import Elementwise

MK2 = chip("mk2")
NAMES = sorted(
    {
        *table.UNARY,
        *table.BINARY,
        *table.ACTIVATION,
        *table.ACTIVATION_GRADIENT,
        *table.TERNARY,
        *table.SCALED,
    }
    | set(table.ALIASES)
    | set(table.EXPRESSIONS)
)


def plan(work: Elementwise) -> Cost:
    return Planner(MK2).plan(work)


def test_formula_of_an_addition() -> None:
    # 600 elements of fp32: 100 per worker, 50 vectors of three cycles after 29 of setup
    assert binary_cycles("add", 600, "fp32", MK2) == 11 + 6 * (29 + 50 * 3)
    assert unary_cycles("exp", 600, "fp16", MK2) == 20 + 6 * (33 + 25 * 4)


def test_one_superstep_with_a_sync() -> None:
    cost = plan(Elementwise("add", 10**6, operands=2))
    (step,) = cost.supersteps
    assert step.sync_cycles == MK2.sync_cycles
    assert step.exchange_cycles == 0
    assert step.flops == 10**6
    assert "1471 tiles" in cost.why.plan


#: what programs are lowered to
ASKED_FOR = """
    add sub mul div neg abs exp expm1 log log1p log2 sqrt rsqrt square reciprocal tanh sigmoid relu gelu gelu_gradient
    relu_gradient silu softplus erf sin cos tan asin acos atan sinh cosh floor ceil round trunc sign pow pow_scalar max
    min clamp compare logical select where remainder fmod bitwise shift isnan scaled_add axpby atan2 dropout_mask
    hardswish mish leaky_relu elu prelu tanh_gradient sigmoid_gradient silu_gradient
"""


def test_known_names() -> None:
    for name in ASKED_FOR.split():
        assert not resolve(name)[1], name


def test_expressions_name_only_what_the_table_has() -> None:
    for expression in table.EXPRESSIONS.values():
        assert not resolve(expression)[1], expression
    for target in table.ALIASES.values():
        assert not resolve(target)[1], target


def test_unknown_operation_says_so() -> None:
    cost = plan(Elementwise("frobnicate", 1_000))
    assert cost.fallback
    assert "frobnicate" in cost.why.plan.split("not in the table")[1]
    assert not plan(Elementwise("add", 1_000, operands=2)).fallback


def test_a_fused_pass_loads_and_stores_once() -> None:
    apart = sum(
        plan(Elementwise(name, 10**6, "fp16", operands=operands)).cycles
        for name, operands in (("mul", 2), ("add", 2), ("neg", 1))
    )
    fused = plan(Elementwise("mul+add+neg", 10**6, "fp16", operands=3))
    assert len(fused.supersteps) == 1
    assert fused.cycles < apart
    # three loads, a store, a turn and three instructions
    assert fused_cycles(("mul", "add", "neg"), 2_400, "fp16", 3, MK2) == 11 + 6 * (26 + 100 * 8)


def test_repeated_operands_are_sent() -> None:
    elements = 4096 * 1024
    for inner, count in ((True, 1024), (False, 4096), (False, 1)):
        cost = plan(Elementwise("add", elements, "fp16", 2, broadcast_elements=count, broadcast_inner=inner))
        assert cost.exchange_cycles > 0
        assert cost.bytes.temporary > 0
        assert cost.bytes.exchange_code > 0


def test_a_repeated_operand_without_a_vertex_is_written_out() -> None:
    # PopLibs: no vertex for a maximum, nor for single precision; and half precision needs whole vectors
    for name, dtype, length in (("max", "fp16", 200), ("add", "fp32", 200), ("add", "fp16", 201)):
        work = Elementwise(name, 201 * 10**4, dtype, 2, broadcast_elements=length, broadcast_inner=True)
        assert "as often as needed" in plan(work).why.plan
    work = Elementwise("add", 201 * 10**4, "fp16", 2, broadcast_elements=200, broadcast_inner=True)
    assert "blocks with a vector" in plan(work).why.plan


def test_nothing() -> None:
    assert plan(Elementwise("add", 0)).cycles == 0


def test_stream_triad() -> None:
    # simehaa/IPU, STREAM triad in assembly on Mk2: 46.55 TB/s measured
    measured = bandwidth_bytes_per_second(MK2, "triad", bytes_per_worker=30_000)
    assert measured == pytest.approx(46.55e12, rel=0.002)
    # of a peak of three words per cycle; short loops are further below it
    assert measured < bandwidth_bytes_per_second(MK2, "triad") == pytest.approx(46.99e12, rel=1e-3)
    assert bandwidth_bytes_per_second(MK2, "triad", bytes_per_worker=300) < 0.8 * measured
    # a triad in C++ on Mk1: 7.26 TB/s measured, 16 % of the peak of a triad and not of a read
    assert bandwidth_bytes_per_second(chip("mk1"), "triad", compiled=True) == pytest.approx(7.26e12, rel=0.08)
    # Jia et al., aggregate read on Mk1: 30.7 TB/s measured
    assert bandwidth_bytes_per_second(chip("mk1"), "read") == pytest.approx(30.7e12, rel=0.02)


works = st.builds(
    Elementwise,
    operation=st.sampled_from(NAMES),
    elements=st.integers(1, 10**8),
    dtype=st.sampled_from(["fp32", "fp16", "int32", "bool", "int64"]),
    operands=st.integers(1, 3),
    in_place=st.booleans(),
)


@given(work=works)
def test_never_below_the_data_path(work: Elementwise) -> None:
    cost = plan(work)
    assert cost.compute_cycles >= roofline_cycles(work, MK2)
    assert min(vars(cost.bytes).values()) >= 0
    (step,) = cost.supersteps
    assert 0 < step.tiles <= MK2.tiles
    assert 0 < step.balance <= 1


@given(
    operation=st.sampled_from(NAMES),
    elements=st.integers(1, 10**7),
    more=st.integers(0, 10**5),
    dtype=st.sampled_from(["fp32", "fp16", "int32"]),
    in_place=st.booleans(),
    broadcast=st.sampled_from([None, 1, 64, 768, 1000]),
    inner=st.booleans(),
)
def test_more_elements_never_take_less(
    operation: str, elements: int, more: int, dtype: str, in_place: bool, broadcast: int | None, inner: bool
) -> None:
    if broadcast is not None:
        elements, more = (elements + 1) * broadcast, more * broadcast
    if broadcast is not None and broadcast > 1 and not inner:
        # rows keep their length
        inner = True
    less, greater = (
        plan(Elementwise(operation, n, dtype, 2, broadcast, inner, None, in_place)).cycles
        for n in (elements, elements + more)
    )
    assert greater >= less


@given(
    operation=st.sampled_from(["add", "mul", "relu"]), elements=st.integers(1, 10**8), in_place=st.booleans()
)
def test_half_is_never_slower_than_single(operation: str, elements: int, in_place: bool) -> None:
    operands = 1 if operation == "relu" else 2
    half, single = (
        plan(Elementwise(operation, elements, dtype, operands, in_place=in_place)).cycles
        for dtype in ("fp16", "fp32")
    )
    assert half <= single
