"""Who this process is in a run of several, and sums over all of them; `poprun` starts them, popdist tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import popdist
import popdist.poptorch
import poptorch
import torch

from cosmoflow.settings import Config, ConfigError


@dataclass(frozen=True)
class Processes:
    """One process among several that train one model.

    Attributes:
        index: number of this process, from 0.
        count: number of processes.
        replicas: copies of the model in all of them together.
        launched: whether poprun started this process.
    """

    index: int = 0
    count: int = 1
    replicas: int = 1
    launched: bool = False

    @classmethod
    def of(cls, config: Config) -> Processes:
        """Ask the launcher.

        Raises:
            ConfigError: the configuration does not go with what the launcher was told.
        """
        if not popdist.isPopdistEnvSet():
            return cls(replicas=config.device.replicas)
        if config.device.replicas != 1:
            raise ConfigError(
                f"device.replicas={config.device.replicas} under poprun: give poprun --num-replicas instead, which "
                "counts those of all instances."
            )
        if popdist.getNumIpusPerReplica() != config.device.ipus:
            raise ConfigError(
                f"device.ipus={config.device.ipus}, but poprun was told --ipus-per-replica "
                f"{popdist.getNumIpusPerReplica()}: both must be the same."
            )
        return cls(popdist.getInstanceIndex(), popdist.getNumInstances(), popdist.getNumTotalReplicas(), True)

    @property
    def first(self) -> bool:
        """Whether this process writes what there is one of."""
        return self.index == 0

    def sums(self, values: Sequence[float]) -> list[float]:
        """Each value summed over all processes; all of them must ask."""
        if self.count == 1:
            return list(values)
        return popdist.allReduceSum(torch.tensor(values, dtype=torch.float64)).tolist()

    def wait(self) -> None:
        """Go on when all processes have come here."""
        if self.count > 1:
            popdist.init()
            popdist.synchronize()

    def options(self, config: Config, *, training: bool, iterations: int = 1) -> poptorch.Options:
        """Options of a model in this run.

        Args:
            config: the settings.
            training: whether the model is trained.
            iterations: device iterations.
        """
        if self.launched:
            options: poptorch.Options = popdist.poptorch.Options(ipus_per_replica=config.device.ipus)
        else:
            options = poptorch.Options()
            options.replicationFactor(config.device.replicas)
        options.randomSeed(config.seed)
        options.deviceIterations(iterations)
        options.outputMode(poptorch.OutputMode.All)
        # taken when it runs: training and validation take turns on the same IPUs
        options.connectionType(poptorch.ConnectionType.OnDemand)
        options.modelName("cosmoflow" if training else "cosmoflow-inference")
        if config.device.ipus > 1:
            options.setExecutionStrategy(poptorch.PipelinedExecution(poptorch.AutoStage.AutoIncrement))
        if config.device.memory_proportion is not None:
            share = config.device.memory_proportion
            options.setAvailableMemoryProportion({f"IPU{i}": share for i in range(config.device.ipus)})
        if training:
            options.Training.gradientAccumulation(config.device.accumulation)
        if config.device.cache:
            options.enableExecutableCaching(config.device.cache)
        return options
