"""What LSTM and GRU share: extents, and the wishes for results that C++ gives as pointers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poplar import Tensor, Type


class RnnParams:
    """`RnnParams(dataType, batchSize, timeSteps, layerSizes)`, or `RnnParams(dataType, batchSize, maxTimeSteps,
    timeSteps tensor, layerSizes)`."""

    def __init__(self, dataType: Type, batchSize: int, maxTimeSteps: int, *rest: Any) -> None:
        self.dataType, self.batchSize = dataType, int(batchSize)
        self.maxTimeSteps = self.timeSteps = int(maxTimeSteps)
        self.varTimeSteps: Tensor | None = rest[0] if isinstance(rest[0], Tensor) else None
        self.layerSizes = [int(size) for size in rest[-1]]

    def variableTimeSteps(self) -> bool:
        """Whether a tensor says how many steps count."""
        return self.varTimeSteps is not None

    def batchVariableTimeSteps(self) -> bool:
        """Whether it says so for each example."""
        return self.varTimeSteps is not None and self.varTimeSteps.numElements() > 1


def deliver(wish: Any, value: Tensor) -> list[Tensor]:
    """Give a result that was wished for: put it into a list, or return it where the wish was True."""
    if isinstance(wish, list):
        wish[:] = [value]
        return []
    return [value] if wish else []


def joined(first: Any, results: Sequence[Any]) -> Any:
    """A result, with those wished for after it."""
    whole = first if isinstance(first, tuple) and not hasattr(first, "_fields") else (first,)
    return first if not results else (*whole, *results)
