"""Traffic to streaming memory, the DRAM beside the chips that a machine's IPUs share.

Optimizer state kept off the chip is read and written at each update, weights of phased execution at each phase; with
replicated tensor sharding each replica moves its part only. All IPUs of a machine move theirs at the same time
and share the memory's rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tremula.errors import Error
from tremula.formatting import counted
from tremula.hardware.system import System
from tremula.plan.cost import Why

_SOURCE = "rate in the machine's file; sharing is arithmetic"


@dataclass(frozen=True)
class Streaming:
    """The cost of some reads and writes."""

    seconds: float
    #: bytes that the fullest IPU moves
    ipu_bytes: float
    #: bytes that its machine moves
    machine_bytes: float
    why: Why


def traffic(
    system: System,
    read_bytes: float,
    written_bytes: float,
    *,
    replicas: int = 1,
    ipus_per_replica: int = 1,
    sharded: bool = False,
    fullest_share: float | None = None,
) -> Streaming:
    """The time for each replica to read and write so many bytes.

    Args:
        system: the machines.
        read_bytes: bytes of one replica's tensors that are read, whole and unsharded.
        written_bytes: bytes that are written.
        replicas: replicas that do so at once.
        ipus_per_replica: IPUs over which the bytes lie.
        sharded: whether each replica keeps one part in `replicas` only.
        fullest_share: part of the bytes that lies on the fullest IPU; an equal part if None.

    Raises:
        Error: the system's machines have no streaming memory.
    """
    machine = system.machine
    moved = read_bytes + written_bytes
    if moved <= 0:
        return Streaming(0.0, 0.0, 0.0, Why(plan="nothing in streaming memory", formula="0", source=_SOURCE))
    rate = machine.streaming_bytes_per_second
    on_host = rate is None
    if rate is None:  # without memory of its own, a machine streams from the host's
        rate = machine.host_link_bytes_per_second
    if replicas < 1 or ipus_per_replica < 1:
        raise Error(f"Streaming takes at least one replica of one IPU; got {replicas} of {ipus_per_replica}.")
    shard = moved / replicas if sharded else moved
    share = fullest_share if fullest_share is not None else 1 / ipus_per_replica
    on_ipu = shard * share
    ipus = min(machine.ipus, replicas * ipus_per_replica)
    if (
        ipus_per_replica >= ipus
    ):  # a replica fills the machine: its IPUs' parts add up to no more than the whole
        on_machine = shard * min(1.0, max(share, ipus / ipus_per_replica))
    else:
        on_machine = shard * math.ceil(ipus / ipus_per_replica)
    seconds = max(on_machine / rate, on_ipu / min(rate, machine.tile_stream_bytes_per_second))
    place = "host memory, as the machine has none of its own" if on_host else "streaming memory"
    parts = f"1/{replicas} of it by each replica" if sharded else "all of it by each replica"
    return Streaming(
        seconds,
        on_ipu,
        on_machine,
        Why(
            plan=f"{moved:,.0f} bytes to and from {place}, {parts}, {counted(ipus, 'IPU')} of a machine at once",
            formula="bytes of a machine's IPUs / rate of its memory",
            source=_SOURCE,
            figures={"bytes of a machine": on_machine, "bytes per second": rate},
        ),
    )


def free_bytes_per_ipu(system: System) -> float:
    """Streaming memory of one IPU's share; 0 where the machine has none."""
    return (system.machine.streaming_memory_bytes or 0) / system.machine.ipus
