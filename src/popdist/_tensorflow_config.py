"""Applies the settings of a distributed run to the configuration of a TensorFlow program."""

from __future__ import annotations

from typing import Any

import popdist
from tremula.distributed import launch_environment
from tremula.errors import Error


def configure(config: Any, ipus_per_replica: int | None, configure_device: bool) -> Any:
    """See `popdist.tensorflow.set_ipu_config`."""
    try:
        # here, because it imports TensorFlow
        from tremula.frontends.tensorflow.config import messages, older_interface
        from tremula.frontends.tensorflow.config.ipu_config import IPUConfig
    except ModuleNotFoundError as problem:
        raise Error(
            f"set_ipu_config: the module {problem.name} is not installed. For TensorFlow programs, run: pip install "
            "'tremula[tensorflow]'. PyTorch programs use popdist.poptorch.Options().",
            type="popdist_error",
        ) from problem
    ipus = popdist.getNumIpusPerReplica() if ipus_per_replica is None else ipus_per_replica
    if not isinstance(config, (IPUConfig, messages.IpuOptions)):
        raise TypeError(
            f"`config` must be an IPUConfig, or an IpuOptions message, not {type(config).__name__}."
        )
    if popdist.isPopdistEnvSet():
        popdist._require_ipus_per_replica(ipus)
    device = launch_environment.node_device()
    own = [popdist.getDeviceId(ipus)] if device is not None else None
    count, index = popdist.getNumInstances(), popdist.getInstanceIndex()
    if isinstance(config, IPUConfig):
        if configure_device and own is not None:
            config.select_ipus = own
        elif configure_device:
            config.auto_select_ipus = ipus * popdist.getNumLocalReplicas()
        distribution = config.experimental.multi_replica_distribution
        distribution.process_count, distribution.process_index = count, index
        return config
    if configure_device and own is not None:
        older_interface.select_ipus(config, own)
    elif configure_device:
        older_interface.auto_select_ipus(config, ipus * popdist.getNumLocalReplicas())
    return older_interface.set_experimental_multi_replica_distribution_options(config, count, index)
