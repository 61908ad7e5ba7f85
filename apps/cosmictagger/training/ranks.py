"""Who this process is in a run of several, and sums over all of them.

`poprun` starts the processes; popdist tells which one this is. With run.distributed=False each trains a model of its
own in a folder of its own, and nothing is summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import popdist
import torch

from cosmictagger.config.groups import ComputeMode, Config
from cosmictagger.config.keys import ConfigError
from cosmictagger.metrics.summary import Totals


@dataclass(frozen=True)
class Ranks:
    """One process among several.

    Attributes:
        index: number of this process, from 0.
        count: processes that train one model together.
        replicas: copies of the model in all of them together.
        launched: poprun started this process.
        apart: number of this process if it trains on its own under poprun, else None.
    """

    index: int = 0
    count: int = 1
    replicas: int = 1
    launched: bool = False
    apart: int | None = None

    @classmethod
    def of(cls, config: Config) -> Ranks:
        """Ask the launcher.

        Raises:
            ConfigError: the configuration does not go with what the launcher was told.
        """
        run = config.run
        if not popdist.isPopdistEnvSet():
            return cls(replicas=run.replicas)
        instances, number = popdist.getNumInstances(), popdist.getInstanceIndex()
        if not run.distributed:
            return cls(replicas=run.replicas, launched=True, apart=number if instances > 1 else None)
        if run.compute_mode is not ComputeMode.IPU:
            raise ConfigError(
                f"run.compute_mode={run.compute_mode} under poprun: plain torch would train one model per instance. "
                "Take run.compute_mode=IPU, or say run.distributed=False if that is what you want."
            )
        if run.replicas != 1:
            raise ConfigError(
                f"run.replicas={run.replicas} under poprun: give poprun --num-replicas, which counts all of them."
            )
        if popdist.getNumIpusPerReplica() != run.ipus:
            raise ConfigError(
                f"run.ipus={run.ipus}, but poprun was told --ipus-per-replica {popdist.getNumIpusPerReplica()}: "
                "both must be the same."
            )
        return cls(number, instances, popdist.getNumTotalReplicas(), True)

    @property
    def first(self) -> bool:
        """Whether this process writes what there is one of."""
        return self.index == 0

    def sums(self, values: Sequence[float]) -> list[float]:
        """Each value summed over all processes; all of them must ask."""
        if self.count == 1:
            return list(values)
        return popdist.allReduceSum(torch.tensor(values, dtype=torch.float64)).tolist()

    def metrics(self, totals: Totals, signal: int = 0) -> tuple[dict[str, float], int]:
        """Metrics over the events of all processes, and the signal that any of them got; all must ask."""
        *row, signals, asked = self.sums([*totals.to_array(), float(signal), float(signal > 0)])
        return Totals.from_array(row).metrics(), round(signals / asked) if asked else 0
