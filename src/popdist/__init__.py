"""What a program can ask about the distributed run that it is part of.

Everything comes from the POPDIST_ environment variables that a launcher sets for each instance (host
process). A program that was started without one is a run of one instance with one replica. Runs of several
instances are described correctly but cannot be executed yet: what would need the instances to talk to each
other raises an Error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from tremula.errors import Error

__all__ = [
    "checkNumIpusPerReplica",
    "execute_on_instances",
    "finalizeBackend",
    "getDeviceId",
    "getInstanceIndex",
    "getLocalInstanceIndex",
    "getNumInstances",
    "getNumIpusPerReplica",
    "getNumLocalReplicas",
    "getNumTotalReplicas",
    "getReplicaIndexOffset",
    "init",
    "isBackendInitialized",
    "isPopdistEnvSet",
]

_backend_initialised = False


def isPopdistEnvSet() -> bool:
    """Whether the program was started by a launcher that says how the run is distributed."""
    return "POPDIST_NUM_TOTAL_REPLICAS" in os.environ


def getNumTotalReplicas() -> int:
    """Number of replicas of the model in the whole run."""
    return _number("POPDIST_NUM_TOTAL_REPLICAS", 1, at_least=1)


def getNumLocalReplicas() -> int:
    """Number of replicas that this instance drives."""
    return _number("POPDIST_NUM_LOCAL_REPLICAS", 1, at_least=1)


def getNumIpusPerReplica() -> int:
    """Number of IPUs of each replica."""
    return _number("POPDIST_NUM_IPUS_PER_REPLICA", 1, at_least=1)


def getReplicaIndexOffset() -> int:
    """Index, in the whole run, of the first replica of this instance."""
    return _number("POPDIST_REPLICA_INDEX_OFFSET", 0)


def getLocalInstanceIndex() -> int:
    """Index of this instance among those on the same host."""
    return _number("POPDIST_LOCAL_INSTANCE_INDEX", 0)


def getNumInstances() -> int:
    """Number of instances of the run."""
    if not isPopdistEnvSet():
        return 1
    if not _is_uniform():
        return _number("OMPI_COMM_WORLD_SIZE", 1, at_least=1)
    return _shared_out("POPDIST_NUM_TOTAL_REPLICAS", getNumTotalReplicas())


def getInstanceIndex() -> int:
    """Index of this instance in the run."""
    if not isPopdistEnvSet():
        return 0
    if not _is_uniform():
        return _number("OMPI_COMM_WORLD_RANK", 0)
    return _shared_out("POPDIST_REPLICA_INDEX_OFFSET", getReplicaIndexOffset())


def getDeviceId(num_ipus_per_replica: int | None = None) -> int:
    """Id of the device that the launcher reserved for this instance.

    Args:
        num_ipus_per_replica: checked against what the launcher was told, if given.

    Raises:
        Error: there was no launcher, so no device was reserved.
    """
    if num_ipus_per_replica is not None:
        checkNumIpusPerReplica(num_ipus_per_replica)
    if "POPDIST_NODE_DEVICE_ID" not in os.environ:
        raise Error("No device is reserved: POPDIST_NODE_DEVICE_ID is not set. Let the program pick one.")
    return _number("POPDIST_NODE_DEVICE_ID", 0)


def checkNumIpusPerReplica(num_ipus_per_replica: int) -> None:
    """Raise an Error if a launcher was told another number of IPUs per replica."""
    if isPopdistEnvSet() and num_ipus_per_replica != getNumIpusPerReplica():
        raise Error(
            f"The program uses {num_ipus_per_replica} IPUs per replica, but was started with "
            f"{getNumIpusPerReplica()} (POPDIST_NUM_IPUS_PER_REPLICA). Make the two agree."
        )


def init() -> None:
    """Get ready for talking to the other instances. In a run of one instance there is nothing to do."""
    global _backend_initialised
    _require_single_instance("popdist.init")
    _backend_initialised = True


def isBackendInitialized() -> bool:
    """Whether `init` was called, and `finalizeBackend` not since."""
    return _backend_initialised


def finalizeBackend() -> None:
    """The opposite of `init`."""
    global _backend_initialised
    _backend_initialised = False


def execute_on_instances(
    instances: Iterable[int], function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """Call `function` if this instance is among `instances`; None is returned on the others."""
    if getInstanceIndex() in set(instances):
        return function(*args, **kwargs)
    return None


def _require_single_instance(what: str) -> None:
    """Raise an Error in a run of several instances, saying that `what` cannot be done there."""
    if getNumInstances() > 1:
        raise Error(
            f"{what}: this is instance {getInstanceIndex()} of {getNumInstances()}. Instances cannot talk "
            "to each other yet, and each would silently train a model of its own. Run all replicas in one "
            "instance (one process, Options.replicationFactor)."
        )


def _is_uniform() -> bool:
    return _number("POPDIST_UNIFORM_REPLICAS_PER_INSTANCE", 1) != 0


def _shared_out(name: str, replicas: int) -> int:
    count, rest = divmod(replicas, getNumLocalReplicas())
    if rest:
        raise Error(
            f"{name} is {replicas}, which is no multiple of POPDIST_NUM_LOCAL_REPLICAS "
            f"({getNumLocalReplicas()}), although all instances are said to have as many replicas."
        )
    return count


def _number(name: str, default: int, at_least: int = 0) -> int:
    text = os.environ.get(name)
    if text is None:
        return default
    try:
        number = int(text)
    except ValueError:
        number = at_least - 1
    if number < at_least:
        raise Error(f"{name} is set to {text!r}: expected a whole number, {at_least} or more.")
    return number
