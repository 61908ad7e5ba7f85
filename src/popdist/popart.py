"""What a launcher decided, for PopART sessions: their replicas, and a device for them.

Sessions run in one process: a run of several instances is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import popdist
from tremula.errors import Error

if TYPE_CHECKING:
    from popart import DeviceInfo, SessionOptions

__all__ = ["configureSessionOptions", "getDevice"]


def configureSessionOptions(options: SessionOptions) -> None:
    """Give a session the replicas of this instance.

    Raises:
        Error: the run has several instances.
    """
    _require_one_instance("popdist.popart.configureSessionOptions")
    replicas = popdist.getNumLocalReplicas()
    options.enableReplicatedGraphs = replicas > 1
    options.replicatedGraphCount = replicas
    options.enableDistributedReplicatedGraphs = True
    options.globalReplicaOffset = popdist.getReplicaIndexOffset()
    options.globalReplicationFactor = popdist.getNumTotalReplicas()


def getDevice(connectionType: Any = None, ipusPerReplica: int = 0) -> DeviceInfo:
    """A device with the IPUs of all replicas of this instance.

    Raises:
        Error: the run has several instances.
    """
    import popart

    _require_one_instance("popdist.popart.getDevice")
    ipus = (ipusPerReplica or popdist.getNumIpusPerReplica()) * popdist.getNumLocalReplicas()
    named = {} if connectionType is None else {"connectionType": connectionType}
    found: DeviceInfo = popart.DeviceManager().acquireAvailableDevice(ipus, **named)
    return found


def _require_one_instance(what: str) -> None:
    count = popdist.getNumInstances()
    if count > 1:
        raise Error(
            f"{what}: this run has {count} instances, and PopART sessions run in one process here. Start the program "
            "with one instance that has all replicas: poprun --num-instances 1 --num-replicas N.",
            type="popdist_error",
        )
