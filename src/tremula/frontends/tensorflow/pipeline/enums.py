"""What a pipeline can be told by name: its schedule, how it recomputes activations, how it combines gradients."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any


class PipelineSchedule(IntEnum):
    """In which order the device executes forward and backward stages. Results do not depend on it.

    Attributes:
        Grouped: forward stages together, then backward stages together: faster, more activations are stored.
        Interleaved: a backward stage as soon as it can run: fewer activations are stored.
        Sequential: one stage at a time.
    """

    Grouped = 0
    Interleaved = 1
    Sequential = 2


class RecomputationMode(Enum):
    """How the device computes activations again for the backward pass. Results do not depend on it.

    Attributes:
        Auto: the device's choice for the schedule.
        RecomputeThenBackpropagate: all activations of a stage first.
        RecomputeAndBackpropagateInterleaved: each activation just before it is needed.
    """

    Auto = 0
    RecomputeThenBackpropagate = 1
    RecomputeAndBackpropagateInterleaved = 2


class GradientAccumulationReductionMethod(Enum):
    """How the gradients of the micro-batches of one weight update become one.

    Attributes:
        SUM: their sum.
        MEAN: the sum of each divided by the number of micro-batches.
        RUNNING_MEAN: after micro-batch n (from 0), `mean * n / (n + 1) + gradient / (n + 1)`.
    """

    SUM = 0
    MEAN = 1
    RUNNING_MEAN = 2

    @classmethod
    def parse(cls, reduction_method: Any) -> GradientAccumulationReductionMethod:
        """The method of this name, in upper or lower case; a method itself is given back.

        Raises:
            ValueError: there is no such method.
        """
        if isinstance(reduction_method, cls):
            return reduction_method
        if isinstance(reduction_method, str) and reduction_method.upper() in cls.__members__:
            return cls[reduction_method.upper()]
        raise ValueError(
            f"Cannot parse {reduction_method} as one of GradientAccumulationReductionMethod. There are: "
            f"{', '.join(cls.__members__)}."
        )
