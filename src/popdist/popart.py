"""The replicas and the device that a launcher set, for PopART sessions and PopXL programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import popdist
from tremula.distributed import launch_environment

if TYPE_CHECKING:
    from popart import DeviceInfo, SessionOptions

__all__ = ["configureSessionOptions", "getDevice"]


def configureSessionOptions(options: SessionOptions) -> None:
    """Set the replicas of this instance and of the whole run for a session."""
    replicas = popdist.getNumLocalReplicas()
    options.enableReplicatedGraphs = replicas > 1
    options.replicatedGraphCount = replicas
    options.enableDistributedReplicatedGraphs = True
    options.globalReplicaOffset = popdist.getReplicaIndexOffset()
    options.globalReplicationFactor = popdist.getNumTotalReplicas()


def getDevice(*args: Any, **kwargs: Any) -> DeviceInfo:
    """A device with the IPUs of all replicas of this instance: its part of what the launcher reserved.

    Args:
        args: as the two below, which may stand in either order.
        kwargs: `connectionType`, when it is attached; `ipusPerReplica`, checked against what the launcher was given.

    Raises:
        Error: the numbers do not agree.
    """
    import popart

    connection, ipus = _sorted(args, kwargs)
    manager = popart.DeviceManager()
    named: dict[str, Any] = {}
    if connection is not None:
        named["connectionType"] = connection
    if launch_environment.node_device() is None or not manager.enumerateDevices():
        count = (ipus or popdist.getNumIpusPerReplica()) * popdist.getNumLocalReplicas()
        return manager.acquireAvailableDevice(count, **named)
    return manager.acquireDeviceById(popdist.getDeviceId(ipus), **named)


def _sorted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, int]:
    """Connection type and IPUs per replica."""
    import popart

    named = dict(kwargs)
    connection, ipus = named.pop("connectionType", None), named.pop("ipusPerReplica", None)
    for each in args:
        if isinstance(each, popart.DeviceConnectionType) and connection is None:
            connection = each
        elif isinstance(each, int) and not isinstance(each, popart.DeviceConnectionType) and ipus is None:
            ipus = each
        elif each is not None:
            raise TypeError(
                "popdist.popart.getDevice takes a connection type and a number of IPUs, not a "
                f"{type(each).__name__}."
            )
    if named:
        raise TypeError(f"popdist.popart.getDevice has no argument {next(iter(named))}.")
    return connection, ipus or 0
