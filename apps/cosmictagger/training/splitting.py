"""How a model's options follow the configuration: a pipeline over several IPUs, and what is computed again.

Where the network is cut and what it keeps is decided in `cosmictagger.network.placement`.
"""

from __future__ import annotations

import poptorch
from torch import nn

from cosmictagger.config.groups import Recompute, Run
from cosmictagger.config.keys import ConfigError
from cosmictagger.network.placement import keep_checkpoints, split

#: the compiler's numbers: nothing again; all but what is marked; all
_RECOMPUTATION = {Recompute.none: 0, Recompute.blocks: 3, Recompute.all: 4}


def split_network(network: nn.Module, run: Run, options: poptorch.Options, training: bool = True) -> None:
    """Cut a network over run.ipus and say so in the options.

    Raises:
        ConfigError: it is too shallow for that.
    """
    if run.ipus > 1:
        try:
            stages = split(network, run.ipus)
        except ValueError as error:
            raise ConfigError(f"run.ipus={run.ipus}: {error}") from None
        options.setExecutionStrategy(
            poptorch.PipelinedExecution(*(f"stage{number}" for number in range(len(stages))))
        )
    if not training or (run.recompute is Recompute.none and run.ipus == 1):
        return
    # a pipeline that trains recomputes unless it is told not to
    options._Popart.set("autoRecomputation", _RECOMPUTATION[run.recompute])
    if run.recompute is Recompute.blocks:
        keep_checkpoints(network)
