from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.spread import spread

MK2 = chip("mk2")


def test_small_tensors_stay_together() -> None:
    assert spread(32, "fp32", MK2) == (32, 1, 1.0)
    assert spread(33, "fp32", MK2).tiles == 2
    assert spread(0, "fp32", MK2).elements == 0


@given(
    elements=st.integers(1, 10**8),
    more=st.integers(0, 10**6),
    dtype=st.sampled_from(["fp32", "fp16", "bool"]),
)
def test_shares_cover_all_elements_and_grow(elements: int, more: int, dtype: str) -> None:
    share = spread(elements, dtype, MK2)
    assert share.tiles <= MK2.tiles
    assert (share.tiles - 1) * share.elements < elements <= share.tiles * share.elements
    assert 0 < share.balance <= 1
    assert spread(elements + more, dtype, MK2).elements >= share.elements
