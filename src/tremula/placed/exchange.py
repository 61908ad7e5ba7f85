"""How long an exchange takes on each tile, and what its code and buffers take.

A tile sends and receives one word in so many cycles; words that several tiles want are sent once. Two tiles on one bus
that receive the same words receive them at twice the speed. For each source a tile executes instructions of which the
longer of words and instructions counts; separate words of the source are sent by an instruction each. Before and after
pass the cycles of the chip's mean tile (plan/exchange.py).

The compiler fixes the order of transfers beforehand. As long as every word has one receiver, they are laid out in time:
longest first, then by tile, each at the first moment at which both ends are free for all of it. So gaps remain.
Tutorial 6's matrix, which arrives row by row and is wanted in seven columns of pieces, takes 7,930 cycles on the mean
tile of Mk2 for 6,788 words; with the other exchanges of that program 8,536, of which published profiles have 8,697 (IPU
model) and 8,743 (hardware). Exchanges of more than 30,000 transfers, and those with words for several receivers, are
taken to have no gaps.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np

from tremula.placed.hardware import PlacedHardware
from tremula.placed.pieces import NOWHERE, Pieces
from tremula.placed.traffic import WORD_BYTES, Traffic, shared_bytes, traffic
from tremula.plan.exchange import WORDS_PER_SEND
from tremula.program.placed import Floats, Ints
from tremula.schedule.links import Transfer, exchange

#: transfers that are laid out in time
MOST_TRANSFERS = 30_000

_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Exchange:
    """An exchange within each IPU of a replica, and what goes from one IPU to another."""

    tiles: Ints  #: that send or receive, ascending
    cycles: Floats  #: of each of them
    received: Ints  #: bytes of each of them, from its own IPU and from others
    code_bytes: Ints  #: instructions of each of them
    #: from the first tile's start to the last one's end
    slowest: float = 0.0
    between_ipus: Transfer | None = None
    between_cycles: float = 0.0
    bytes_in: tuple[int, ...] = ()  #: of each IPU, from others
    bytes_out: tuple[int, ...] = ()
    #: tiles that send, and the bytes of each, those for several receivers once
    senders: Ints = field(default_factory=lambda: _NONE)
    sent: Ints = field(default_factory=lambda: _NONE)

    @property
    def received_bytes(self) -> int:
        """Bytes that all tiles together receive."""
        return int(self.received.sum())


NO_EXCHANGE = Exchange(_NONE, np.zeros(0), _NONE, _NONE)


def exchange_of(pieces: Pieces, target: Ints, hardware: PlacedHardware) -> Exchange:
    """The exchange that brings each piece to the tile `target` (one for each piece)."""
    per_ipu = hardware.chip.tiles
    away = (pieces.tile != NOWHERE) & (target != NOWHERE) & (pieces.tile // per_ipu != target // per_ipu)
    if not away.any():
        return _within(pieces, target, hardware)
    inner = _within(pieces.chosen(~away), target[~away], hardware)
    return _with_links(inner, traffic(pieces.chosen(away), target[away]), hardware)


def _within(pieces: Pieces, target: Ints, hardware: PlacedHardware) -> Exchange:
    moved = traffic(pieces, target)
    if not len(moved):
        return NO_EXCHANGE
    tiles = np.union1d(moved.target, moved.sender)
    receiver = np.searchsorted(tiles, moved.target)
    sender = np.searchsorted(tiles, moved.sender)
    received = _summed(receiver, moved.bytes, len(tiles))
    sources = np.bincount(receiver, minlength=len(tiles))
    sent, addresses = np.zeros(len(tiles)), np.zeros(len(tiles), dtype=np.int64)
    sent[sender], addresses[sender] = moved.sent_bytes, moved.sent_pieces
    rate = hardware.exchange_bytes_per_cycle
    control = hardware.chip.exchange_instructions_per_fragment * sources
    several = moved.received_bytes > int(moved.sent_bytes.sum())
    if several or len(moved) > MOST_TRANSFERS:
        taken = received - _saved(pieces, target, hardware, tiles)
        cycles = np.maximum(np.ceil(taken / rate), np.maximum(np.ceil(sent / rate), addresses))
        end = 0.0
    else:
        cycles, end = _laid_out(moved, tiles, rate)
    cycles = np.maximum(cycles, control) + hardware.chip.exchange_mean_latency_cycles
    slowest = max(end + hardware.chip.exchange_mean_latency_cycles, float(cycles.max()))
    sends = np.maximum(addresses, -(-sent.astype(np.int64) // (WORD_BYTES * WORDS_PER_SEND)))
    more = hardware.chip.exchange_latency_cycles - hardware.chip.exchange_mean_latency_cycles
    return Exchange(
        tiles,
        cycles,
        received,
        hardware.chip.instruction_bytes * (sends + control),
        slowest + more,
        senders=moved.sender,
        sent=moved.sent_bytes,
    )


def _saved(pieces: Pieces, target: Ints, hardware: PlacedHardware, tiles: Ints) -> Floats:
    """Bytes of each tile that come at no cost of their own, as the bus carries them for a neighbour as well."""
    per_bus = hardware.chip.tiles_per_exchange_bus
    buses, shared = shared_bytes(pieces, target, per_bus)
    saved = np.zeros(len(tiles))
    if len(buses):
        at = np.searchsorted(buses, tiles // per_bus)
        known = (at < len(buses)) & (buses[np.minimum(at, len(buses) - 1)] == tiles // per_bus)
        saved[known] = shared[at[known]] / per_bus
    return saved


def _laid_out(moved: Traffic, tiles: Ints, rate: float) -> tuple[Floats, float]:
    """Cycles of each tile from its first word to its last (before, it waits), and when the last one of all ends."""
    cycles = np.maximum(np.ceil(moved.bytes / rate), moved.pieces).astype(np.int64)
    order = np.lexsort((moved.source, moved.target, -cycles))
    sender = np.searchsorted(tiles, moved.source[order]).tolist()
    receiver = np.searchsorted(tiles, moved.target[order]).tolist()
    sends = [_Busy() for _ in range(len(tiles))]
    receives = [_Busy() for _ in range(len(tiles))]
    for source, goal, length in zip(sender, receiver, cycles[order].tolist(), strict=True):
        start = _first_free(sends[source], receives[goal], length)
        sends[source].take(start, length)
        receives[goal].take(start, length)
    both = list(zip(sends, receives, strict=True))
    ends = [max(a.end, b.end) for a, b in both]
    lasts = np.array(
        [end - min(a.begin, b.begin) for end, (a, b) in zip(ends, both, strict=True)], dtype=float
    )
    return lasts, float(max(ends))


class _Busy:
    """The times at which one end of transfers is busy, neighbouring ones joined."""

    __slots__ = ("begins", "ends")

    def __init__(self) -> None:
        self.begins: list[int] = []
        self.ends: list[int] = []

    @property
    def end(self) -> int:
        return self.ends[-1] if self.ends else 0

    @property
    def begin(self) -> float:
        return self.begins[0] if self.begins else float("inf")

    def free_from(self, start: int, length: int) -> int:
        """The first moment from `start` on from which it is free for so long."""
        at = bisect_right(self.ends, start)
        while at < len(self.begins) and self.begins[at] < start + length:
            start = self.ends[at]
            at += 1
        return start

    def take(self, start: int, length: int) -> None:
        at = bisect_right(self.ends, start - 1)
        end = start + length
        if at < len(self.ends) and self.ends[at] == start:
            self.ends[at] = end
            if at + 1 < len(self.begins) and self.begins[at + 1] == end:
                self.ends[at] = self.ends[at + 1]
                del self.begins[at + 1], self.ends[at + 1]
        elif at < len(self.begins) and self.begins[at] == end:
            self.begins[at] = start
        else:
            self.begins.insert(at, start)
            self.ends.insert(at, end)


def _first_free(one: _Busy, other: _Busy, length: int) -> int:
    start = 0
    while True:
        later = other.free_from(one.free_from(start, length), length)
        if later == start:
            return start
        start = later


def _with_links(inner: Exchange, moved: Traffic, hardware: PlacedHardware) -> Exchange:
    """The same exchange, with what goes between IPUs over the links of the system."""
    per_ipu = hardware.chip.tiles
    source, target = moved.source // per_ipu, moved.target // per_ipu
    between: dict[tuple[int, int], float] = {}
    for a, b, size in zip(source.tolist(), target.tolist(), moved.bytes.tolist(), strict=True):
        between[a, b] = between.get((a, b), 0.0) + size
    pieces = int(np.bincount(moved.source, weights=moved.pieces).max()) if len(moved) else 1
    found = exchange(hardware.system, between, pieces=pieces, ipus=hardware.ipus)
    tiles = np.union1d(inner.tiles, moved.target)
    cycles, received, code = (np.zeros(len(tiles)), *(np.zeros(len(tiles), dtype=np.int64) for _ in range(2)))
    at = np.searchsorted(tiles, inner.tiles)
    cycles[at], received[at], code[at] = inner.cycles, inner.received, inner.code_bytes
    at = np.searchsorted(tiles, moved.target)
    np.add.at(received, at, moved.bytes)
    np.add.at(code, at, hardware.chip.instruction_bytes * hardware.chip.exchange_instructions_per_fragment)
    return Exchange(
        tiles,
        cycles,
        received,
        code,
        inner.slowest,
        found,
        (found.seconds - found.sync_seconds) * hardware.chip.clock_hz,
        tuple(int(moved.bytes[target == ipu].sum()) for ipu in range(hardware.ipus)),
        tuple(int(moved.bytes[source == ipu].sum()) for ipu in range(hardware.ipus)),
        np.concatenate([inner.senders, moved.sender]),
        np.concatenate([inner.sent, moved.sent_bytes]),
    )


def _summed(place: Ints, values: Ints, count: int) -> Ints:
    found = np.zeros(count, dtype=np.int64)
    np.add.at(found, place, values)
    return found
