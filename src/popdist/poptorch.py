"""`poptorch.Options` for a distributed run: what the launcher decided is set, and cannot be set again."""

from __future__ import annotations

from typing import Any, NoReturn

import popdist
import poptorch
from poptorch._options_impl import OptionsDict
from poptorch.options import _DistributedOptions
from tremula.distributed import launch_environment, protocol
from tremula.distributed.rendezvous import write_note

__all__ = ["Options"]


def _refuse(method: str) -> NoReturn:
    raise RuntimeError(
        f"Cannot call `{method}` with popdist.poptorch.Options: the launcher of the run sets it."
    )


class _LauncherDistributed(_DistributedOptions):
    """Process numbers as given by the launcher."""

    def __init__(self, process_id: int, num_processes: int) -> None:
        # Not through the constructor of the base, which asks MPI's variables by way of the setters below.
        self._gcd_mappings: dict[int, Any] = {}
        OptionsDict.__init__(
            self, num_distributed_processes=num_processes, distributed_process_id=process_id, ipuof_configs={}
        )

    def disable(self) -> NoReturn:
        """Not possible here: raises RuntimeError."""
        _refuse("Distributed.disable")

    def setEnvVarNames(self, var_num_processes: str, var_process_id: str) -> NoReturn:
        """Not possible here: raises RuntimeError."""
        _refuse("Distributed.setEnvVarNames")

    def configureProcessId(self, process_id: int, num_processes: int | None = None) -> NoReturn:
        """Not possible here: raises RuntimeError."""
        _refuse("Distributed.configureProcessId")


class Options(poptorch.Options):
    """Options of a model in a distributed run.

    All instances train a model with these options together, as one model with the replicas of all.

    Args:
        ipus_per_replica: number of IPUs that the model uses; must be what the launcher was told.

    Raises:
        Error: the numbers do not agree.
    """

    def __init__(self, ipus_per_replica: int | None = None) -> None:
        if ipus_per_replica is not None:
            popdist._require_ipus_per_replica(ipus_per_replica)
        super().__init__()
        self._distributed = _LauncherDistributed(popdist.getInstanceIndex(), popdist.getNumInstances())
        super().replicationFactor(popdist.getNumLocalReplicas())
        if launch_environment.node_device() is not None:
            super().useIpuId(popdist.getDeviceId())
        cache = launch_environment.executable_cache()
        if cache is not None:
            self.enableExecutableCaching(cache)
        write_note(protocol.NOTE_DISTRIBUTED)

    def useIpuId(self, ipu_id: int) -> NoReturn:
        """Not possible here: raises RuntimeError."""
        _refuse("useIpuId")

    def replicationFactor(self, replication_factor: int) -> NoReturn:
        """Not possible here: raises RuntimeError."""
        _refuse("replicationFactor")
