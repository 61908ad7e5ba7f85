"""Reads the environment variables that the launcher sets for each instance.

A program that was started without a launcher is a run of one instance with one replica. This imports nothing heavy:
programs call it before they do anything else.
"""

from __future__ import annotations

import os

from tremula.distributed import protocol
from tremula.errors import Error


def is_launched() -> bool:
    """Whether a launcher says how the run is distributed."""
    return protocol.TOTAL_REPLICAS in os.environ


def total_replicas() -> int:
    """Replicas of the whole run."""
    return number(protocol.TOTAL_REPLICAS, 1, at_least=1)


def local_replicas() -> int:
    """Replicas of this instance."""
    return number(protocol.LOCAL_REPLICAS, 1, at_least=1)


def ipus_per_replica() -> int:
    """IPUs of each replica."""
    return number(protocol.IPUS_PER_REPLICA, 1, at_least=1)


def replica_offset() -> int:
    """Index, in the whole run, of this instance's first replica."""
    return number(protocol.REPLICA_OFFSET, 0)


def local_instance() -> int:
    """Index of this instance among those on the same host."""
    return number(protocol.LOCAL_INSTANCE, 0)


def instances() -> int:
    """Instances of the run."""
    if not is_launched():
        return 1
    if not _is_uniform():
        return number(protocol.MPI_SIZE, 1, at_least=1)
    return _shared_out(protocol.TOTAL_REPLICAS, total_replicas())


def instance() -> int:
    """Index of this instance in the run."""
    if not is_launched():
        return 0
    if not _is_uniform():
        return number(protocol.MPI_RANK, 0)
    return _shared_out(protocol.REPLICA_OFFSET, replica_offset())


def on_one_host() -> bool:
    """Whether all instances are on this host."""
    size = number(protocol.WORLD_SIZE, instances(), at_least=1)
    return number(protocol.LOCAL_WORLD_SIZE, number(protocol.MPI_LOCAL_SIZE, 0)) == size


def node_device() -> int | None:
    """The device that the launcher reserved on this host, of which each instance has a part."""
    return number(protocol.NODE_DEVICE, 0) if protocol.NODE_DEVICE in os.environ else None


def executable_cache() -> str | None:
    """The folder for compiled programs that the launcher was given."""
    return os.environ.get(protocol.EXECUTABLE_CACHE) or None


def number(name: str, default: int, at_least: int = 0) -> int:
    """A whole number from the environment; raises Error if something else is there."""
    text = os.environ.get(name)
    if text is None:
        return default
    try:
        value = int(text)
    except ValueError:
        value = at_least - 1
    if value < at_least:
        raise Error(f"{name} is set to {text!r}: expected a whole number, {at_least} or more.")
    return value


def _is_uniform() -> bool:
    return number(protocol.UNIFORM, 1) != 0


def _shared_out(name: str, replicas: int) -> int:
    count, rest = divmod(replicas, local_replicas())
    if rest:
        raise Error(
            f"{name} is {replicas}, which is not a multiple of {protocol.LOCAL_REPLICAS} ({local_replicas()}), "
            "although all instances are said to have as many replicas."
        )
    return count
