"""Information about the distributed run of a program, and synchronisation of its instances.

The launcher (`poprun`) describes the run to each instance (host process) in environment variables. Without a
launcher, a program is a run of one instance with one replica. The import is cheap: code that communicates with other
instances is loaded when it is first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tremula.distributed import launch_environment, protocol
from tremula.errors import Error

if TYPE_CHECKING:
    import torch

    from tremula.distributed.collectives import Group

__all__ = [
    "allReduceMean",
    "allReduceSum",
    "broadcast",
    "checkNumIpusPerReplica",
    "defaultCommunicatorId",
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
    "initializeBackend",
    "isBackendInitialized",
    "isPopdistEnvSet",
    "registerCommunicator",
    "synchronize",
]

_DEFAULT_COMMUNICATOR = "WORLD"
_initialised = False
_communicators: dict[str, tuple[int, ...]] = {}


# -- what the run looks like ---------------------------------------------------------------------------------


def isPopdistEnvSet() -> bool:
    """Whether the program was started by a launcher that sets how the run is distributed."""
    return launch_environment.is_launched()


def getNumTotalReplicas() -> int:
    """Number of replicas of the model in the whole run."""
    return launch_environment.total_replicas()


def getNumLocalReplicas() -> int:
    """Number of replicas of this instance."""
    return launch_environment.local_replicas()


def getNumIpusPerReplica() -> int:
    """Number of IPUs of each replica."""
    return launch_environment.ipus_per_replica()


def getReplicaIndexOffset() -> int:
    """Index, in the whole run, of the first replica of this instance."""
    return launch_environment.replica_offset()


def getLocalInstanceIndex() -> int:
    """Index of this instance among those on the same host."""
    return launch_environment.local_instance()


def getNumInstances() -> int:
    """Number of instances of the run."""
    return launch_environment.instances()


def getInstanceIndex() -> int:
    """Index of this instance in the run."""
    return launch_environment.instance()


def checkNumIpusPerReplica(ipusPerReplica: int) -> bool:
    """Whether the launcher, if there is one, was given this number of IPUs per replica."""
    return not launch_environment.is_launched() or ipusPerReplica == launch_environment.ipus_per_replica()


def getDeviceId(ipusPerReplica: int = 0) -> int:
    """Id of the device of this instance: its part of what the launcher reserved on this host.

    Args:
        ipusPerReplica: checked against what the launcher was given, if given.

    Raises:
        Error: there was no launcher, so no device was reserved; or the numbers do not agree.
    """
    if ipusPerReplica:
        _require_ipus_per_replica(ipusPerReplica)
    parent = launch_environment.node_device()
    if parent is None:
        raise Error(
            f"No device is reserved: {protocol.NODE_DEVICE} is not set. Let the program choose a device, or "
            "start it with poprun."
        )
    # here, for most programs do without
    from ._devices import device_of_instance

    return device_of_instance(parent)


def _require_ipus_per_replica(ipus: int) -> None:
    if not checkNumIpusPerReplica(ipus):
        raise Error(
            f"The program uses {ipus} IPUs per replica, but was started with {getNumIpusPerReplica()} "
            f"({protocol.IPUS_PER_REPLICA}). Set poprun --ipus-per-replica to the same number."
        )


# -- talking to the other instances --------------------------------------------------------------------------


def init() -> None:
    """Prepare communication with the other instances. Returns when all instances have called it.

    Raises:
        Error: one did not within `target.hostSyncTimeout` (POPLAR_RUNTIME_OPTIONS).
    """
    global _initialised
    if launch_environment.instances() > 1:
        from tremula.distributed.rendezvous import write_note

        write_note(protocol.NOTE_DISTRIBUTED)
        _group(range(launch_environment.instances()))
    _initialised = True


def initializeBackend() -> None:
    """The same as `init`."""
    init()


def isBackendInitialized() -> bool:
    """Whether `init` was called, without `finalizeBackend` after it."""
    return _initialised


def finalizeBackend() -> None:
    """End communication with the other instances. Training models can no longer be called."""
    global _initialised
    _initialised = False
    _communicators.clear()
    if launch_environment.instances() > 1:
        from tremula.distributed.collectives import close_all

        close_all()


def defaultCommunicatorId() -> str:
    """The communicator of all instances. Inside `execute_on_instances`, that of the instances that take part."""
    return _DEFAULT_COMMUNICATOR


def registerCommunicator(participants: Iterable[int], communicator_id: str) -> None:
    """Name a group of instances, so that they can wait for each other.

    Args:
        participants: indices of instances.
        communicator_id: the name.

    Raises:
        Error: an index is none of an instance, or the name is taken.
    """
    members = _checked(participants)
    if communicator_id == _DEFAULT_COMMUNICATOR or _communicators.get(communicator_id, members) != members:
        raise Error(f"The communicator {communicator_id} already exists: use another name.")
    _communicators[communicator_id] = members


def synchronize(communicator_id: str = _DEFAULT_COMMUNICATOR) -> None:
    """Wait until all instances of the communicator have called it."""
    members = _members(communicator_id)
    if len(members) > 1:
        _group(members).barrier()


def allReduceSum(tensor: torch.Tensor, communicator_id: str = _DEFAULT_COMMUNICATOR) -> torch.Tensor:
    """Sum a tensor, such as a loss, over all instances of the communicator. All get the same result.

    Args:
        tensor: of the same shape and type on all of them; it is left as it is.
        communicator_id: who takes part.
    """
    total = tensor.detach().clone().contiguous()
    members = _members(communicator_id)
    if len(members) > 1:
        _group(members).sum(total)
    return total


def allReduceMean(tensor: torch.Tensor, communicator_id: str = _DEFAULT_COMMUNICATOR) -> torch.Tensor:
    """The mean of a tensor over all instances (of the communicator); see `allReduceSum`."""
    return allReduceSum(tensor, communicator_id) / len(_members(communicator_id))


def broadcast(
    tensor: torch.Tensor, root: int = 0, communicator_id: str = _DEFAULT_COMMUNICATOR
) -> torch.Tensor:
    """Send the tensor of one instance to all others.

    Args:
        tensor: of the same shape and type on all of them. It is not changed.
        root: position of that instance among those of the communicator.
        communicator_id: who takes part.
    """
    value = tensor.detach().clone().contiguous()
    members = _members(communicator_id)
    if not 0 <= root < len(members):
        raise Error(f"There is no instance {root}: the {len(members)} instances are numbered from 0.")
    if len(members) > 1:
        _group(members).broadcast(value, root)
    return value


def execute_on_instances(
    instances: Iterable[int], func: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """Call `func` if this instance is among `instances`. The other instances return None.

    While it runs, `synchronize` and the like are between these instances only.
    """
    members = _checked(instances)
    if getInstanceIndex() not in members:
        return None
    if launch_environment.instances() == 1:
        return func(*args, **kwargs)
    from tremula.distributed.collectives import restricted_to

    with restricted_to(members):
        return func(*args, **kwargs)


def _checked(instances: Iterable[int]) -> tuple[int, ...]:
    members = tuple(sorted(set(instances)))
    unknown = [index for index in members if not 0 <= index < launch_environment.instances()]
    if unknown or not members:
        raise Error(
            f"There is no instance {unknown[0]}: the {launch_environment.instances()} instances are numbered from 0."
            if unknown
            else "The set of instances is empty: name at least one."
        )
    return members


def _members(communicator_id: str) -> tuple[int, ...]:
    if communicator_id != _DEFAULT_COMMUNICATOR:
        if communicator_id not in _communicators:
            raise Error(
                f"The communicator {communicator_id} does not exist: create it with registerCommunicator."
            )
        return _communicators[communicator_id]
    everyone = tuple(range(launch_environment.instances()))
    if len(everyone) == 1:
        return everyone
    from tremula.distributed.collectives import restriction

    return restriction() or everyone


def _group(members: Iterable[int]) -> Group:
    from tremula.distributed import collectives
    from tremula.distributed.instances import sync_timeout

    return collectives.among(
        tuple(members), launch_environment.instance(), launch_environment.instances(), sync_timeout()
    )
