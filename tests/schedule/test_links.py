"""Traffic between IPUs: routes on the ladder, what links carry, how long it takes."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.hardware import catalogue
from tremula.schedule.constants import ScheduleConstants
from tremula.schedule.links import (
    Link,
    bytes_by_link,
    exchange,
    halo_transfers,
    route,
    stage_copies,
    sync_seconds,
)

MESH = catalogue.system("pod16")
TORUS = catalogue.system("pod64")
RACKS = catalogue.system("pod256")
MK1 = catalogue.system("dss8440")

systems = st.sampled_from([MESH, TORUS, RACKS, MK1])


def arrives(system: object, source: int, links: list[Link]) -> int:
    """The IPU at the end of a way, walked by the meaning of each kind of link."""
    at = source
    for link in links:
        per_rack = system.ipus_per_rack  # type: ignore[attr-defined]
        rack = at // per_rack * per_rack
        if link.kind == "gateway":
            assert link.at == at // 4
            return -1
        assert link.at == at
        if link.kind in ("pair", "cross"):
            at ^= 1
        else:
            at = rack + (at - rack + (2 if link.kind == "up" else -2)) % per_rack
    return at


@given(systems, st.data())
def test_a_route_ends_where_it_should(system: object, data: st.DataObject) -> None:
    last = system.ipus_per_rack - 1  # type: ignore[attr-defined]
    source, destination = data.draw(st.integers(0, last)), data.draw(st.integers(0, last))
    links = list(route(system, source, destination))  # type: ignore[arg-type]
    assert arrives(system, source, links) == destination
    assert len(links) == len(set(links))
    if system is TORUS or system is RACKS:  # the shorter way round 32 rungs, and perhaps one rung
        assert len(links) <= 17


def test_routes_of_the_ladder() -> None:
    assert [str(link.kind) for link in route(MESH, 0, 1)] == ["pair"]
    assert [link.kind for link in route(MESH, 0, 5)] == ["cross", "up", "up"]
    assert [link.kind for link in route(MESH, 7, 3)] == ["down", "down"]
    assert [link.kind for link in route(TORUS, 0, 62)] == ["down"]
    assert list(route(MESH, 3, 3)) == []
    far = list(route(RACKS, 6, 64 + 9))
    assert far[0] == Link("gateway", 1)
    assert [link.kind for link in far[1:]] == ["cross", "up"]


def test_unknown_ipus_are_refused() -> None:
    with pytest.raises(Error, match="no IPU 16 in pod16"):
        list(route(MESH, 0, 16))


sizes = st.floats(1, 1e9)
pairs = st.tuples(st.integers(0, 15), st.integers(0, 15))


@given(systems, st.dictionaries(pairs, sizes, max_size=30))
def test_links_carry_what_was_sent(system: object, transfers: dict[tuple[int, int], float]) -> None:
    carried = bytes_by_link(system, transfers)  # type: ignore[arg-type]
    hops = sum(
        size * len(list(route(system, *pair)))  # type: ignore[arg-type]
        for pair, size in transfers.items()
    )
    assert sum(carried.values()) == pytest.approx(hops)
    sent: Counter[int] = Counter()
    for (source, destination), size in transfers.items():
        if source != destination:
            sent[source] += size  # type: ignore[assignment]
    # all that an IPU sends leaves over its own links; what passes through it does too
    left: Counter[int] = Counter()
    for link, size in carried.items():
        left[link.at] += size  # type: ignore[assignment]
    assert all(left[ipu] >= size * (1 - 1e-9) for ipu, size in sent.items())


@given(systems, st.dictionaries(pairs, sizes, min_size=1, max_size=10), st.floats(1, 100))
def test_more_bytes_never_take_less_time(
    system: object, transfers: dict[tuple[int, int], float], factor: float
) -> None:
    less = exchange(system, transfers)  # type: ignore[arg-type]
    more = exchange(system, {pair: factor * size for pair, size in transfers.items()})  # type: ignore[arg-type]
    assert more.seconds >= less.seconds
    assert exchange(system, transfers, pieces=100).seconds >= less.seconds  # type: ignore[arg-type]


@given(sizes)
def test_no_transfer_is_faster_than_its_links(size: float) -> None:
    cost = exchange(MESH, {(0, 1): size})
    assert cost.seconds > size / MESH.link_bytes_per_second("pair")
    assert cost.bytes_by_link == {Link("pair", 0): size}


def test_nothing_costs_nothing() -> None:
    assert exchange(MESH, {}).seconds == 0
    assert exchange(MESH, {(3, 3): 100.0, (0, 1): 0.0}).seconds == 0


def test_sync_is_that_of_poplibs() -> None:
    # ceil(15 ns x clock x 2 x (1 + (n / 2) / 2)), 240 cycles of 1.6 GHz for 16 IPUs
    assert sync_seconds(MK1, 16) * MK1.chip.clock_hz == pytest.approx(240)
    assert sync_seconds(MK1, 2) == pytest.approx(30e-9)
    assert sync_seconds(MK1, 1) == 0


def test_both_directions_of_a_link_are_independent() -> None:
    one = exchange(MESH, {(0, 2): 1e6}, ipus=4)
    both = exchange(MESH, {(0, 2): 1e6, (2, 0): 1e6}, ipus=4)
    assert one.seconds == both.seconds


def test_copies_between_stages() -> None:
    # from 1 to 2 the rung is crossed first, so two links carry it; from 0 to 1 four do
    cost = stage_copies(MESH, {(0, 1): 4e6, (1, 2): 4e6, (2, 3): 4e6}, 4)
    transfer = 4e6 / MESH.link_bytes_per_second("cross")
    rest = MESH.machine.link_latency_seconds + sync_seconds(MESH, 4)
    piece = ScheduleConstants().piece_cycles / MESH.chip.clock_hz
    assert cost.seconds == pytest.approx(transfer + rest + piece)
    assert cost.why.figures["fullest link seconds"] == pytest.approx(transfer)


@pytest.mark.parametrize(("bytes_per_point", "published"), [(8, 3043 + 501), (16, 4017 + 642)])
def test_blur_on_16_ipus_of_mk1(bytes_per_point: int, published: float) -> None:
    """thorbenlouw/lbm-graphcore, 2200 x 1122 points on 4 x 4 IPUs: global exchange and sync, cycles."""
    halo = halo_transfers((4, 4), (2200 / 4 * bytes_per_point, 1122 / 4 * bytes_per_point))
    cost = exchange(MK1, halo, pieces=11)  # a tile has 11 x 11 points
    # fitted to these and others, yet 37 and 17 % too long: an eighth of the 10,746 and 15,821 cycles of the whole
    assert cost.seconds * MK1.chip.clock_hz == pytest.approx(published, rel=0.4)


def test_halo_of_a_grid() -> None:
    halo = halo_transfers((2, 2), (10.0, 20.0))
    assert halo[0, 2] == halo[2, 0] == halo[1, 3] == 10
    assert halo[0, 1] == halo[3, 2] == 20
    assert len(halo) == 8
    assert halo_transfers((1, 1), (1.0, 1.0)) == {}
