"""Device ids of a partition.

Single IPUs come first, then pairs, then fours, and so on; each size is numbered from the first IPU upwards. In a
partition of 64 that makes 0 to 63, 64 to 95, 96 to 111, ... and 126 for all of them, as real logs show
("Attached to device 96" for four IPUs, 120 for sixteen).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from tremula.errors import Error


@dataclass(frozen=True)
class Device:
    """A set of neighbouring IPUs that act as one target."""

    id: int  #: what programs and `--device-id` name
    ipus: tuple[int, ...]  #: indices of its IPUs in the partition

    @property
    def first(self) -> int:
        """Its lowest IPU."""
        return self.ipus[0]


def sizes(partition_ipus: int) -> Iterator[int]:
    """How many IPUs a device of the partition can have: powers of two."""
    size = 1
    while size <= partition_ipus:
        yield size
        size *= 2


@functools.cache
def devices(partition_ipus: int) -> tuple[Device, ...]:
    """All devices of a partition in the order of their ids."""
    found: list[Device] = []
    for size in sizes(partition_ipus):
        for index in range(partition_ipus // size):
            ipus = tuple(range(index * size, (index + 1) * size))
            found.append(Device(len(found), ipus))
    return tuple(found)


@functools.cache
def of_size(ipus: int, partition_ipus: int) -> tuple[Device, ...]:
    """The devices of exactly `ipus` IPUs, in the order of their ids."""
    return tuple(each for each in devices(partition_ipus) if len(each.ipus) == ipus)


def device(device_id: int, partition_ipus: int) -> Device:
    """The device with an id; raises Error if there is none."""
    found = devices(partition_ipus)
    if not 0 <= device_id < len(found):
        raise Error(
            f"There is no device {device_id}: {partition_ipus} IPU(s) have the ids 0 to {len(found) - 1} "
            "(`gc-info --list-devices` shows them)."
        )
    return found[device_id]


def child_of(parent_id: int, ipus: int, index: int, partition_ipus: int) -> Device:
    """The `index`th device of `ipus` IPUs inside another.

    Raises Error if there is no such parent, or it has fewer such children.
    """
    parent = device(parent_id, partition_ipus)
    inside = [each for each in of_size(ipus, partition_ipus) if set(each.ipus) <= set(parent.ipus)]
    if not 0 <= index < len(inside):
        raise Error(
            f"Device {parent_id} has {len(parent.ipus)} IPU(s) and so {len(inside)} device(s) of {ipus}; "
            f"number {index} is not among them."
        )
    return inside[index]
