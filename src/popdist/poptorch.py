"""`poptorch.Options` for a distributed run: what the launcher decided is set, and cannot be set again."""

from __future__ import annotations

import os
from typing import Any, NoReturn

import popdist
import poptorch
from poptorch._options_impl import OptionsDict
from poptorch.options import _DistributedOptions

__all__ = ["Options"]


def _refuse(method: str) -> NoReturn:
    raise RuntimeError(
        f"Cannot call `{method}` with popdist.poptorch.Options: the launcher of the run decides about it."
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

    Args:
        ipus_per_replica: number of IPUs that the model uses; must be what the launcher was told.

    Raises:
        Error: the numbers do not agree, or the run has more than one instance.
    """

    def __init__(self, ipus_per_replica: int | None = None) -> None:
        popdist._require_single_instance("popdist.poptorch.Options")
        if ipus_per_replica is not None:
            popdist.checkNumIpusPerReplica(ipus_per_replica)
        super().__init__()
        self._distributed = _LauncherDistributed(popdist.getInstanceIndex(), popdist.getNumInstances())
        super().replicationFactor(popdist.getNumLocalReplicas())
        # The reserved device (POPDIST_NODE_DEVICE_ID) is one of a real machine; the IPUs here are virtual.
        cache = os.environ.get("POPDIST_EXECUTABLE_CACHE_PATH")
        if cache:
            self.enableExecutableCaching(cache)

    def useIpuId(self, ipu_id: int) -> NoReturn:
        """Not possible here: raises RuntimeError."""
        _refuse("useIpuId")

    def replicationFactor(self, replication_factor: int) -> NoReturn:
        """Not possible here: raises RuntimeError."""
        _refuse("replicationFactor")
