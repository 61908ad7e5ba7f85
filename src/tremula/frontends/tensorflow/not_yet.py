"""Names of the public interface that are not there yet: using one is an error that says so."""

from __future__ import annotations

from typing import Any


def not_yet(name: str, instead: str) -> Any:
    """A stand-in for a class or function; calling it raises.

    Args:
        name: the public name.
        instead: what a program can use today.
    """

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        raise NotImplementedError(f"{name} is not there yet in Tremula. {instead}")

    return type(name.rpartition(".")[2], (), {"__init__": __init__, "__doc__": f"Not there yet. {instead}"})


_ONE_PROCESS = "Run the program in one process: one IPUStrategy uses several replicas."

IPUMultiWorkerStrategyV1 = not_yet("ipu_multi_worker_strategy.IPUMultiWorkerStrategyV1", _ONE_PROCESS)
IPUMultiWorkerStrategy = IPUMultiWorkerStrategyV1
PopDistStrategy = not_yet("distributed.popdist_strategy.PopDistStrategy", _ONE_PROCESS)
allgather = not_yet("distributed.allgather", _ONE_PROCESS)
allreduce = not_yet("distributed.allreduce", _ONE_PROCESS)
broadcast = not_yet("distributed.broadcast", _ONE_PROCESS)
