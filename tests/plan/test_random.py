from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.planner import Planner
from tremula.plan.random import random_cycles, set_seed_cycles
from tremula.program.dtypes import item_bytes
from tremula.program.work import Random

MK2 = chip("mk2")
KINDS = st.sampled_from(["uniform", "normal", "truncated_normal", "bernoulli", "dropout"])


def test_formulas() -> None:
    assert random_cycles("dropout", 4_000, "fp16", MK2) == 6 + 6 * 24 + 2 * 1_000
    assert random_cycles("normal", 4_000, "fp32", MK2) == 4 + 6 * 22 + 4 * 2_000
    assert set_seed_cycles(MK2) == 14 + 6 * 27


def test_seeds_are_set_and_restored() -> None:
    cost = Planner(MK2).plan(Random("dropout", 10**6, "fp16"))
    assert [step.name for step in cost.supersteps] == ["set seeds", "dropout", "restore seeds"]
    assert Planner(MK2).plan(Random("dropout", 0)).cycles == 0


@given(
    kind=KINDS,
    elements=st.integers(1, 10**8),
    more=st.integers(0, 10**6),
    dtype=st.sampled_from(["fp32", "fp16"]),
)
def test_monotonic_and_never_below_the_data_path(kind: str, elements: int, more: int, dtype: str) -> None:
    planner = Planner(MK2)
    cost = planner.plan(Random(kind, elements, dtype))
    assert planner.plan(Random(kind, elements + more, dtype)).cycles >= cost.cycles
    share = cost.why.figures["elements per tile"]
    assert cost.supersteps[1].compute_cycles >= share * item_bytes(dtype) / MK2.data_path_bytes
