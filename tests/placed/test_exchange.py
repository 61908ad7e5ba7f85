"""Exchanges: what they move, how long that takes, and that no cost falls when there is more to do."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.placed.programs import reading, runs, small_hardware, variables

from tremula.hardware.catalogue import chip
from tremula.placed.compute_sets import read_exchange
from tremula.placed.estimate import PlacedEstimate
from tremula.placed.exchange import exchange_of
from tremula.placed.hardware import hardware_of
from tremula.placed.phases import PhaseKind
from tremula.placed.pieces import split
from tremula.placed.traffic import traffic

#: element, and the tile that wants it
WANTED = st.lists(st.tuples(st.integers(0, 63), st.integers(0, 15)), min_size=1, max_size=40)
NAMES = variables([number // 4 for number in range(64)])
LATENCY = chip("mk2").exchange_mean_latency_cycles


def moved(wanted: list[tuple[int, int]]) -> tuple[set[tuple[int, int]], set[int]]:
    """What tiles receive from others, and what is sent."""
    remote = {(element, tile) for element, tile in wanted if element // 4 != tile}
    return remote, {element for element, _ in remote}


@given(WANTED)
def test_each_tile_receives_an_element_once_and_its_owner_sends_it_once(
    wanted: list[tuple[int, int]],
) -> None:
    pieces = split(runs(*((element, 1, 1) for element, _ in wanted)), NAMES)
    found = traffic(pieces, np.array([tile for _, tile in wanted]))
    received, sent = moved(wanted)
    assert found.received_bytes == 4 * len(received)
    assert int(found.sent_bytes.sum()) == 4 * len(sent)


@given(WANTED, st.tuples(st.integers(0, 63), st.integers(0, 15)))
def test_more_to_receive_never_takes_less_time_nor_less_code(
    wanted: list[tuple[int, int]], more: tuple[int, int]
) -> None:
    hardware = small_hardware()

    def words(of: list[tuple[int, int]]) -> tuple[int, int]:
        pieces = split(runs(*((element, 1, 1) for element, _ in of)), NAMES)
        exchange = exchange_of(pieces, np.array([tile for _, tile in of]), hardware)
        return exchange.received_bytes, int(exchange.code_bytes.sum())

    fewer, all_of_them = words(wanted), words([*wanted, more])
    assert fewer[0] <= all_of_them[0]
    assert fewer[1] <= all_of_them[1]


@given(st.integers(1, 16), st.integers(1, 15))
def test_multicast_is_never_dearer_than_separate_sends(count: int, receivers: int) -> None:
    names = variables([0] * 16 * 15)
    target = list(range(1, receivers + 1))
    same = reading(names, target, [(0, count, 1)] * receivers)
    own = reading(names, target, [(number * 16, count, 1) for number in range(receivers)])
    hardware = small_hardware()
    together = read_exchange(same.compute_sets[0], names, hardware)
    apart = read_exchange(own.compute_sets[0], names, hardware)
    assert together.slowest <= apart.slowest
    assert together.received_bytes == apart.received_bytes
    assert int(together.sent.sum()) * receivers == int(apart.sent.sum())


def test_a_word_a_cycle_and_the_cycles_around_it() -> None:
    names = variables([0] * 100 + [1] * 100)
    program = reading(names, [2], [(0, 100, 1)])
    found = read_exchange(program.compute_sets[0], names, small_hardware())
    assert found.cycles[found.tiles == 2].tolist() == [100 + LATENCY]
    halved = hardware_of(chip("mk2").with_tiles(16), exchange_bytes_per_cycle=2.0)
    slow = read_exchange(program.compute_sets[0], names, halved)
    assert slow.cycles[slow.tiles == 2].tolist() == [200 + LATENCY]


def test_neighbours_on_a_bus_receive_the_same_at_twice_the_speed() -> None:
    names = variables([0] * 100)
    # tiles 2 and 3 share a bus, 3 and 4 do not
    pair = reading(names, [2, 3], [(0, 100, 1)] * 2)
    others = reading(names, [3, 4], [(0, 100, 1)] * 2)
    hardware = small_hardware()
    fast = read_exchange(pair.compute_sets[0], names, hardware)
    slow = read_exchange(others.compute_sets[0], names, hardware)
    assert fast.cycles[fast.tiles == 2].tolist() == [50 + LATENCY]
    assert slow.cycles[slow.tiles == 3].tolist() == [100 + LATENCY]


def test_ends_that_are_busy_make_transfers_wait() -> None:
    # tile 0 has two pieces for two tiles: its own sending takes both times
    names = variables([0] * 100)
    program = reading(names, [2, 4], [(0, 50, 1), (50, 50, 1)])
    found = read_exchange(program.compute_sets[0], names, small_hardware())
    by_tile = dict(zip(found.tiles.tolist(), (found.cycles - LATENCY).tolist(), strict=True))
    assert by_tile == {0: 100.0, 2: 50.0, 4: 50.0}
    # the second of the two ends when both have been sent; before it began, its tile has waited
    assert found.slowest == 100 + chip("mk2").exchange_latency_cycles


def test_what_lies_on_the_tile_is_not_moved() -> None:
    names = variables([3] * 8)
    estimate = PlacedEstimate(reading(names, [3], [(0, 8, 1)]), small_hardware())
    assert [phase.kind for phase in estimate.leaves[0].phases] == [PhaseKind.COMPUTE]


def test_between_ipus_data_take_the_links() -> None:
    names = variables([0] * 8 + [20] * 8)
    hardware = small_hardware(ipus=2)
    program = reading(names, [17], [(0, 8, 1)])
    estimate = PlacedEstimate(program, hardware)
    kinds = [phase.kind for phase in estimate.leaves[0].phases]
    assert kinds == [PhaseKind.GLOBAL_SYNC, PhaseKind.GLOBAL_EXCHANGE, PhaseKind.COMPUTE]
    assert estimate.leaves[0].phases[1].bytes_in == 32
