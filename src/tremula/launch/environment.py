"""The environment variables that each instance is started with: what PopDist, V-IPU and torch read."""

from __future__ import annotations

import os

from tremula.launch.check import MARK, Plan
from tremula.launch.placement import Instance
from tremula.launch.reservation import Devices


def variables(plan: Plan, instance: Instance, devices: Devices, meeting: tuple[str, int]) -> dict[str, str]:
    """What one instance is given.

    Args:
        plan: the run.
        instance: which one.
        devices: what the run holds.
        meeting: address and port of the store at which instances meet.
    """
    settings, layout = plan.settings, plan.layout
    given = {
        "POPDIST_NUM_TOTAL_REPLICAS": str(layout.num_replicas),
        "POPDIST_NUM_IPUS_PER_REPLICA": str(layout.ipus_per_replica),
        "POPDIST_NUM_LOCAL_REPLICAS": str(instance.replicas),
        "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE": "1",
    }
    if devices.parent is not None:
        given["POPDIST_NODE_DEVICE_ID"] = str(devices.parent)
    if settings.executable_cache_path:
        given["POPDIST_EXECUTABLE_CACHE_PATH"] = os.path.expanduser(settings.executable_cache_path)
    given["POPDIST_REPLICA_INDEX_OFFSET"] = str(instance.first_replica)
    given["POPDIST_LOCAL_INSTANCE_INDEX"] = str(instance.local_index)
    if plan.room is not None:
        given |= _server(plan, instance)
    if "IPUOF_LOG_LEVEL" not in os.environ:
        given["IPUOF_LOG_LEVEL"] = "WARN"
    if devices.target_options:
        given["POPLAR_TARGET_OPTIONS"] = devices.target_options
    given |= {
        "RANK": str(instance.index),
        "WORLD_SIZE": str(layout.num_instances),
        "LOCAL_RANK": str(instance.local_index),
        "LOCAL_WORLD_SIZE": str(layout.instances_per_host),
        "MASTER_ADDR": meeting[0],
        "MASTER_PORT": str(meeting[1]),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        MARK: str(os.getpid()),
    }
    if devices.token and instance.host == plan.here:
        given["TREMULA_RESERVATION"] = devices.token
    return given


def as_mpirun_sets(plan: Plan, instance: Instance) -> dict[str, str]:
    """What mpirun itself would set, for instances that are started without it."""
    return {
        "OMPI_COMM_WORLD_RANK": str(instance.index),
        "OMPI_COMM_WORLD_SIZE": str(plan.layout.num_instances),
        "OMPI_COMM_WORLD_LOCAL_RANK": str(instance.local_index),
        "OMPI_COMM_WORLD_LOCAL_SIZE": str(plan.layout.instances_per_host),
    }


def _server(plan: Plan, instance: Instance) -> dict[str, str]:
    """Options that were given win over the user's environment, and that over the defaults."""
    settings, room = plan.settings, plan.room
    assert room is not None
    found = {}
    for name, option, value in (
        ("HOST", "vipu-server-host", settings.vipu_server_host),
        ("PORT", "vipu-server-port", settings.vipu_server_port),
        ("TIMEOUT", "vipu-server-timeout", settings.vipu_server_timeout),
    ):
        variable = f"IPUOF_VIPU_API_{name}"
        inherited = None if option in settings.given else os.environ.get(variable)
        found[variable] = inherited or str(value)
    found["IPUOF_VIPU_API_PARTITION_ID"] = room.partition.name
    if len(plan.layout.hosts) > 1 or room.partition.gcds > 1:
        found["IPUOF_VIPU_API_GCD_ID"] = str(instance.host)
    return found
