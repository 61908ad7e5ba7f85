"""Notices programs that should train one model with the other processes of a run, and train one of their own.

Such a program does not say that it is one of several processes, or does not reduce its gradients: the launcher has
started it N times, and it trains N models. It is certain when the program ends.
"""

from __future__ import annotations

import atexit
import sys
from typing import Any

from tremula.distributed import independent_models, launch_environment
from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.replicas.analysis import Analysis
from tremula.frontends.tensorflow.replicas.variables import local_variable

#: why, and the line of code that helps: for a program of one process, and for one of several
_ONE_PROCESS = (
    "runs a program that trains variables and is configured for one process",
    "popdist.tensorflow.set_ipu_config(config)  # before config.configure_ipu_system()",
)
_NOTHING_REDUCED = (
    "runs a program that trains variables and reduces nothing over the replicas",
    "optimizer = ipu.optimizers.CrossReplicaOptimizer(optimizer)  # or PopDistStrategy, with Keras",
)
_watched = False


def add_program(graph: Any) -> None:
    """A program is about to run that was traced as this graph."""
    global _watched
    if _watched or launch_environment.instances() <= 1 or not _trains(graph):
        return
    _watched = True
    atexit.register(_report)


def _trains(graph: Any) -> bool:
    trainable = {id(v.handle) for v in map(local_variable, graph.variables) if v.trainable}
    arguments = len(graph.inputs) - len(graph.captures)
    written = Analysis().effects(graph).writes
    return any(
        position in written and id(external) in trainable
        for position, (external, _) in enumerate(graph.captures, arguments)
    )


def _report() -> None:
    arrays = sys.modules.get("tremula.distributed.arrays")
    exchanged = arrays is not None and arrays.exchanged()
    failed = getattr(sys, "last_value", None) is not None
    if not exchanged and not failed:
        reason, advice = _NOTHING_REDUCED if active.process_count() > 1 else _ONE_PROCESS
        independent_models.report("a TensorFlow model", advice, reason)
