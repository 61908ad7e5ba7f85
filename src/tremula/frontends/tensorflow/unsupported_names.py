"""Names of the public interface that are not there yet: using one is an error that says so."""

from __future__ import annotations

from typing import Any


def unsupported(name: str, instead: str) -> Any:
    """A stand-in for a class or function; calling it raises.

    Args:
        name: the public name.
        instead: what a program can use today.
    """

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        raise NotImplementedError(f"{name} is not supported by Tremula yet. {instead}")

    return type(name.rpartition(".")[2], (), {"__init__": __init__, "__doc__": f"Not there yet. {instead}"})


_POPDIST = "Use distributed.popdist_strategy.PopDistStrategy, and start the program with poprun."

IPUMultiWorkerStrategyV1 = unsupported("ipu_multi_worker_strategy.IPUMultiWorkerStrategyV1", _POPDIST)
IPUMultiWorkerStrategy = IPUMultiWorkerStrategyV1
