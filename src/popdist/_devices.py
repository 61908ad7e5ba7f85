"""Which device of the machine belongs to this instance."""

from __future__ import annotations

from tremula.distributed import launch_environment
from tremula.machine import partitions, systems
from tremula.machine.device_ids import child_of


def device_of_instance(parent: int) -> int:
    """The id of this instance's part of the device `parent`, by the numbering of the partition."""
    needed = launch_environment.ipus_per_replica() * launch_environment.local_replicas()
    size = 1 << (needed - 1).bit_length()  # devices have powers of two
    system = systems.current()
    if system is None:  # only the IPU model is here: nothing to choose from
        return parent
    partition = partitions.selected(system)
    return child_of(parent, size, launch_environment.local_instance(), partition.size).id
