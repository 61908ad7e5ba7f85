"""What tiles send to each other in one exchange, found from where elements lie and where they are wanted.

An element is sent once, whoever listens, and a tile receives it once, however many of its vertices read it. What goes
to another IPU leaves the internal exchange.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.placed.pieces import NOWHERE, Pieces
from tremula.placed.unions import union
from tremula.program.placed import Ints

#: bytes of a word of the exchange
WORD_BYTES = 4


@dataclass(frozen=True, eq=False)
class Traffic:
    """Bytes between pairs of tiles, each pair once, in order of the receiver; whole words."""

    source: Ints
    target: Ints
    bytes: Ints
    #: parts of the source's memory that are not next to each other
    pieces: Ints
    #: what each tile sends when an element that several tiles receive is sent once, by tile
    sender: Ints
    sent_bytes: Ints
    sent_pieces: Ints

    def __len__(self) -> int:
        return len(self.source)

    @property
    def received_bytes(self) -> int:
        """Bytes that all tiles together receive."""
        return int(self.bytes.sum())


NO_TRAFFIC = Traffic(*(np.zeros(0, dtype=np.int64) for _ in range(7)))


def traffic(pieces: Pieces, target: Ints) -> Traffic:
    """The traffic when each piece is wanted on the tile `target` (one for each piece)."""
    remote = (pieces.tile != target) & (pieces.tile != NOWHERE) & (target != NOWHERE)
    moved = pieces.chosen(remote)
    if not len(moved):
        return NO_TRAFFIC
    goal = target[remote]
    received = union(moved, goal)
    sent = union(moved, moved.tile)
    pair = goal[received.first] * (int(moved.tile.max()) + 1) + moved.tile[received.first]
    pairs, place = np.unique(pair, return_inverse=True)
    size = _words(np.bincount(place, weights=received.bytes).astype(np.int64))
    count = np.bincount(place, weights=_addresses(moved, received.first, received.count)).astype(np.int64)
    senders, place = np.unique(moved.tile[sent.first], return_inverse=True)
    return Traffic(
        source=pairs % (int(moved.tile.max()) + 1),
        target=pairs // (int(moved.tile.max()) + 1),
        bytes=size,
        pieces=count,
        sender=senders,
        sent_bytes=_words(np.bincount(place, weights=sent.bytes).astype(np.int64)),
        sent_pieces=np.bincount(place, weights=_addresses(moved, sent.first, sent.count)).astype(np.int64),
    )


def shared_bytes(pieces: Pieces, target: Ints, per_bus: int) -> tuple[Ints, Ints]:
    """Buses of `per_bus` neighbouring tiles, and the bytes that more than one of a bus receives, counted once less."""
    remote = (pieces.tile != target) & (pieces.tile != NOWHERE) & (target != NOWHERE)
    moved, goal = pieces.chosen(remote), target[remote]
    if per_bus < 2 or not len(moved):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    bus = goal // per_bus
    once = union(moved, bus)
    each = union(moved, goal)
    buses = np.unique(bus)
    total = np.zeros(len(buses), dtype=np.int64)
    np.add.at(total, np.searchsorted(buses, goal[each.first] // per_bus), each.bytes)
    np.subtract.at(total, np.searchsorted(buses, bus[once.first]), once.bytes)
    return buses, total


def _addresses(pieces: Pieces, first: Ints, count: Ints) -> Ints:
    """Separate parts of memory in runs: one if their elements are neighbours, else one for each element."""
    return np.where(np.abs(pieces.stride[first]) == 1, 1, count)


def _words(sizes: Ints) -> Ints:
    return -(-sizes // WORD_BYTES) * WORD_BYTES
