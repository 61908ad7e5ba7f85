from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.cast import cast_cycles
from tremula.plan.planner import Planner
from tremula.program.dtypes import item_bytes
from tremula.program.work import Cast

MK2 = chip("mk2")
TYPES = st.sampled_from(["fp32", "fp16", "int32", "int8", "uint8", "bool", "int64", "fp8"])


def test_between_floating_point_types() -> None:
    # 6000 elements, 1000 per worker: 500 stores of two fp32 each
    assert cast_cycles(6_000, "fp16", "fp32", MK2) == 12 + 6 * (18 + 19 + 500 + 3)
    assert cast_cycles(6_000, "int32", "fp32", MK2) > 2 * cast_cycles(6_000, "fp16", "fp32", MK2)


@given(elements=st.integers(1, 10**8), more=st.integers(0, 10**6), source=TYPES, target=TYPES)
def test_monotonic_and_never_below_the_data_path(elements: int, more: int, source: str, target: str) -> None:
    planner = Planner(MK2)
    cost = planner.plan(Cast(elements, source, target))
    assert planner.plan(Cast(elements + more, source, target)).cycles >= cost.cycles
    share = cost.why.figures["elements per tile"]
    assert cost.compute_cycles >= share * item_bytes(target) / MK2.data_path_bytes
    assert cost.compute_cycles >= share * item_bytes(source) / (2 * MK2.data_path_bytes)
