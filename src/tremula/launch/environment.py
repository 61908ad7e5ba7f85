"""The environment variables of each instance: what the distributed run, V-IPU and torch read."""

from __future__ import annotations

import os
from collections.abc import Mapping

from tremula.distributed import protocol
from tremula.invariants import present
from tremula.launch.check import Plan
from tremula.launch.placement import Instance
from tremula.launch.reservation import Devices


def variables(plan: Plan, instance: Instance, devices: Devices, stores: Mapping[str, str]) -> dict[str, str]:
    """The variables of one instance; `stores` says where the instances meet."""
    settings, layout = plan.settings, plan.layout
    given = {
        protocol.TOTAL_REPLICAS: str(layout.num_replicas),
        protocol.IPUS_PER_REPLICA: str(layout.ipus_per_replica),
        protocol.LOCAL_REPLICAS: str(instance.replicas),
        protocol.UNIFORM: "1",
    }
    if devices.parent is not None:
        given[protocol.NODE_DEVICE] = str(devices.parent)
    if settings.executable_cache_path:
        given[protocol.EXECUTABLE_CACHE] = os.path.expanduser(settings.executable_cache_path)
    given[protocol.REPLICA_OFFSET] = str(instance.first_replica)
    given[protocol.LOCAL_INSTANCE] = str(instance.local_index)
    if plan.occupancy is not None:
        given |= _server(plan, instance)
    if "IPUOF_LOG_LEVEL" not in os.environ:
        given["IPUOF_LOG_LEVEL"] = "WARN"
    if devices.target_options:
        given["POPLAR_TARGET_OPTIONS"] = devices.target_options
    given |= {
        protocol.RANK: str(instance.index),
        protocol.WORLD_SIZE: str(layout.num_instances),
        protocol.LOCAL_RANK: str(instance.local_index),
        protocol.LOCAL_WORLD_SIZE: str(layout.instances_per_host),
        **stores,
        protocol.LAUNCHER: str(os.getpid()),
    }
    if devices.token and instance.host == plan.here:
        given[protocol.RESERVATION] = devices.token
    return given


def as_mpirun_sets(plan: Plan, instance: Instance) -> dict[str, str]:
    """The variables that mpirun would set, for instances that are started without it."""
    return {
        protocol.MPI_RANK: str(instance.index),
        protocol.MPI_SIZE: str(plan.layout.num_instances),
        protocol.MPI_LOCAL_RANK: str(instance.local_index),
        protocol.MPI_LOCAL_SIZE: str(plan.layout.instances_per_host),
    }


def _server(plan: Plan, instance: Instance) -> dict[str, str]:
    """Given options override the user's environment, and the environment overrides the defaults."""
    settings, occupancy = plan.settings, present(plan.occupancy, "the partition")
    found = {}
    for name, option, value in (
        ("HOST", "vipu-server-host", settings.vipu_server_host),
        ("PORT", "vipu-server-port", settings.vipu_server_port),
        ("TIMEOUT", "vipu-server-timeout", settings.vipu_server_timeout),
    ):
        variable = f"IPUOF_VIPU_API_{name}"
        inherited = None if option in settings.given else os.environ.get(variable)
        found[variable] = inherited or str(value)
    found["IPUOF_VIPU_API_PARTITION_ID"] = occupancy.partition.name
    if len(plan.layout.hosts) > 1 or occupancy.partition.gcds > 1:
        found["IPUOF_VIPU_API_GCD_ID"] = str(instance.host)
    return found
