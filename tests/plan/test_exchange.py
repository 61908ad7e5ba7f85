from hypothesis import given
from hypothesis import strategies as st

from tremula.hardware.catalogue import chip
from tremula.plan.exchange import exchange_code_bytes, exchange_cycles

MK2 = chip("mk2")


def test_nothing_to_exchange_costs_nothing() -> None:
    assert exchange_cycles(0, MK2) == 0
    assert exchange_code_bytes(0, MK2) == 0


def test_words_or_control_whichever_is_longer() -> None:
    latency = MK2.exchange_latency_cycles
    assert exchange_cycles(4_000, MK2) == 1_000 + latency
    assert exchange_cycles(4_000, MK2, shared_bus=True) == 500 + latency
    # a thousand pieces of a word: three instructions each
    assert exchange_cycles(4_000, MK2, fragments=1_000) == 3_000 + latency


def test_code_of_many_small_pieces() -> None:
    assert exchange_code_bytes(4_000, MK2, fragments=1_000) == 4 * (1_000 + 3_000)
    # long messages are sent 64 words at a time
    assert exchange_code_bytes(64 * 4 * 10, MK2) == 4 * (10 + 3)


@given(
    size=st.integers(1, 10**6),
    more=st.integers(0, 10**6),
    pieces=st.integers(1, 5_000),
    extra=st.integers(0, 5_000),
)
def test_more_bytes_or_pieces_never_take_less(size: int, more: int, pieces: int, extra: int) -> None:
    assert exchange_cycles(size + more, MK2, pieces + extra) >= exchange_cycles(size, MK2, pieces)
    assert exchange_cycles(size, MK2, pieces) >= size / MK2.exchange_bytes_per_cycle
    assert exchange_cycles(size, MK2, pieces, shared_bus=True) <= exchange_cycles(size, MK2, pieces)
    assert exchange_code_bytes(size, MK2, pieces + extra) >= exchange_code_bytes(size, MK2, pieces)
