"""A program on its device: the memories of the replicas, and what programs use while they run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tremula.frontends.poplar.execute.arena import Arena
from tremula.frontends.poplar.execute.compute import Machine
from tremula.frontends.poplar.execute.remote import RemoteBuffers
from tremula.frontends.poplar.execute.streams import HostEnds

#: called with the arrays of the inputs and those of the outputs, which it fills
HostFunctionCode = Callable[[Sequence[Any], Sequence[Any]], None]


def _to_stderr(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


class Host:
    """What a program uses of the host. It outlives loads: streams stay connected."""

    def __init__(self, ends: HostEnds, buffers: RemoteBuffers) -> None:
        self.ends = ends
        self.buffers = buffers
        self.functions: dict[str, HostFunctionCode] = {}
        self.print: Callable[[str], object] = _to_stderr


class Loaded:
    """The state of a loaded program."""

    def __init__(
        self,
        arenas: Sequence[Arena],
        host: Host,
        machine: Machine,
        leaf_cycles: Callable[[], Mapping[int, float]],
    ) -> None:
        self.arenas = arenas
        self.host = host
        self.machine = machine
        self.leaf_cycles = leaf_cycles
        self.everyone = tuple(range(len(arenas)))
        #: the replicas that run now; the others took another way through a branch or a loop
        self.active = self.everyone
        #: how often each block of programs ran: all that is in a block runs as often as the block
        self.counts: list[int] = []

    def new_block(self) -> int:
        """The number of a new block."""
        self.counts.append(0)
        return len(self.counts) - 1
